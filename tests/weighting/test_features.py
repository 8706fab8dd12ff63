import numpy as np
import oracle
import pytest
from feature_samples import (
    NAMES,
    assert_equal_evidence,
    bodies_over,
    clues_over,
    gather_all,
    oracle_clues,
    oracle_evidence,
    questions_of,
    walker_over,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.weighting.features import Features, FeatureWalker, build_trie, csr_segments, list_clues
from neurallp.weighting.features_kernels import Entries
from neurallp.weighting.fitting_kernels import (
    Buffer,
    Lessons,
    Parameters,
    add_scores,
    batch_gradient,
    count_right,
    rank_settings,
)

few = settings(max_examples=40, deadline=None)


@few
@given(kb=knowledge_bases(most_facts=12), bodies=bodies_over, excluded=st.booleans(), room=st.integers(1, 40))
def test_evidence_is_the_sum_over_paths_there_and_back(kb, bodies, excluded, room):
    sources = np.arange(len(kb.entities))
    told = gather_all(walker_over(kb, max_entries=room), bodies, 0, sources, excluded=excluded)
    for source, found in enumerate(told):
        assert_equal_evidence(found, oracle_evidence(edges(kb), source, bodies, excluded))


@few
@given(
    kb=knowledge_bases(num_entities=4, most_facts=12),
    bodies=bodies_over,
    query=st.integers(0, 3),
    mask_pair=st.booleans(),
    room=st.sampled_from([1, 15, 1000]),
)
def test_what_is_hidden_is_gone_from_the_graph(kb, bodies, query, mask_pair, room):
    sources, answers = questions_of(kb, query)
    walker = walker_over(kb, max_entries=room)
    told = gather_all(walker, bodies, query, sources, answers, mask_pair=mask_pair)
    for source, answer, found in zip(sources.tolist(), answers.tolist(), told, strict=True):
        graph = (
            oracle.without_pair(edges(kb), source, answer)
            if mask_pair
            else oracle.without_fact(edges(kb), source, query, answer, len(kb.relations))
        )
        assert_equal_evidence(found, oracle_evidence(graph, source, bodies))


@few
@given(
    kb=knowledge_bases(most_facts=14),
    clues=clues_over,
    query=st.integers(0, 3),
    excluded=st.booleans(),
    room=st.integers(1, 40),
)
def test_clues_count_what_others_have(kb, clues, query, excluded, room):
    sources = np.arange(len(kb.entities))
    asked = (), query, sources, None, clues, kb.entities
    told = gather_all(walker_over(kb, max_entries=room), *asked, excluded=excluded)
    for source, found in enumerate(told):
        assert_equal_evidence(found, oracle_clues(kb, edges(kb), source, query, clues, excluded))


@settings(max_examples=150, deadline=None)
@given(
    kb=knowledge_bases(num_entities=4, most_facts=14),
    clues=clues_over,
    query=st.integers(0, 3),
    mask_pair=st.booleans(),
)
def test_what_is_hidden_is_gone_for_clues_too(kb, clues, query, mask_pair):
    sources, answers = questions_of(kb, query)
    asked = (), query, sources, answers, clues, kb.entities
    told = gather_all(walker_over(kb), *asked, mask_pair=mask_pair)
    for source, answer, found in zip(sources.tolist(), answers.tolist(), told, strict=True):
        graph = (
            oracle.without_pair(edges(kb), source, answer)
            if mask_pair
            else oracle.without_fact(edges(kb), source, query, answer, len(kb.relations))
        )
        assert_equal_evidence(found, oracle_clues(kb, graph, source, query, clues))


def test_nothing_stays_hidden_from_the_next_question():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "b"), ("b", "r", "b")])
    walker, bodies, source = walker_over(kb), [(0,), (1,), (0, 0)], np.array([0])
    before = gather_all(walker, bodies, 0, source)
    masking = gather_all(walker, bodies, 0, source, np.array([1]), mask_pair=True)
    assert masking == [{}]
    assert gather_all(walker, bodies, 0, source) == before


def test_an_entity_without_facts_has_no_evidence():
    facts = np.array([[0, 0, 1]])
    operators = Operators.of_facts(facts, num_entities=4, num_relations=1)
    walker = FeatureWalker(csr_segments(operators), 2, 2)
    told = gather_all(walker, [(0,), (0, 1), (1, 0)], 0, np.arange(4))
    assert told == [{(0, 1): (1, 1), (1, 0): (1, 1)}, {(2, 1): (1, 1)}, {}, {}]


def test_without_bodies_there_is_no_evidence():
    kb = KnowledgeBase.from_triples([("a", "r", "b")])
    assert gather_all(walker_over(kb), [], 0, np.array([0, 1])) == [{}, {}]
    nobody = np.zeros(0, dtype=np.int64)
    assert gather_all(walker_over(kb), [(0,)], 0, nobody) == []
    assert len(walker_over(kb).gather(build_trie([(0,)]), list_clues((), 1, 2, NAMES), 0, nobody)) == 0


@given(bodies=bodies_over)
def test_a_tree_holds_every_body_once_and_every_beginning_once(bodies):
    tree = build_trie(bodies)
    path, told, seen = [], {}, []
    for depth, operator, rule in zip(*tree, strict=True):
        path[depth - 1 :] = [int(operator)]
        seen.append(tuple(path))
        if rule >= 0:
            told[int(rule)] = tuple(path)
    assert told == dict(enumerate(bodies))
    assert len(set(seen)) == len(seen) == len({body[:n] for body in bodies for n in range(1, len(body) + 1)})


def test_certain_evidence_is_1_and_impossible_evidence_is_0():
    assert oracle.log_scale(1) == 1
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "c")])
    [told] = gather_all(walker_over(kb), [(0,)], 0, np.array([0]))
    half = pytest.approx(oracle.log_scale(0.5), rel=1e-6)
    assert told == {(0, 1): (half, 1), (0, 2): (half, half)}


# Losses and ranks

NUM_ENTITIES, NUM_RULES, NUM_SETTINGS = 7, 3, 2


class Lesson:
    """Random evidence, weights and questions, some entities being known answers and some sources barred."""

    def __init__(self, seed, excluded):
        rng = self.rng = np.random.default_rng(seed)
        self.num_questions, self.excluded = 4, excluded
        num_stretches = self.num_questions * NUM_RULES
        told = [np.flatnonzero(rng.random(NUM_ENTITIES) < 0.4) for _ in range(num_stretches)]
        cuts = np.sort(rng.integers(0, num_stretches + 1, self.num_questions - 1))
        self.starts, self.ends = np.array([0, *cuts]), np.array([*cuts, num_stretches])
        entities, bounds = np.concatenate(told).astype(np.uint32), np.cumsum([0, *map(len, told)])
        values = rng.random((2, len(entities))).astype(np.float32)
        rules = np.arange(num_stretches, dtype=np.int32) % NUM_RULES
        self.entries = Entries(entities, *values, rules, bounds)
        self.answers = rng.integers(0, NUM_ENTITIES, self.num_questions)
        self.sources = (self.answers + rng.integers(1, NUM_ENTITIES, self.num_questions)) % NUM_ENTITIES
        others = [np.flatnonzero(rng.random(NUM_ENTITIES) < 0.3) for _ in self.answers]
        self.others = [o[o != a] for o, a in zip(others, self.answers, strict=True)]
        self.weights = rng.normal(size=(NUM_RULES, 3, NUM_SETTINGS))
        self.prior_weights = rng.normal(size=NUM_SETTINGS)
        self.frequencies = rng.integers(0, 4, NUM_ENTITIES)
        self.frequencies[self.answers] += 1  # its own fact
        self.priors = np.log1p(self.frequencies)
        self.sheet = Buffer.of(NUM_SETTINGS, NUM_ENTITIES)
        self.sheet.scores[:] = np.nan

    @property
    def told(self):
        offsets, others = np.cumsum([0, *map(len, self.others)]), np.concatenate(self.others)
        known_ends = offsets[:-1] + [len(known) for known in self.known]
        aside = offsets, others, known_ends
        return Lessons(
            self.entries, self.starts, self.ends, self.sources, self.answers, *aside, self.excluded
        )

    @property
    def known(self):
        """The other known answers of each question; the rest is set aside for another reason."""
        return [others[: (len(others) + 1) // 2] for others in self.others]

    @property
    def terms(self):
        return Parameters(self.weights, self.prior_weights)

    def left_out(self, question):
        return {*self.others[question].tolist(), *([int(self.sources[question])] if self.excluded else [])}

    def scores(self, question, setting, priors):
        """Return the score of every entity, added up entry by entry."""
        scores = (self.prior_weights[setting] * priors).tolist()
        for entity, rule, there, back in self.rows(question):
            scores[entity] += float(np.dot(self.weights[rule, :, setting], [1.0, there, back]))
        return scores

    def rows(self, question):
        """Return what rules say of one question, entry by entry."""
        columns = Features(self.entries, self.ends).told(question)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def loss(self, batch):
        """Return the oracle's mean loss, summed over settings; an answer's own fact does not count."""
        total = 0.0
        for question in batch:
            priors, answer = self.priors.copy(), int(self.answers[question])
            priors[answer] = np.log1p(self.frequencies[answer] - 1)
            for setting in range(NUM_SETTINGS):
                scores = self.scores(question, setting, priors)
                total += oracle.cross_entropy(scores, answer, self.left_out(question))
        return total / len(batch)

    def gradient(self, batch):
        gradients, prior_slopes = np.full_like(self.weights, np.nan), np.full(NUM_SETTINGS, np.nan)
        terms = Parameters(gradients, prior_slopes)
        loss = batch_gradient(self.told, batch, self.terms, self.priors, self.sheet, terms)
        assert not self.sheet.marks.any()
        return loss, gradients, prior_slopes


def finite_differences(loss, values, size=1e-5):
    gradients = np.zeros_like(values)
    for place in np.ndindex(values.shape):
        kept, ends = values[place], []
        for step in (-size, size):
            values[place] = kept + step
            ends.append(loss())
        values[place] = kept
        gradients[place] = (ends[1] - ends[0]) / (2 * size)
    return gradients


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_the_cross_entropy_over_all_candidates(seed, excluded):
    lesson, batch = Lesson(seed, excluded), np.array([2, 0, 3])
    loss, gradients, prior_slopes = lesson.gradient(batch)
    assert loss == pytest.approx(lesson.loss(batch), rel=1e-9)
    expected = finite_differences(lambda: lesson.loss(batch), lesson.weights)
    np.testing.assert_allclose(gradients, expected, atol=1e-7)
    expected = finite_differences(lambda: lesson.loss(batch), lesson.prior_weights)
    np.testing.assert_allclose(prior_slopes, expected, atol=1e-7)


@pytest.mark.parametrize("excluded", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_ranks_under_each_setting_are_realistic(seed, excluded):
    lesson = Lesson(seed, excluded)
    lesson.weights = np.round(lesson.weights)  # for ties
    lesson.entries.forward[:], lesson.entries.backward[:], lesson.priors = 1, 0, np.zeros(NUM_ENTITIES)
    if excluded:
        lesson.sources[0] = lesson.answers[0]  # asked for what is no candidate, which comes last
    ranks = np.zeros((lesson.num_questions, NUM_SETTINGS))
    rank_settings(lesson.told, lesson.terms, lesson.priors, lesson.sheet, ranks)
    assert not lesson.sheet.marks.any()
    for question, answer in enumerate(lesson.answers.tolist()):
        expected = [
            oracle.realistic_rank(
                lesson.scores(question, setting, lesson.priors), answer, lesson.left_out(question)
            )
            for setting in range(NUM_SETTINGS)
        ]
        assert ranks[question].tolist() == expected


def test_a_rule_s_share_of_right_answers_counts_all_that_are_known():
    lesson = Lesson(0, excluded=False)
    counts = np.zeros((NUM_RULES, 2), dtype=np.int64)
    count_right(lesson.told, lesson.sheet.marks, counts)
    right = [
        (rule, entity in {*lesson.known[question], lesson.answers[question]})
        for question in range(lesson.num_questions)
        for entity, rule, *_ in lesson.rows(question)
    ]
    expected = [
        [sum(r == rule for r, _ in right), sum(r == rule and ok for r, ok in right)] for rule in range(3)
    ]
    assert counts.tolist() == expected
    assert not lesson.sheet.marks.any()


def test_scores_are_added_to_what_a_row_holds():
    lesson = Lesson(1, excluded=False)
    rows = lesson.prior_weights[:, None] * lesson.priors
    add_scores(lesson.entries, lesson.starts[1], lesson.ends[1], lesson.weights, rows)
    for setting, row in enumerate(rows):
        np.testing.assert_allclose(row, lesson.scores(1, setting, lesson.priors), rtol=1e-12)

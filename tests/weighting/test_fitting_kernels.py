import numpy as np
import oracle
import pytest

from neurallp.graph.compilation import kernel
from neurallp.weighting.example_kernels import Buffer, DenseValues, list_entities
from neurallp.weighting.features import Features
from neurallp.weighting.features_kernels import Entries
from neurallp.weighting.fitting_kernels import (
    Dropout,
    Parameters,
    _is_left_out,
    add_scores,
    batch_gradient,
    count_right,
    is_left_out,
    rank_settings,
)

NUM_ENTITIES, NUM_RULES, NUM_SETTINGS = 7, 3, 2


class Sample:
    """Random features, weights and questions; some entities are known, sources may be excluded."""

    def __init__(self, seed, exclude_source):
        rng = self.rng = np.random.default_rng(seed)
        self.num_questions, self.exclude_source = 4, exclude_source
        num_segments = self.num_questions * NUM_RULES
        listed = [np.flatnonzero(rng.random(NUM_ENTITIES) < 0.4) for _ in range(num_segments)]
        cuts = np.sort(rng.integers(0, num_segments + 1, self.num_questions - 1))
        self.starts, self.ends = np.array([0, *cuts]), np.array([*cuts, num_segments])
        entities, bounds = np.concatenate(listed).astype(np.uint32), np.cumsum([0, *map(len, listed)])
        values = rng.random((2, len(entities))).astype(np.float32)
        rules = np.arange(num_segments, dtype=np.int32) % NUM_RULES
        self.entries = Entries(entities, *values, rules, bounds)
        self.answers = rng.integers(0, NUM_ENTITIES, self.num_questions)
        self.sources = (self.answers + rng.integers(1, NUM_ENTITIES, self.num_questions)) % NUM_ENTITIES
        others = [np.flatnonzero(rng.random(NUM_ENTITIES) < 0.3) for _ in self.answers]
        self.others = [o[o != a] for o, a in zip(others, self.answers, strict=True)]
        self.weights = rng.normal(size=(NUM_RULES, 3, NUM_SETTINGS))
        self.dense_weights = rng.normal(size=NUM_SETTINGS)
        self.frequencies = rng.integers(0, 4, NUM_ENTITIES)
        self.frequencies[self.answers] += 1  # its own fact
        self.priors = np.log1p(self.frequencies)
        self.masked_priors = np.log1p(np.maximum(self.frequencies - 1, 0))
        self.fitted = np.ones(NUM_RULES, dtype=np.bool_)
        self.dropout = Dropout(0.0, 0)
        self.buffer = Buffer.of(NUM_SETTINGS, NUM_ENTITIES)
        self.buffer.scores[:] = np.nan

    @property
    def examples(self):
        offsets, others = np.cumsum([0, *map(len, self.others)]), np.concatenate(self.others)
        known_ends = offsets[:-1] + [len(known) for known in self.known]
        filters = offsets, others, known_ends
        ends = self.sources, self.answers
        excluded = np.array(self.exclude_source) & (self.sources == self.answers)
        entries = self.entries._replace(entities=self.entries.entities.copy())
        features = entries, self.starts, self.ends
        return list_entities(features, ends, filters, self.exclude_source, excluded, self.buffer)

    @property
    def known(self):
        """The other known answers of each question; the rest is set filters for another reason."""
        return [others[: (len(others) + 1) // 2] for others in self.others]

    @property
    def parameters(self):
        return Parameters(self.weights, self.dense_weights)

    def filtered(self, question):
        return {
            *self.others[question].tolist(),
            *([int(self.sources[question])] if self.exclude_source else []),
        }

    def scores(self, question, setting, priors):
        """Return the score of every entity, added up entry by entry."""
        scores = (self.dense_weights[setting] * priors).tolist()
        for entity, rule, forward, backward in self.rows(question):
            amount = float(np.dot(self.weights[rule, :, setting], [1.0, forward, backward]))
            scores[entity] += self.kept(question, rule) * amount
        return scores

    def kept(self, question, rule):
        """Return 0 for a rule that dropout leaves out; the others count for it."""
        salt = np.array([self.dropout.step * self.num_questions + question])
        return 0.0 if is_left_out(salt, rule, self.dropout.rate)[0] else 1 / (1 - self.dropout.rate)

    def rows(self, question):
        """Return the features of one question, entry by entry."""
        columns = Features(self.entries, self.ends).rows(question)
        return list(zip(*(column.tolist() for column in columns), strict=True))

    def loss(self, batch):
        """Return the oracle's mean loss, summed over settings; an answer's own fact does not count."""
        total = 0.0
        for question in batch:
            priors, answer = self.priors.copy(), int(self.answers[question])
            priors[answer] = np.log1p(self.frequencies[answer] - 1)
            for setting in range(NUM_SETTINGS):
                scores = self.scores(question, setting, priors)
                total += oracle.cross_entropy(scores, answer, self.filtered(question))
        return total / len(batch)

    def gradient(self, batch):
        gradients, dense_gradients = np.full_like(self.weights, np.nan), np.full(NUM_SETTINGS, np.nan)
        parameters = Parameters(gradients, dense_gradients)
        loss = batch_gradient(
            self.examples,
            batch,
            self.parameters,
            self.fitted,
            DenseValues(self.priors, self.masked_priors),
            self.dropout,
            self.buffer,
            parameters,
        )
        assert not self.buffer.places.any()
        return loss, gradients, dense_gradients


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


@pytest.mark.parametrize("dropout", [Dropout(0.0, 0), Dropout(0.4, 7)], ids=["all rules", "dropout"])
@pytest.mark.parametrize("exclude_source", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_the_gradient_is_that_of_the_cross_entropy_over_all_candidates(seed, exclude_source, dropout):
    sample, batch = Sample(seed, exclude_source), np.array([2, 0, 3])
    sample.dropout = dropout
    loss, gradients, dense_gradients = sample.gradient(batch)
    assert loss == pytest.approx(sample.loss(batch), rel=1e-9)
    expected = finite_differences(lambda: sample.loss(batch), sample.weights)
    np.testing.assert_allclose(gradients, expected, atol=1e-7)
    expected = finite_differences(lambda: sample.loss(batch), sample.dense_weights)
    np.testing.assert_allclose(dense_gradients, expected, atol=1e-7)


def test_dropout_leaves_out_its_share_of_rules_others_for_each_question_and_step():
    salts, rules = np.arange(1000), np.arange(50)[:, None]
    left_out = is_left_out(salts, rules, 0.3)
    assert left_out.mean() == pytest.approx(0.3, abs=0.01)
    assert left_out.mean(axis=0).std() < 0.1
    assert left_out.mean(axis=1).std() < 0.03
    assert not is_left_out(salts, rules, 0.0).any()


def test_compiled_dropout_is_that_of_arrays():
    @kernel()
    def count(num, rate):
        total = 0
        for salt in range(num):
            for rule in range(num):
                total += (salt + 2 * rule) * _is_left_out(salt, rule, rate)
        return total

    numbers = np.arange(40)
    expected = is_left_out(numbers, numbers[:, None], 0.3) * (numbers + 2 * numbers[:, None])
    assert count(40, 0.3) == expected.sum()


def test_a_rule_that_is_not_fitted_gets_no_gradient_and_changes_no_other():
    sample, batch = Sample(0, exclude_source=True), np.array([1, 2])
    _, expected, expected_dense = sample.gradient(batch)
    sample.fitted[1] = False
    _, gradients, dense_gradients = sample.gradient(batch)
    assert not gradients[1].any()
    assert gradients[[0, 2]].tolist() == expected[[0, 2]].tolist()
    assert dense_gradients.tolist() == expected_dense.tolist()


@pytest.mark.parametrize("exclude_source", [False, True])
@pytest.mark.parametrize("seed", range(5))
def test_ranks_under_each_setting_are_realistic(seed, exclude_source):
    sample = Sample(seed, exclude_source)
    sample.weights = np.round(sample.weights)  # for ties
    sample.entries.forward[:], sample.entries.backward[:], sample.priors = 1, 0, np.zeros(NUM_ENTITIES)
    if exclude_source:
        sample.sources[0] = sample.answers[0]  # asked for what is no candidate, which comes last
    ranks = np.zeros((sample.num_questions, NUM_SETTINGS))
    rank_settings(sample.examples, sample.parameters, sample.priors, sample.buffer, ranks)
    assert not sample.buffer.places.any()
    for question, answer in enumerate(sample.answers.tolist()):
        expected = [
            oracle.realistic_rank(
                sample.scores(question, setting, sample.priors), answer, sample.filtered(question)
            )
            for setting in range(NUM_SETTINGS)
        ]
        assert ranks[question].tolist() == expected


def test_a_rule_s_share_of_right_answers_counts_all_that_are_known():
    sample = Sample(0, exclude_source=False)
    counts = np.zeros((NUM_RULES, 2), dtype=np.int64)
    count_right(sample.examples, counts)
    right = [
        (rule, entity in {*sample.known[question], sample.answers[question]})
        for question in range(sample.num_questions)
        for entity, rule, *_ in sample.rows(question)
    ]
    expected = [
        [sum(r == rule for r, _ in right), sum(r == rule and ok for r, ok in right)] for rule in range(3)
    ]
    assert counts.tolist() == expected
    assert not sample.buffer.places.any()


@pytest.mark.parametrize("exclude_source", [False, True])
def test_a_list_has_each_entity_once_the_answer_first_and_candidates_last(exclude_source):
    sample = Sample(3, exclude_source)
    examples = sample.examples
    for question, answer in enumerate(sample.answers.tolist()):
        start, end = examples.offsets[question : question + 2]
        listed = examples.listed[start:end].tolist()
        known, excluded = examples.known_ends[question], examples.excluded_ends[question]
        assert listed[0] == answer
        assert listed[1:known] == sample.known[question].tolist()
        assert {*listed[1:excluded]} == sample.filtered(question)
        rows = sample.rows(question)
        assert {*listed[excluded:]} == {row[0] for row in rows} - {*listed[:excluded]}
        assert len({*listed}) == len(listed)
        first, last = examples.entries.bounds[[examples.starts[question], examples.ends[question]]]
        assert [listed[place] for place in examples.entries.entities[first:last]] == [row[0] for row in rows]
    assert not sample.buffer.places.any()


def test_scores_are_added_to_what_a_row_holds():
    sample = Sample(1, exclude_source=False)
    rows = sample.dense_weights[:, None] * sample.priors
    add_scores(sample.entries, sample.starts[1], sample.ends[1], sample.weights, rows)
    for setting, row in enumerate(rows):
        np.testing.assert_allclose(row, sample.scores(1, setting, sample.priors), rtol=1e-12)

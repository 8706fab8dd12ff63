from math import exp, log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.scores import Scores
from neurallp.reasoning import calibration_sample
from neurallp.reasoning.calibration_sample import Drawing, Row, draw_sample, find_hidden

NAMES = [("a", "r", "b"), ("a", "r", "c"), ("b", "r", "c"), ("d", "s", "e")]


class Fixed:
    """Gives every question the same scores."""

    def __init__(self, *values):
        self.values = np.array(values)

    def scores(self, sources, queries):
        return Scores.of_dense(np.tile(self.values, (len(sources), 1)))


def odds(fraction):
    return log(fraction / (1 - fraction))


@pytest.mark.parametrize("logarithmic", [True, False])
@pytest.mark.parametrize("known", [[], [1], [1, 4]])
def test_evidence_is_the_fraction_of_the_scores_of_all_that_is_not_known(logarithmic, known):
    """Entities 0 and 4 of five have no score listed; that of 3 is no candidate."""
    listed, scores, num = [1, 2, 3], [2.0, 1.5, -np.inf], 5
    dense = [0.0, 2.0, 1.5, -np.inf, 0.0]
    amounts = [exp(score) if logarithmic else max(score, 0) for score in dense]
    others = sum(amount for entity, amount in enumerate(amounts) if entity not in known)
    row = Row(np.array(listed), np.array(scores), num, logarithmic)
    found = row.evidence(7, np.array([1.5]), np.array(known, dtype=int), domain=0.25)
    fraction = min(amounts[2] / others, 1 - calibration_sample.CLIP)
    assert found.odds == pytest.approx([odds(fraction)])
    assert found.unknown == pytest.approx([log(others / sum(amounts)) if known else 0.0])
    assert found.num_known.tolist() == [len(known)]
    assert found.domain.tolist() == [0.0 if known else 0.25]
    assert found.queries.tolist() == [7]


def test_known_facts_are_no_answers_and_held_out_ones_are_right():
    kb = KnowledgeBase.from_triples(NAMES)
    a, b, c = (kb.entities.id(name) for name in "abc")
    known = KnowledgeBase(kb.entities, kb.relations, kb.facts[[0, 2, 3]])
    sample = draw_sample(Fixed(1.0, 3.0, 2.0, 0.0, 0.0), known, kb.facts[[1]], logarithmic=False)
    asked = (sample.evidence.queries == 0) & sample.sought  # only a has a held-out answer to r
    # b is known, d and e score 0; so c, which is held out, comes before a.
    assert sample.right[asked].tolist() == [True, False]
    assert sample.ranks[asked].tolist() == [0, 1]
    assert sample.evidence.num_known[asked].tolist() == [1, 1]
    assert sample.evidence.odds[asked] == pytest.approx([odds(2 / 3), odds(1 / 3)])
    assert sample.evidence.unknown[asked] == pytest.approx([log(3 / 6)] * 2)
    assert {a, b, c} == {0, 1, 2}


def test_a_fact_that_is_both_known_and_held_out_counts_as_known():
    kb = KnowledgeBase.from_triples(NAMES)
    sample = draw_sample(Fixed(1.0, 3.0, 2.0, 0.0, 0.0), kb, kb.facts[[1]], logarithmic=False)
    assert not sample.right.any()
    assert not sample.sought.any()


def drawn(num, seed=0):
    """Return entities with known, with held-out and without answers, the names drawn, and their weights."""
    facts = [(f"p{i}", "r", f"q{i % 7}") for i in range(400)] + [(f"z{i}", "s", "q0") for i in range(400)]
    kb = KnowledgeBase.from_triples(facts)
    known = KnowledgeBase(kb.entities, kb.relations, np.delete(kb.facts, np.arange(300, 400), axis=0))
    drawing = Drawing(Fixed(0.0), known, kb.facts[300:400], True)
    sources, weights = drawing.draw_sources(0, num, np.random.default_rng(seed))
    return kb, [kb.entities[source] for source in sources], weights


def test_sources_stand_for_all_entities():
    totals = []
    for seed in range(200):
        kb, names, weights = drawn(60, seed)
        assert len(names) == len(set(names))
        totals.append(weights.sum())
    assert np.mean(totals) == pytest.approx(len(kb.entities), rel=0.1)


def test_sources_that_may_have_an_answer_are_drawn_more_often():
    _, names, weights = drawn(200)
    weight = {name[0]: w for name, w in zip(names, weights.tolist(), strict=True)}
    held_out = [w for name, w in zip(names, weights, strict=True) if name[0] == "p" and int(name[1:]) >= 300]
    assert held_out == [1.0] * 100
    assert 1 < min(weights[[name[0] == "p" and int(name[1:]) < 300 for name in names]]) < weight["z"]
    assert abs(len(names) - 200) < 30


def test_every_query_gets_its_share_of_the_questions():
    kb = KnowledgeBase.from_triples([(f"p{i}", "r", f"q{i % 7}") for i in range(99)] + [("p0", "s", "q0")])
    shares = Drawing(Fixed(0.0), kb, kb.facts[:0], True).shares(1000)
    least = calibration_sample.MIN_SOURCES
    assert shares == {0: 495, 1: least, 2: 495, 3: least}


def test_hidden_facts_are_found_among_the_best_answers():
    kb = KnowledgeBase.from_triples(NAMES)
    known = KnowledgeBase(kb.entities, kb.relations, kb.facts[[0, 2, 3]])
    scorer = Fixed(1.0, 3.0, 2.0, 0.0, 0.0)
    found = list(find_hidden(scorer, known, kb.facts[[1]], logarithmic=False, weight=2.5))
    rows = [(int(each.evidence.queries[0]), int(each.evidence.num_known[0])) for each in found]
    assert rows == [(0, 1), (2, 1)]  # (a, r, c) while (a, r, b) is known, and (?, r, c) while b is
    assert all(each.right.all() and each.weights.tolist() == [2.5] for each in found)


def test_a_sample_is_fixed_by_its_seed():
    rng = np.random.default_rng(0)
    facts = [(f"e{h}", "r", f"e{t}") for h, t in rng.integers(0, 200, (400, 2))]
    kb = KnowledgeBase.from_triples(facts)
    known = KnowledgeBase(kb.entities, kb.relations, kb.facts[:300])
    scorer = Fixed(*rng.random(len(kb.entities)))
    first, second = (draw_sample(scorer, known, kb.facts[300:], logarithmic=True) for _ in range(2))
    assert first.evidence.odds.tolist() == second.evidence.odds.tolist()
    assert first.right.tolist() == second.right.tolist()

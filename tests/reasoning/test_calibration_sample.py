from math import exp, log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.scores import Scores
from neurallp.reasoning import calibration_sample
from neurallp.reasoning.calibration_sample import Drawing, Row, draw_sample

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


def test_every_entity_is_asked_about_or_stood_for(monkeypatch):
    monkeypatch.setattr(calibration_sample, "MAX_QUESTIONS", 0)
    facts = [(f"p{i}", "r", f"q{i % 7}") for i in range(60)] + [("p0", "s", "q0")]
    kb = KnowledgeBase.from_triples(facts)
    known = KnowledgeBase(kb.entities, kb.relations, kb.facts[:40])
    drawing = Drawing(Fixed(0.0), known, kb.facts[40:], True)
    assert drawing.num_sources == calibration_sample.MIN_SOURCES
    sources, weights = drawing.draw_sources(0, np.random.default_rng(0))
    assert weights.sum() == pytest.approx(len(kb.entities))
    assert len(sources) == len(set(sources.tolist())) == 5 + 5 + 5 + 2  # q0 to q6 have no answer to r
    names = [kb.entities[source] for source in sources]
    held_out = {f"p{i}" for i in range(40, 60)}
    assert set(names[:5]) <= held_out
    assert weights[:5] == pytest.approx([20 / 5] * 5)


def test_a_sample_is_fixed_by_its_seed():
    rng = np.random.default_rng(0)
    facts = [(f"e{h}", "r", f"e{t}") for h, t in rng.integers(0, 200, (400, 2))]
    kb = KnowledgeBase.from_triples(facts)
    known = KnowledgeBase(kb.entities, kb.relations, kb.facts[:300])
    scorer = Fixed(*rng.random(len(kb.entities)))
    first, second = (draw_sample(scorer, known, kb.facts[300:], logarithmic=True) for _ in range(2))
    assert first.evidence.odds.tolist() == second.evidence.odds.tolist()
    assert first.right.tolist() == second.right.tolist()

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.weighting.excluded import ExcludedCandidates
from neurallp.weighting.weighted_rules import WeightedRules

FACTS = [("a", "r", "b"), ("a", "s", "c"), ("d", "s", "a"), ("a", "s", "b"), ("e", "r", "e"), ("b", "s", "e")]


@pytest.fixture
def kb():
    return KnowledgeBase.from_triples(FACTS)


def excluded(kb, source, query, excludes_linked):
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {}, excludes_linked)
    sources = np.array([kb.entities.id("e"), kb.entities.id(source)])
    rows, entities = ExcludedCandidates(weighted, Operators.of(kb)).pairs(
        sources, kb.relations.operator_id(query)
    )
    return {kb.entities[entity] for row, entity in zip(rows, entities, strict=True) if row == 1}


def test_the_source_is_no_candidate_of_a_relation_that_is_never_reflexive(kb):
    assert excluded(kb, "a", "s", excludes_linked=False) == {"a"}
    assert excluded(kb, "a", "r", excludes_linked=False) == set()


def test_linked_entities_are_no_candidates_in_either_direction_but_known_answers_are(kb):
    assert excluded(kb, "a", "r", excludes_linked=True) == {"c", "d"}
    assert excluded(kb, "a", "s", excludes_linked=True) == {"a", "d"}
    assert excluded(kb, "a", "~s", excludes_linked=True) == {"a", "b", "c"}


def test_one_answer_can_be_asked_for(kb):
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {}, excludes_linked=True)
    found = ExcludedCandidates(weighted, Operators.of(kb))
    a, b, c = map(kb.entities.id, "abc")
    assert found.has(a, kb.relations.id("r"), c)
    assert not found.has(a, kb.relations.id("r"), b)

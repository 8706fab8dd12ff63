"""Weighted rules as a result: their order, totals, text, and the choice among them."""

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.rules.rule import RuleFilter
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import ExcludedCandidates, WeightedQuery, WeightedRules, select_rules

FACTS = [
    ("anna", "father", "bob"),
    ("bob", "brother", "carl"),
    ("anna", "uncle", "carl"),
    ("dora", "father", "emil"),
    ("emil", "brother", "fred"),
    ("bob", "knows", "bob"),
]


@pytest.fixture
def kb():
    return KnowledgeBase.from_triples(FACTS)


@pytest.fixture
def weighted(kb):
    """Three rules for `uncle`, one of which lowers scores, and one for `knows`."""
    father, brother, uncle, knows = range(4)
    rules = (
        Candidate("chain", (father, brother)),
        Candidate("prior", (uncle,)),
        Candidate("chain", (father,)),
    )
    weights = np.array([[1.0, 0.5, 0.5], [0.25, 0.0, 0.0], [-3.0, -1.0, 0.0]])
    own = WeightedQuery(rules, weights, np.array([0.9, 0.1, 0.0]))
    other = WeightedQuery((Candidate("chain", (knows, knows)),), np.zeros((1, 3)), np.ones(1))
    return WeightedRules(kb.relations, kb.reflexive_relations, {uncle: own, knows: other})


def test_the_total_of_a_rule_is_its_contribution_where_all_features_are_one(weighted):
    assert weighted.queries[2].totals.tolist() == [2.0, 0.25, -4.0]


def test_rules_are_counted_over_all_queries_and_by_kind(weighted):
    assert len(weighted) == 4
    assert weighted.num_of_kinds == {"chain": 3, "prior": 1}


def test_rules_come_in_the_order_of_their_absolute_weight(weighted):
    found = list(weighted.rules(2))
    assert [rule.weight for rule in found] == [-4.0, 2.0, 0.25]
    assert [rule.normalized_confidence for rule in found] == [1.0, 0.5, 0.0625]
    assert [rule.confidence for rule in found] == [0.0, 0.9, 0.1]


def test_rules_read_as_logic_and_say_where_the_source_is_no_answer(weighted):
    assert [str(rule) for rule in weighted.rules(2)] == [
        "uncle(X, Y) <= father(X, Y), X != Y",
        "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y",
        "uncle(X, Y) <= uncle(A, Y)",
    ]
    assert [str(rule) for rule in weighted.rules(3)] == ["knows(X, Y) <= knows(X, A), knows(A, Y)"]


def test_only_a_relation_with_a_reflexive_fact_has_its_source_among_the_answers(weighted):
    num_relations = len(weighted.relations)
    excluded = [weighted.excludes_source(query) for query in range(2 * num_relations)]
    assert excluded == [True, True, True, False] * 2


def test_a_query_without_rules_has_none(weighted):
    assert list(weighted.rules(0)) == []
    assert list(weighted.rules(6)) == []


def test_rules_that_all_weigh_nothing_have_no_share_of_the_largest(weighted):
    assert [rule.normalized_confidence for rule in weighted.rules(3)] == [0.0]


def test_the_depth_is_that_of_the_longest_chain(weighted, kb):
    assert weighted.max_depth == 2
    assert WeightedRules(kb.relations, kb.reflexive_relations, {}).max_depth == 1


def test_the_weightiest_rules_are_chosen_for_each_query(weighted):
    found = select_rules(weighted, [2, 3], RuleFilter(), limit=2, kb=None)
    assert [(rule.target, rule.weight) for rule in found] == [("uncle", -4.0), ("uncle", 2.0), ("knows", 0.0)]


def test_the_limit_counts_what_the_filter_keeps(weighted):
    narrow = RuleFilter(allow=["father", "brother"], max_length=2, deny=["knows"])
    found = select_rules(weighted, [2, 3], narrow, limit=2, kb=None)
    assert [rule.body for rule in found] == [("father",), ("father", "brother")]
    assert len(select_rules(weighted, [2], RuleFilter(min_share=0.3), limit=5, kb=None)) == 2


def test_chosen_rules_are_measured_on_facts(weighted, kb):
    found = select_rules(weighted, [2], RuleFilter(), limit=3, kb=kb)
    assert [(rule.support, rule.num_predictions) for rule in found] == [(0, 2), (1, 2), (None, None)]


def test_facts_without_a_relation_of_a_rule_do_not_support_it(weighted):
    brotherless = KnowledgeBase.from_triples(fact for fact in reversed(FACTS) if fact[1] != "brother")
    found = select_rules(weighted, [2], RuleFilter(), limit=3, kb=brotherless)
    assert [(rule.support, rule.num_predictions) for rule in found] == [(0, 2), (0, 0), (None, None)]


# Entities that are no candidates

LINKED_FACTS = [
    ("a", "r", "b"),
    ("a", "s", "c"),
    ("d", "s", "a"),
    ("a", "s", "b"),
    ("e", "r", "e"),
    ("b", "s", "e"),
]


@pytest.fixture
def linked():
    return KnowledgeBase.from_triples(LINKED_FACTS)


def excluded(linked, source, query, excludes_linked):
    weighted = WeightedRules(linked.relations, linked.reflexive_relations, {}, excludes_linked)
    sources = np.array([linked.entities.id("e"), linked.entities.id(source)])
    rows, entities = ExcludedCandidates(weighted, Operators.of(linked)).pairs(
        sources, linked.relations.operator_id(query)
    )
    return {linked.entities[entity] for row, entity in zip(rows, entities, strict=True) if row == 1}


def test_the_source_is_no_candidate_of_a_relation_that_is_never_reflexive(linked):
    assert excluded(linked, "a", "s", excludes_linked=False) == {"a"}
    assert excluded(linked, "a", "r", excludes_linked=False) == set()


def test_linked_entities_are_no_candidates_in_either_direction_but_known_answers_are(linked):
    assert excluded(linked, "a", "r", excludes_linked=True) == {"c", "d"}
    assert excluded(linked, "a", "s", excludes_linked=True) == {"a", "d"}
    assert excluded(linked, "a", "~s", excludes_linked=True) == {"a", "b", "c"}


def test_one_answer_can_be_asked_for(linked):
    weighted = WeightedRules(linked.relations, linked.reflexive_relations, {}, excludes_linked=True)
    found = ExcludedCandidates(weighted, Operators.of(linked))
    a, b, c = map(linked.entities.id, "abc")
    assert found.has(a, linked.relations.id("r"), c)
    assert not found.has(a, linked.relations.id("r"), b)


@pytest.mark.parametrize(
    ("kinds", "predicts"),
    [(("prior", "near", "linked"), False), (("chain", "near", "linked"), True), ((), False)],
)
def test_rules_that_only_order_predict_nothing(kb, kinds, predicts):
    rules = tuple(Candidate(kind, () if kind in ("near", "linked") else (1,)) for kind in kinds)
    own = WeightedQuery(rules, np.ones((len(rules), 3)), np.ones(len(rules)))
    assert WeightedRules(kb.relations, kb.reflexive_relations, {0: own}).predicts == predicts

"""The rows that a rule takes are counted, not guessed."""

from itertools import product

import numpy as np
import pytest
import weighted_samples

from neurallp import KnowledgeBase
from neurallp.graph.packed import PackedKnowledgeBase, PackedOperators
from neurallp.graph.segments import sort_edges
from neurallp.rules.paths import find_paths
from neurallp.scale.estimate import Cost, Estimator
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules


def packed(kb):
    columns = (np.ascontiguousarray(column, np.int32) for column in kb.facts.T)
    csr = sort_edges(*columns, len(kb.entities), len(kb.relations))
    return PackedKnowledgeBase(kb.entities, PackedOperators(len(kb.relations), csr), kb.relations)


@pytest.mark.parametrize("body", [(0,), (4,), (0, 1), (2, 5), (1, 4, 0)])
def test_rows_are_the_paths_along_the_body(body):
    kb = packed(weighted_samples.random_kb(0, 40))
    pairs = product(range(len(kb.entities)), repeat=2)
    assert Estimator(kb).paths(body) == sum(
        1 for ends in pairs for _ in find_paths(kb.operators, body, *ends)
    )


def test_every_rule_but_the_prior_has_a_cost():
    kb = packed(weighted_samples.random_kb(0))
    weighted = weighted_samples.random_rules(kb, 0)
    costs = list(Estimator(kb).costs(weighted, 2))
    assert len(costs) == len(weighted.queries[2]) - 1
    assert all(cost.rows >= 0 and cost.text for cost in costs)


def test_rows_of_a_rule_that_names_its_source_are_the_edges_of_its_start():
    facts = [*((f"a{i}", "r", f"b{i}") for i in range(9)), *(("d", "s", f"b{i}") for i in range(5))]
    kb = packed(KnowledgeBase.from_triples(facts))
    named = [("a0", "d"), ("a1", "a2"), ("nobody", "d"), ("a2", "nobody")]
    rules = [Candidate("sourced", (1,), *each) for each in named]
    own = WeightedQuery((*rules, Candidate("linked", ())), np.ones((5, 3)), np.ones(5))
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {0: own})
    costs = {cost.number: cost.rows for cost in Estimator(kb).costs(weighted, 0)}
    assert costs == {0: 5, 1: 0, 2: 0, 3: 0, 4: 1}  # links are those of a0, for which a rule predicts


def test_rows_of_nearness_are_the_edges_that_its_walks_follow_where_another_rule_predicts():
    # From each of 40 sources of s, twenty steps along two edges; more sources than are counted.
    facts = [(f"a{i}", name, f"{end}{i}") for i in range(40) for name, end in (("r", "b"), ("s", "c"))]
    kb = packed(KnowledgeBase.from_triples(facts))
    (near,) = (cost for cost in Estimator(kb).costs(weighted_samples.near_rules(kb), 0) if cost.number == 0)
    assert near.text == "r(X, Y) <= near(X, Y)"
    assert near.rows == 40 * 20 * 2


def test_rows_of_a_rule_about_links_are_the_edges_of_the_sources_of_other_rules():
    facts = [(f"a{i}", name, f"{end}{i}") for i in range(40) for name, end in (("r", "b"), ("s", "c"))]
    kb = packed(KnowledgeBase.from_triples([*facts, ("z", "r", "y")]))
    costs = Estimator(kb).costs(weighted_samples.linked_rules(kb), 0)
    (linked,) = (cost for cost in costs if cost.number == 0)
    assert (linked.text, linked.rows) == ("not r(X, Y) <= linked(X, Y)", 40 * 2)


def test_minutes_and_bytes_grow_with_rows():
    small, large = (Cost(0, 0, "r <= s", rows) for rows in (10**6, 10**9))
    assert large.minutes > 100 * small.minutes
    assert large.num_bytes == 1000 * small.num_bytes

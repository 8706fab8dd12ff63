"""Paths along a body between two ends, the highest score first."""

from itertools import pairwise
from math import prod

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase, Reasoner
from neurallp.graph.operators import Operators
from neurallp.rules.paths import PathLattice, find_paths, reachable_sets, reachable_sets_to
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

ENTITY = st.integers(0, 4)


@settings(max_examples=200, deadline=None)
@given(
    kb=knowledge_bases(most_facts=14),
    body=st.lists(st.integers(0, 3), min_size=1, max_size=4),
    ends=st.tuples(ENTITY, ENTITY),
    excluded=st.sets(st.tuples(st.integers(1, 4), ENTITY), max_size=3),
)
def test_a_lattice_holds_every_path_once_the_highest_score_first(kb, body, ends, excluded):
    source, answer = (min(end, len(kb.entities) - 1) for end in ends)
    scores = np.random.default_rng(0).integers(1, 4, size=(4, len(kb.entities))) / 4
    expected = {
        tuple(path): prod(scores[place, who] for place, who in enumerate(path[:-1]))
        for path in oracle.enumerate_paths(edges(kb), source, body)
        if path[-1] == answer and excluded.isdisjoint(enumerate(path))
    }
    lattice = PathLattice(
        Operators.of(kb), tuple(body), (source, answer), excluded, lambda place, who: scores[place, who]
    )
    found = list(lattice.paths())
    assert len(found) == len(expected)
    assert dict(found) == pytest.approx(expected)
    values = [round(each, 9) for _, each in found]
    assert values == sorted(values, reverse=True)
    assert lattice.total == pytest.approx(sum(expected.values()))


def test_of_millions_of_paths_only_those_shown_are_found():
    layers = [["x"], *([f"{name}{i}" for i in range(150)] for name in "abc"), ["y"]]
    kb = KnowledgeBase.from_triples(
        (one, "r", other) for here, there in pairwise(layers) for one in here for other in there
    )
    rules = WeightedQuery((Candidate("chain", (0, 0, 0, 0)),), np.array([[1.0, 0.0, 0.0]]), np.ones(1))
    proof = Reasoner(kb, WeightedRules(kb.relations, kb.reflexive_relations, {0: rules})).explain(
        "x", "r", "y", k=3
    )
    assert [term.path for term in proof.terms] == [("x", "a0", "b0", f"c{i}", "y") for i in range(3)]
    assert [term.contribution for term in proof.terms] == pytest.approx([150**-3] * 3)
    assert proof.remainder == pytest.approx(1 - 3 * 150**-3)


@settings(max_examples=100, deadline=None)
@given(
    kb=knowledge_bases(most_facts=14),
    body=st.lists(st.integers(0, 3), max_size=4).map(tuple),
    ends=st.tuples(ENTITY, ENTITY),
)
def test_paths_between_two_entities_are_those_that_enumeration_finds(kb, body, ends):
    source, answer = (min(end, len(kb.entities) - 1) for end in ends)
    expected = [path for path in oracle.enumerate_paths(edges(kb), source, body) if path[-1] == answer]
    assert sorted(find_paths(Operators.of(kb), body, source, answer)) == sorted(expected)


@settings(max_examples=100, deadline=None)
@given(kb=knowledge_bases(), body=st.lists(st.integers(0, 3), max_size=3).map(tuple))
def test_reachable_sets_are_the_ends_of_all_prefixes_and_the_starts_of_all_suffixes(kb, body):
    graph, operators = edges(kb), Operators.of(kb)
    for length, found in enumerate(reachable_sets(operators, body, 0)):
        expected = {path[-1] for path in oracle.enumerate_paths(graph, 0, body[:length])}
        assert found.tolist() == sorted(expected)
    for length, found in enumerate(reachable_sets_to(operators, body, 0)):
        starts = range(len(kb.entities))
        suffix = body[length:]
        expected = [e for e in starts if any(p[-1] == 0 for p in oracle.enumerate_paths(graph, e, suffix))]
        assert found.tolist() == expected


def test_no_path_leads_to_an_entity_out_of_reach():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("c", "r", "d")])
    assert list(find_paths(Operators.of(kb), (0,), kb.entities.id("a"), kb.entities.id("d"))) == []
    lattice = PathLattice(Operators.of(kb), (0,), (0, 3), (), lambda place, who: np.ones(len(who)))
    assert (list(lattice.paths()), lattice.total) == ([], 0)

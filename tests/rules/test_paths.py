"""Paths between two ends, found only as they are wanted."""

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
from neurallp.rules.paths import PathLattice
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
def test_a_lattice_holds_every_path_once_the_worthiest_first(kb, body, ends, excluded):
    source, answer = (min(end, len(kb.entities) - 1) for end in ends)
    worth = np.random.default_rng(0).integers(1, 4, size=(4, len(kb.entities))) / 4
    expected = {
        tuple(path): prod(worth[place, who] for place, who in enumerate(path[:-1]))
        for path in oracle.enumerate_paths(edges(kb), source, body)
        if path[-1] == answer and excluded.isdisjoint(enumerate(path))
    }
    lattice = PathLattice(
        Operators.of(kb), tuple(body), (source, answer), excluded, lambda place, who: worth[place, who]
    )
    found = list(lattice.paths())
    assert len(found) == len(expected)
    assert dict(found) == pytest.approx(expected)
    worths = [round(each, 9) for _, each in found]
    assert worths == sorted(worths, reverse=True)
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

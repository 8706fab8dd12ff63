"""The paths of a neural model, and the norms of its memories, against enumeration."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import attentions, edges, knowledge_bases

from neurallp.graph.operators import Operators
from neurallp.reasoning.paths import PathSearch, memory_norms


@settings(max_examples=60, deadline=None)
@given(
    kb=knowledge_bases(),
    attention=attentions(most_steps=3, num_operators=4),
    answer=st.sampled_from([0, -1]),
)
def test_paths_are_all_found_and_the_largest_first(kb, attention, answer):
    answer %= len(kb.entities)
    found = list(PathSearch(Operators.of(kb), *attention).paths(0, answer))
    contributions = np.array([contribution for _, _, contribution in found])
    assert (contributions > 0).all()
    assert (np.diff(contributions) <= 1e-15).all()
    scores = [oracle.score(edges(kb), *rank, source=0) for rank in zip(*attention, strict=True)]
    assert contributions.sum() == pytest.approx(sum(score.get(answer, 0) for score in scores))


@settings(max_examples=60, deadline=None)
@given(kb=knowledge_bases(), attention=attentions(most_steps=3, num_operators=4))
def test_memory_norms_equal_the_sums_of_enumerated_memories(kb, attention):
    operators = Operators.of(kb)
    for operator, memory in zip(*attention, strict=True):
        expected = oracle.memory_norms(edges(kb), operator, memory, source=0)[1:]
        found = memory_norms(operators, operator, memory, source=0)
        # The oracle has 1 for an empty memory, where the sum is (nearly) 0.
        assert np.where(found < 1e-15, 1.0, found).tolist() == pytest.approx(expected)


@settings(max_examples=60, deadline=None)
@given(kb=knowledge_bases(), attention=attentions(most_steps=3, num_operators=4))
def test_every_path_follows_its_body(kb, attention):
    links = set(edges(kb))
    for body, path, _ in PathSearch(Operators.of(kb), *attention).paths(0, len(kb.entities) - 1):
        assert len(path) == len(body) + 1
        assert all(link in links for link in zip(path, body, path[1:], strict=False))

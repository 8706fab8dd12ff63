from itertools import product

import numpy as np
import pytest
from hypothesis import given
from samples import knowledge_bases

from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.operators import Operators
from neurallp.pipeline.survey import MAX_WALK, count_walks, measure_reach, survey


def edges(kb):
    """Return all edges in both directions, one for each fact."""
    return [pair for head, _, tail in kb.facts.tolist() for pair in ((head, tail), (tail, head))]


def num_walks(kb, source, steps):
    if not steps:
        return 1
    return sum(num_walks(kb, target, steps - 1) for start, target in edges(kb) if start == source)


@given(knowledge_bases(num_entities=4, most_facts=3))
def test_walks_are_counted_as_by_hand_from_both_ends_of_every_fact(kb):
    ends = [source for source, _ in edges(kb)]
    expected = [np.mean([num_walks(kb, source, steps) for source in ends]) for steps in range(1, 4)]
    assert count_walks(Operators.of(kb))[:3] == pytest.approx(expected)


@given(knowledge_bases(num_entities=6, most_facts=4))
def test_a_pair_is_reached_within_the_steps_of_its_shortest_path(kb):
    names = range(len(kb.entities))
    pairs = list(product(names, names))
    nearest = {(a, b): steps for steps in range(4, 0, -1) for a, b in pairs if b in reach(kb, a, steps)}
    expected = [np.mean([nearest.get(pair, 9) <= steps for pair in pairs]) for steps in range(1, 5)]
    assert measure_reach(Operators.of(kb), np.array(pairs)) == pytest.approx(expected)


def reach(kb, source, steps):
    """Return the entities that walks of exactly so many steps lead to."""
    reached = {source}
    for _ in range(steps):
        reached = {target for start, target in edges(kb) if start in reached}
    return reached


def test_the_first_look_counts_parts_and_links():
    train = [("a", "r", "b"), ("b", "r", "c"), ("c", "q", "d")]
    split = name_parts({"train": train, "valid": [("a", "q", "b"), ("a", "q", "c")]})
    found = survey(split)
    assert (found.num_facts, found.num_entities, found.num_relations, found.num_valid) == (3, 4, 2, 2)
    assert found.linked_share == 0.5
    assert found.reached == (0.5, 1.0, 1.0, 1.0)
    assert len(found.walks) == MAX_WALK


def test_without_validation_nothing_is_said_of_its_pairs():
    found = survey(name_parts({"train": [("a", "r", "b")]}))
    assert (found.reached, found.linked_share) == ((), 0.0)

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase
from neurallp.graph.questions import Questions
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.mining import (
    MANY_PAIRS,
    PAIRS_OF_ROUND,
    Miner,
    select_bodies,
    share_by_length,
    value_of,
    within_budget,
)

few = settings(max_examples=40, deadline=None)
ALL = 10**6


def miner_over(kb, max_length):
    return Miner(GraphIndex.of(kb), max_length)


def questions(*rows):
    return Questions(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


@few
@given(
    kb=knowledge_bases(num_entities=4, most_facts=10),
    max_length=st.integers(1, 4),
    mask_pair=st.booleans(),
    inverse=st.booleans(),
)
def test_the_bodies_found_are_those_that_link_the_pair_without_the_fact_asked(
    kb, max_length, mask_pair, inverse
):
    source, query, answer = kb.facts[0].tolist()
    if inverse:
        source, query, answer = answer, query + len(kb.relations), source
    graph = (
        oracle.without_pair(edges(kb), source, answer)
        if mask_pair
        else oracle.without_fact(edges(kb), source, query, answer, len(kb.relations))
    )
    found = miner_over(kb, max_length).mine(questions((source, query, answer)), mask_pair, ALL, ALL)
    assert len(set(found)) == len(found)
    assert set(found) == oracle.enumerate_bodies(graph, source, answer, max_length)


@few
@given(kb=knowledge_bases(num_entities=4), max_length=st.integers(1, 3))
def test_bodies_between_several_pairs_are_found_between_any_of_them(kb, max_length):
    miner = miner_over(kb, max_length)
    rows = [tuple(fact) for fact in kb.facts.tolist() if fact[1] == 0]
    each = [set(miner.mine(questions(row), False, ALL, ALL)) for row in rows]
    assert set(miner.mine(questions(*rows), False, ALL, ALL)) == set().union(*each)


def triangles(num, lonely=0):
    """Return uncles by way of fathers and brothers, and some who are friends instead."""
    facts = [
        fact
        for i in range(num)
        for fact in ((f"a{i}", "uncle", f"c{i}"), (f"a{i}", "father", f"b{i}"), (f"b{i}", "brother", f"c{i}"))
    ]
    friends = [
        fact for i in range(lonely) for fact in ((f"x{i}", "uncle", f"y{i}"), (f"x{i}", "friend", f"y{i}"))
    ]
    return KnowledgeBase.from_triples([*facts, *friends])


def uncles(kb):
    return questions(*kb.facts[kb.facts[:, 1] == kb.relations.id("uncle")])


def body(kb, *names):
    return tuple(map(kb.relations.operator_id, names))


def test_the_bodies_that_link_most_pairs_come_first():
    kb = triangles(5, lonely=2)
    best = [body(kb, "father", "brother"), body(kb, "friend")]
    assert miner_over(kb, 2).mine(uncles(kb), False, ALL, ALL) == best


def test_each_length_has_a_quota_of_its_own():
    pairs = [("a", "uncle", "b"), ("a", "s", "b"), ("a", "t", "b")]
    kb = KnowledgeBase.from_triples([*pairs, ("a", "p", "m"), ("a", "q", "m"), ("m", "p", "b")])
    miner = miner_over(kb, 2)
    lengths = sorted(map(len, miner.mine(uncles(kb), False, ALL, ALL)))
    assert lengths == [1, 1, 2, 2]
    assert sorted(map(len, miner.mine(uncles(kb), False, 1, ALL))) == [1, 2]


def test_mining_ends_once_a_round_of_pairs_adds_little_new():
    # The pairs after the second round have a body of their own, which is not found any more.
    kb = triangles(2 * PAIRS_OF_ROUND, lonely=PAIRS_OF_ROUND)
    found = miner_over(kb, 2).mine(uncles(kb), False, ALL, ALL)
    assert found == [body(kb, "father", "brother")]


def test_among_many_pairs_a_body_must_link_two():
    kb = triangles(MANY_PAIRS, lonely=1)
    assert miner_over(kb, 2).mine(uncles(kb), False, ALL, ALL) == [body(kb, "father", "brother")]


def test_once_enough_paths_were_followed_no_further_pair_is_searched():
    kb = triangles(2, lonely=3)
    miner, pairs = miner_over(kb, 2), uncles(kb)
    first = [body(kb, "father", "brother")]
    assert miner.mine(pairs, False, ALL, 1) == first
    assert miner.mine(pairs, False, ALL, 0) == []
    assert len(miner.mine(pairs, False, ALL, ALL)) == 2


def test_without_pairs_nothing_is_found():
    assert miner_over(triangles(1), 2).mine(questions(), False, ALL, ALL) == []


def test_bodies_are_never_longer_than_their_numbers_can_tell():
    ring = [(f"e{i}", f"r{i}", f"e{(i + 1) % 40}") for i in range(40)]
    kb = KnowledgeBase.from_triples([*ring, ("e0", "s", "e9")])
    asked = questions((0, kb.relations.id("s"), 9))
    way_round = body(kb, *(f"r{i}" for i in range(9)))
    assert miner_over(kb, 9).mine(asked, False, ALL, ALL)[0] == way_round
    for body_ in miner_over(kb, 20).mine(asked, False, ALL, ALL):
        graph = edges(kb)
        assert [path[-1] for path in oracle.enumerate_paths(graph, 0, body_)] == [9]


@pytest.mark.parametrize("max_length", [1, 2, 5])
def test_a_miner_leaves_nothing_behind_for_the_next_pair(max_length):
    kb = triangles(3, lonely=2)
    miner, pairs = miner_over(kb, max_length), uncles(kb)
    before = miner.mine(pairs, True, ALL, ALL)
    miner.mine(pairs[:1], False, ALL, ALL)
    assert miner.mine(pairs, True, ALL, ALL) == before


# Selection by what bodies conclude

#: Conclusions that all bodies together may have.
BUDGET = 1000


def test_of_bodies_with_as_many_hits_the_one_that_concludes_less_is_better():
    values = value_of(np.array([[10, 5, 5], [1000, 5, 5], [10, 5, 2]]))
    assert values[0] > values[1]
    assert values[0] > values[2]


def test_bodies_are_kept_by_value_and_none_without_a_hit():
    bodies = [(0, 1), (1, 1), (2, 1)]
    counts = np.array([[10, 2, 2], [10, 9, 9], [10, 9, 0]])
    assert select_bodies(bodies, counts, BUDGET, 4) == [(1, 1), (0, 1)]


def test_many_long_bodies_leave_room_for_short_ones():
    bodies = [*[(0, 1, k) for k in range(20)], (5,), (6, 6)]
    counts = np.array([[10, 9, 9]] * 20 + [[10, 1, 1]] * 2)
    kept = select_bodies(bodies, counts, BUDGET, 4)
    assert {(5,), (6, 6)} < set(kept)
    assert len(kept) == 4


def test_shares_that_a_length_cannot_fill_go_to_the_others():
    lengths = np.array([3, 3, 2, 3, 3, 1])
    assert share_by_length(lengths, 5).tolist() == [0, 1, 2, 3, 5]
    assert share_by_length(lengths, 100).tolist() == list(range(6))
    assert share_by_length(np.zeros(0, np.int64), 3).tolist() == []


def test_what_does_not_fit_into_the_budget_is_passed_over():
    assert within_budget(np.array([5.0, 6.0, 5.0, 1.0]), 10).tolist() == [0, 2]
    counts = np.array([[600, 90, 90], [900, 80, 80], [300, 5, 5]])
    bodies = [(0, 1), (1, 1), (2, 1)]
    assert select_bodies(bodies, counts, BUDGET, 4) == [(0, 1), (2, 1)]
    assert select_bodies(bodies, counts, 0.5 * BUDGET, 4) == [
        (2, 1)
    ]  # each has twice as many on all questions

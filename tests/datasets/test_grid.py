from collections import Counter, defaultdict
from itertools import product
from random import Random

import pytest

from neurallp.datasets.grid import (
    DIRECTIONS,
    grid_knowledge_base,
    grid_split,
    grid_triples,
    path_triples,
    random_paths,
)
from neurallp.errors import ConfigError


def walk(path, size):
    """Follow a path along the facts of the map: the oracle of what a query means."""
    links = defaultdict(dict)
    for head, direction, tail in grid_triples(size):
        links[direction][head] = tail
    found = {}
    for start in {head for head, _, _ in grid_triples(size)}:
        place = start
        for direction in path:
            place = links[direction].get(place)
        if place is not None:
            found[start] = place
    return found


def test_the_map_reads_as_in_the_paper():
    facts = set(grid_triples())
    assert ("(1,2)", "North", "(1,1)") in facts
    assert ("(1,1)", "SouthEast", "(2,2)") in facts
    assert len(facts) == 4 * 16 * 15 + 4 * 15 * 15


def test_every_step_has_an_opposite_step():
    back = {name: (-x, -y) for name, (x, y) in DIRECTIONS.items()}
    opposite = {name: next(n for n, move in DIRECTIONS.items() if move == back[name]) for name in DIRECTIONS}
    facts = set(grid_triples(5))
    assert all((tail, opposite[direction], head) in facts for head, direction, tail in facts)


@pytest.mark.parametrize("length", [2, 3, 5])
def test_pairs_of_a_query_are_the_ends_of_its_path(length):
    for path in random_paths(length, 5, Random(0)):
        assert {start: end for start, _, end in path_triples(path, 6)} == walk(path, 6)


@pytest.mark.parametrize("length", [2, 4])
def test_no_shorter_path_leads_where_a_query_leads(length):
    shorter = grid_knowledge_base(9)
    near = defaultdict(set)
    for head, _, tail in shorter.named_facts():
        near[head].add(tail)
    for path in random_paths(length, 6, Random(1)):
        for start, _, end in path_triples(path, 9):
            reached = {start}
            for _ in range(length - 1):
                reached |= {place for at in reached for place in near[at]}
            assert end not in reached


def test_the_same_seed_gives_the_same_queries_and_pairs():
    first, again, other = (grid_split(3, 4, 8, seed) for seed in (0, 0, 1))
    assert first.relations == again.relations
    assert (first.train == again.train).all()
    assert first.relations != other.relations


def test_every_pair_is_in_one_part_only():
    split = grid_split(4, 5, 9, max_pairs=20)
    parts = [{tuple(triple) for triple in part.tolist()} for part in (split.train, split.valid, split.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 5 * 20
    assert all(parts)


def test_more_queries_than_there_are_paths_are_refused():
    with pytest.raises(ConfigError, match="32 paths of 2 steps"):
        grid_split(2, 33)


def test_paths_longer_than_the_map_are_refused():
    with pytest.raises(ConfigError, match="too small for paths of 9 steps"):
        grid_split(9, 2, size=9)


# Maps and paths


@pytest.mark.parametrize("size", [2, 3, 7])
def test_every_place_has_as_many_neighbours_as_fit_on_the_map(size):
    near = defaultdict(set)
    for head, _, tail in grid_triples(size):
        near[head].add(tail)
    counts = Counter(len(places) for places in near.values())
    corners, sides, inner = 4, 4 * (size - 2), (size - 2) ** 2
    assert counts == {n: num for n, num in ((3, corners), (5, sides), (8, inner)) if num}


@pytest.mark.parametrize("size", [1, 0, -3])
def test_a_map_without_neighbours_is_refused(size):
    with pytest.raises(ConfigError, match="at least 2 places a side"):
        grid_triples(size)


@pytest.mark.parametrize("length", [1, 2, 3])
def test_all_paths_without_shortcuts_can_be_had_and_are_counted_right(length):
    expected = {
        path
        for path in product(DIRECTIONS, repeat=length)
        if max(abs(sum(DIRECTIONS[step][axis] for step in path)) for axis in (0, 1)) == length
    }
    total = 4 * 3**length - 4
    assert len(expected) == total
    assert set(random_paths(length, total, Random(0))) == expected
    with pytest.raises(ConfigError, match=f"There are {total:,} paths of {length} steps"):
        random_paths(length, total + 1, Random(0))


def test_no_paths_are_refused():
    with pytest.raises(ConfigError, match="not 0"):
        random_paths(2, 0, Random(0))


@pytest.mark.parametrize(("path", "num"), [(("North",), 6 * 5), (("East",) * 5, 6), (("NorthEast",) * 2, 16)])
def test_a_path_has_a_pair_for_every_start_from_which_it_stays_on_the_map(path, num):
    assert len(path_triples(path, 6)) == num


def test_a_path_that_leaves_the_map_on_its_way_has_no_pair_there():
    # From (0,0) the path ends on the map, but its first step does not.
    assert "(0,0)" not in {start for start, _, _ in path_triples(("North", "South"), 4)}


@pytest.mark.parametrize("max_pairs", [3, 10, 30])
def test_a_fifth_of_the_pairs_each_is_held_out_but_at_least_one(max_pairs):
    split = grid_split(1, 2, 7, seed=1, max_pairs=max_pairs)
    held_out = 2 * max(1, round(max_pairs / 5))
    assert len(split.valid) == len(split.test) == held_out
    assert len(split.train) == 2 * max_pairs - 2 * held_out
    assert len(split.facts) == len(grid_triples(7))

from collections import defaultdict
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

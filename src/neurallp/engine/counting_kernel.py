"""The compiled loop behind counting.py."""

import numpy as np
from numba import njit

from ..knowledge import Ids


@njit(nogil=True, cache=True)
def find_operator(offsets: Ids, operators: Ids, entity: int, operator: int) -> tuple[int, int]:
    """Return the range of an entity's edges that belong to one operator."""
    low, high = offsets[entity], offsets[entity + 1]
    start = low + np.searchsorted(operators[low:high], operator)
    stop = start
    while stop < high and operators[stop] == operator:
        stop += 1
    return start, stop


@njit(nogil=True, cache=True)
def follow(
    offsets: Ids, operators: Ids, targets: Ids, sources: list[int], operator: int, seen: Ids, stamp: int
) -> list[int]:
    """Return the distinct entities one operator leads to; `seen` is stamped to tell them apart."""
    reached = [0 for _ in range(0)]
    for source in sources:
        start, stop = find_operator(offsets, operators, source, operator)
        for target in targets[start:stop]:
            if seen[target] != stamp:
                seen[target] = stamp
                reached.append(target)
    return reached


@njit(nogil=True, cache=True)
def count_pairs(
    offsets: Ids, operators: Ids, targets: Ids, body: Ids, goal: int, distinct_ends: bool, seen: Ids
) -> tuple[int, int]:
    """Return (pairs the body predicts, those among them that `goal` links)."""
    predictions = support = 0
    for source in range(len(offsets) - 1):
        ends = [source]
        for depth in range(len(body)):
            ends = follow(offsets, operators, targets, ends, body[depth], seen[0], source * len(body) + depth)
        start, stop = find_operator(offsets, operators, source, goal)
        for answer in targets[start:stop]:
            seen[1, answer] = source
        for answer in ends:
            if not (distinct_ends and answer == source):
                predictions += 1
                support += seen[1, answer] == source
    return predictions, support

"""Compiled loops of support.py: counting pairs and paths."""

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import compiled, kernel, kernel_function


@kernel_function()
def _first_edge(offsets: Ids, operators: Ids, entity: int, operator: int) -> int:
    """Return the first edge of an entity whose operator is not below `operator`."""
    low: int = offsets[entity]
    high: int = offsets[entity + 1]
    while low < high:
        middle = (low + high) // 2
        if operators[middle] < operator:
            low = middle + 1
        else:
            high = middle
    return low


@compiled(nogil=True, cache=True)
def find_operator(offsets: Ids, operators: Ids, entity: int, operator: int) -> tuple[int, int]:
    """Return the range of an entity's edges that belong to one operator."""
    start = stop = _first_edge(offsets, operators, entity, operator)
    while stop < offsets[entity + 1] and operators[stop] == operator:
        stop += 1
    return start, stop


@kernel()
def count_pairs(
    offsets: Ids,
    operators: Ids,
    targets: Ids,
    body: Ids,
    goal: int,
    distinct_ends: bool,
    seen: Ids,
    ends: Ids,
    ways: Floats,
    max_pairs: int,
) -> tuple[int, int, int, float]:
    """Return the number of pairs that the body predicts, and counts of them.

    The counts are how many are edges of `goal`, how many have a source with some edge of `goal`, and the
    paths to them. Stops after the source at which there are `max_pairs`. `seen` (2, entity) marks the
    entities reached and the goal's targets; `ends` (2, entity) holds the entities of this step and of the
    next, `ways` (2, entity) the paths to them. All are given, because numba takes three times as long to
    compile lists.
    """
    predictions = support = answerable = 0
    paths = 0.0
    for source in range(len(offsets) - 1):
        ends[0, 0], ways[0, source] = source, 1.0
        num = 1
        for depth in range(len(body)):
            num_before, num = num, 0
            for i in range(num_before):
                entity = ends[depth % 2, i]
                edge = _first_edge(offsets, operators, entity, body[depth])
                while edge < offsets[entity + 1] and operators[edge] == body[depth]:
                    target = targets[edge]
                    if seen[0, target] != source * len(body) + depth:
                        seen[0, target] = source * len(body) + depth
                        ends[(depth + 1) % 2, num], ways[(depth + 1) % 2, target] = target, 0.0
                        num += 1
                    ways[(depth + 1) % 2, target] += ways[depth % 2, entity]
                    edge += 1
        first = edge = _first_edge(offsets, operators, source, goal)
        while edge < offsets[source + 1] and operators[edge] == goal:
            seen[1, targets[edge]] = source
            edge += 1
        for i in range(num):
            answer = ends[len(body) % 2, i]
            if not (distinct_ends and answer == source):
                predictions += 1
                support += seen[1, answer] == source
                answerable += edge > first
                paths += ways[len(body) % 2, answer]
        if predictions >= max_pairs:
            break
    return predictions, support, answerable, paths


@compiled(nogil=True, cache=True)
def add_paths(
    offsets: Ids, operators: Ids, targets: Ids, body: Ids, differ: Flags, source: int, counts: Ids
) -> list[int]:
    """Add to `counts` (entity) the paths along `body` from `source`, and return the distinct ends.

    `differ[i, j]` requires different entities at positions i < j of a path. Depth first: `path[depth]` is
    the entity at a depth, `edge[depth]` the next edge to try from there.
    """
    ends = [0 for _ in range(0)]
    size = len(body) + 1
    path, edge, stop = np.zeros(size, np.int64), np.zeros(size, np.int64), np.zeros(size, np.int64)
    path[0], depth = source, 0
    if len(body):
        edge[0], stop[0] = find_operator(offsets, operators, source, body[0])
    elif not differ[0, 0]:
        counts[source] = 1
        ends.append(source)
    while depth >= 0:
        if edge[depth] == stop[depth]:
            depth -= 1
            continue
        target = targets[edge[depth]]
        edge[depth] += 1
        if np.any(differ[: depth + 1, depth + 1] & (path[: depth + 1] == target)):
            continue
        if depth + 1 == len(body):
            if counts[target] == 0:
                ends.append(target)
            counts[target] += 1
        else:
            depth += 1
            path[depth] = target
            edge[depth], stop[depth] = find_operator(offsets, operators, target, body[depth])
    return ends


@compiled(nogil=True, cache=True)
def list_counts(offsets: Ids, operators: Ids, targets: Ids, body: Ids, differ: Flags, sources: Ids) -> Ids:
    """Return (row of the source, entity, number of paths) for all entities reached, sorted; (3, found)."""
    counts = np.zeros(len(offsets) - 1, dtype=np.int64)
    found, size = np.empty((3, 1024), dtype=np.int64), 0
    for row in range(len(sources)):
        ends = add_paths(offsets, operators, targets, body, differ, sources[row], counts)
        if size + len(ends) > found.shape[1]:
            wider = np.empty((3, 2 * (size + len(ends))), dtype=np.int64)
            wider[:, :size] = found[:, :size]
            found = wider
        for end in np.sort(np.array(ends)):
            found[0, size], found[1, size], found[2, size] = row, end, counts[end]
            counts[end] = 0
            size += 1
    return found[:, :size]

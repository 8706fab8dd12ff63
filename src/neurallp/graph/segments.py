"""Edges in segments: those of one source entity and one operator, as compiled loops take them.

`sort_edges` makes the segments of facts given by id without holding more than 8 bytes for each edge besides
the result: edges are counted, placed by source, and sorted within each source.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .arrays import Ids
from .compilation import compiled

Small = NDArray[np.int32]
Unsigned = NDArray[np.uint32]  # indices that compiled loops need not test for being negative
Keys = NDArray[np.uint64]  # operator and target of an edge in one number

#: Edges that 4-byte places can number.
MAX_EDGES = 2**31 - 1

#: Bits of a key below its operator.
TARGET_BITS = np.uint64(32)
TARGET_MASK = np.uint64(2**32 - 1)


class CsrSegments(NamedTuple):
    """Edges grouped into segments: the edges of one source entity and one operator."""

    offsets: Small  # (entity + 1,) where each entity's segments begin
    operators: Small  # (segment,)
    starts: Small  # (segment + 1,) where each segment's edges begin
    targets: Unsigned  # (edge,)
    fan_in: Small  # (edge,) number of edges of the same operator with the same target
    operator_offsets: Small  # (operator + 1,) where each operator's segments begin in the next two arrays
    sources: Unsigned  # (segment,) source entities, grouped by operator, ascending within each
    own: Small  # (segment,) the segments of these sources


def sort_edges(
    heads: Small, relations: Small, tails: Small, num_entities: int, num_relations: int
) -> CsrSegments:
    """Return the segments of facts, each fact once, in both directions."""
    if 2 * len(heads) > MAX_EDGES:
        raise DataError(
            f"{len(heads):,} facts are more than one packed folder numbers ({MAX_EDGES // 2:,}). "
            "Pack a part of them, or apply the rules on Spark."
        )
    bounds = np.zeros(num_entities + 1, np.int64)
    _count(heads, tails, bounds)
    keys: Keys = np.empty(2 * len(heads), np.uint64)
    _place(heads, relations, tails, num_relations, bounds[:-1].copy(), keys)
    offsets = np.zeros(num_entities + 1, np.int32)
    num_edges, num_segments = _sort(keys, bounds, offsets)
    columns = (
        np.empty(num_segments, np.int32),
        np.empty(num_segments + 1, np.int32),
        np.empty(num_edges, np.uint32),
    )
    _split(keys, bounds, offsets, *columns)
    return _complete(offsets, columns, num_relations)


def _complete(offsets: Small, columns: tuple[Small, Small, Unsigned], num_relations: int) -> CsrSegments:
    """Return the segments with the arrays that are derived from the others."""
    operators, starts, targets = columns
    operator_offsets = np.zeros(2 * num_relations + 1, np.int32)
    np.cumsum(np.bincount(operators, minlength=2 * num_relations), out=operator_offsets[1:])
    sources, own = np.empty(len(operators), np.uint32), np.empty(len(operators), np.int32)
    _group(offsets, operators, operator_offsets[:-1].copy(), sources, own)
    fan_in = np.empty(len(targets), np.int32)
    _count_arrivals(offsets, operators, starts, targets, num_relations, fan_in)
    return CsrSegments(offsets, operators, starts, targets, fan_in, operator_offsets, sources, own)


@compiled(nogil=True, cache=True)
def _count(heads: Small, tails: Small, bounds: Ids) -> None:
    """Write where the edges of each entity begin."""
    for i in range(len(heads)):
        bounds[heads[i] + 1] += 1
        bounds[tails[i] + 1] += 1
    for entity in range(len(bounds) - 1):
        bounds[entity + 1] += bounds[entity]


@compiled(nogil=True, cache=True)
def _place(heads: Small, relations: Small, tails: Small, num_relations: int, free: Ids, keys: Keys) -> None:
    """Write each edge among those of its source."""
    for i in range(len(heads)):
        head, relation, tail = np.uint64(heads[i]), np.uint64(relations[i]), np.uint64(tails[i])
        keys[free[heads[i]]] = relation << TARGET_BITS | tail
        free[heads[i]] += 1
        keys[free[tails[i]]] = relation + np.uint64(num_relations) << TARGET_BITS | head
        free[tails[i]] += 1


@compiled(nogil=True, cache=True)
def _sort(keys: Keys, bounds: Ids, offsets: Small) -> tuple[int, int]:
    """Sort each entity's edges and drop repetitions in place; return the numbers of edges and segments."""
    num_edges, num_segments, start = 0, 0, 0
    for entity in range(len(bounds) - 1):
        stop = bounds[entity + 1]
        own = keys[start:stop]
        if len(own) > 1:
            own.sort()
        bounds[entity], operator = num_edges, np.uint64(2**32)
        for i in range(len(own)):
            key = own[i]
            if i > 0 and key == keys[num_edges - 1]:
                continue
            keys[num_edges] = key
            num_edges += 1
            if key >> TARGET_BITS != operator:
                operator = key >> TARGET_BITS
                num_segments += 1
        offsets[entity + 1], start = num_segments, stop
    bounds[len(bounds) - 1] = num_edges
    return num_edges, num_segments


@compiled(nogil=True, cache=True)
def _split(
    keys: Keys, bounds: Ids, offsets: Small, operators: Small, starts: Small, targets: Unsigned
) -> None:
    """Write the segments of sorted edges."""
    for entity in range(len(bounds) - 1):
        segment = offsets[entity] - 1
        for edge in range(bounds[entity], bounds[entity + 1]):
            operator = np.int32(keys[edge] >> TARGET_BITS)
            if edge == bounds[entity] or operator != operators[segment]:
                segment += 1
                operators[segment], starts[segment] = operator, edge
            targets[edge] = np.uint32(keys[edge] & TARGET_MASK)
    starts[len(starts) - 1] = len(targets)


@compiled(nogil=True, cache=True)
def _group(offsets: Small, operators: Small, free: Small, sources: Unsigned, own: Small) -> None:
    """Write the segments by operator, with their sources."""
    for entity in range(len(offsets) - 1):
        for segment in range(offsets[entity], offsets[entity + 1]):
            place = free[operators[segment]]
            free[operators[segment]] += 1
            sources[place], own[place] = entity, segment


@compiled(nogil=True, cache=True)
def _count_arrivals(
    offsets: Small, operators: Small, starts: Small, targets: Unsigned, num_relations: int, fan_in: Small
) -> None:
    """Write the size of the inverse segment of each edge."""
    for segment in range(len(operators)):
        inverse = (operators[segment] + num_relations) % (2 * num_relations)
        for edge in range(starts[segment], starts[segment + 1]):
            low, high = offsets[targets[edge]], offsets[targets[edge] + 1] - 1
            while low < high:
                middle = (low + high) >> 1
                if operators[middle] < inverse:
                    low = middle + 1
                else:
                    high = middle
            fan_in[edge] = starts[low + 1] - starts[low]


@compiled(nogil=True, cache=True)
def count_shared(offsets: Small, operators: Small, shared: Any) -> None:
    """Add 1 to `shared`, (operator, operator), for each entity that has edges of both operators."""
    for entity in range(len(offsets) - 1):
        for i in range(offsets[entity], offsets[entity + 1]):
            for j in range(offsets[entity], offsets[entity + 1]):
                shared[operators[i], operators[j]] += 1

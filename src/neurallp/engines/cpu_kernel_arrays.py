"""The arrays that the kernels of the CPU engine work on."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Flags, Floats, Ids

Small = NDArray[np.uint32]  # half the traffic of 64 bits, and unsigned: numba adds no test for -1

#: Entities that share one flag: whether any of them has a score.
BLOCK = 32


class Graph(NamedTuple):
    """Edges in segments: the edges of one source and one operator."""

    offsets: Small  # (entity + 1,) the first segment of each entity
    segments: (
        Small  # (segment, 5): operator, its inverse, first edge, end, number of edges that a total counts
    )
    targets: Small  # (edge,)
    segment_of: Small  # (edge,)


class Workspace(NamedTuple):
    """The values of one query; `memories`, `adjoints`, `scores` and flags are zero between queries."""

    memories: Floats  # (entity, T + 1): u_t before division; of a last step that only counts, what it reads
    adjoints: Floats  # (entity, T + 1): gradients of the memories
    touched: Small  # entities in order of first touch
    seen: Flags  # (entity,) whether touched
    reached: Ids  # (T + 1,) how many were touched by step t
    totals: Floats  # (T + 1,) the sum of each memory
    weights: Floats  # (T + 2, slot): memory attention over each memory's sum; in the last row 1 over it
    scores: Floats  # (entity,) the sum over controllers
    blocks: Flags  # (block,) whether a block of entities has scores

    @classmethod
    def of(cls, num_entities: int, num_steps: int) -> "Workspace":
        """Return an empty workspace.

        The slots of an entity are adjacent, so that visiting an entity reads few cache lines.
        """
        size = num_steps + 1
        slots = np.zeros((max(2, num_entities), 2 * size))  # numba has another type for one row
        return cls(
            memories=slots[:, :size],
            adjoints=slots[:, size:],
            touched=zeros(num_entities),
            seen=np.zeros(num_entities, bool),
            reached=np.zeros(size, np.int64),
            totals=np.zeros(size),
            weights=np.zeros((size + 1, size)),
            scores=np.zeros(num_entities),
            blocks=np.zeros(-(-num_entities // BLOCK), bool),
        )


class Task(NamedTuple):
    """The queries of a call, and their attention."""

    sources: Small
    rows: Ids
    masks: Ids  # (mask, n): edges to mask, ascending; -1 stands for none
    mask_rows: Ids  # (query,) the mask of each
    operator: Floats  # (controller, row, step, operator)
    memory: Floats  # (controller, row, step + 1, slot)
    normalize: bool
    may_return: bool


class Pairs(NamedTuple):
    """The entities whose scores are wanted, grouped by query, and the gradients of these scores."""

    offsets: Ids  # (query + 1,)
    entities: Small
    gradients: Floats
    total_gradients: Floats  # (query,)

    @classmethod
    def none(cls, num_queries: int) -> "Pairs":
        """Return no pairs for some queries."""
        return cls(np.zeros(num_queries + 1, np.int64), zeros(0), np.zeros(0), np.zeros(num_queries))


class Outputs(NamedTuple):
    """The arrays that results are added to; the gradients have one unused row where none are wanted."""

    scores: Floats  # (pair,)
    totals: Floats  # (query,)
    operator: Floats  # (query, controller, step, operator): gradients
    memory: Floats  # (query, controller, step + 1, slot)


class SparseScores(NamedTuple):
    """The scores that are not 0, query by query; empty where only pairs are scored."""

    ends: Ids  # (query + 1,) the first is 0
    entities: Ids
    values: Floats

    @classmethod
    def of(cls, num_queries: int, num_entities: int) -> "SparseScores":
        """Return space for some queries; only the pages that are written to take memory."""
        size = num_queries * num_entities
        return cls(np.zeros(num_queries + 1, np.int64), np.empty(size, np.int64), np.empty(size))


def zeros(shape: int | tuple[int, int]) -> Small:
    """Return zeros of the small type."""
    return np.zeros(shape, np.uint32)

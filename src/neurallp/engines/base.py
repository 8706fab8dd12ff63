"""The protocol of the engines: what they take, a batch of queries, and what they return, scores."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from torch import Tensor

from ..controller.attention import Attention
from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.scores import Scores


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Queries to score: the source of each, its row of the attention, and the edges masked for it."""

    sources: Ids  # (query,)
    rows: Ids  # (query,) the row of Attention that belongs to it
    masks: Ids  # (mask, n) edges to mask, ascending; -1 stands for none
    mask_rows: Ids  # (query,) the row of `masks` that applies to it
    may_return: bool = True  # False: nothing arrives at the source again, so no path returns to it

    @classmethod
    def unmasked(cls, sources: Ids, rows: Ids, *, may_return: bool = True) -> "QueryBatch":
        """Return queries that may use every edge."""
        none = np.zeros((1, 0), dtype=np.int64)
        return cls(sources, rows, none, np.zeros(len(sources), dtype=np.int64), may_return)

    @classmethod
    def masked(cls, sources: Ids, rows: Ids, edges: Ids, mask_rows: Ids | None = None) -> "QueryBatch":
        """Return queries that may not use the edges in one row of `edges`; -1 stands for no edge.

        `mask_rows` gives the row for each query; without it, query i takes row i. Mask both edges of a fact
        or neither: engines find the edges into an entity as the inverses of the edges out of it.
        """
        edges = np.sort(edges, axis=1)
        edges[:, 1:][edges[:, 1:] == edges[:, :-1]] = -1
        return cls(sources, rows, edges, np.arange(len(sources)) if mask_rows is None else mask_rows)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def masked_pairs(self) -> tuple[Ids, Ids]:
        """Every (query, edge) where the edge is masked for the query, query by query."""
        edges = self.masks[self.mask_rows]
        queries, places = np.nonzero(edges >= 0)
        return queries, edges[queries, places]

    def __getitem__(self, part: slice) -> "QueryBatch":
        return replace(self, sources=self.sources[part], rows=self.rows[part], mask_rows=self.mask_rows[part])


@dataclass(frozen=True, eq=False)
class ScoresWithBackward:
    """Scores of (query, entity) pairs, and a function that maps their gradients to those of the inputs."""

    scores: Tensor  # (pair,)
    totals: Tensor  # (query,) the sum over all entities
    #: Takes the gradients of scores and of totals (None: all 0); may be called once.
    backward: Callable[[Tensor, Tensor | None], tuple[Tensor, ...]]


class Engine(Protocol):
    """Applies attention to memories (eqs. 6-8); all engines give equal scores and gradients."""

    operators: Operators

    def pair_scores(
        self, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (query, entity) pairs, and each query's sum over all entities.

        Autograd can differentiate both with respect to the attention.
        """
        ...

    def scores(self, attention: Attention, batch: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities, without gradients."""
        ...

    def bytes_needed(self, num_queries: int, *, num_steps: int, num_controllers: int) -> int:
        """Return an estimate of the peak memory of `pair_scores` and its gradients in float32, in bytes."""
        ...

"""What every engine is given and gives back: walks to do, and the scores they end in."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from ..controller.attention import Attention
from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.scores import Scores


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """Queries to score: the source of each, its row of the attention, and the edges masked for it."""

    sources: Ids  # (walk,)
    rows: Ids  # (walk,) the row of Attention to follow
    hidden: Ids  # (list, n) edges to hide, ascending; -1 stands for none
    lists: Ids  # (walk,) the row of `hidden` to obey
    may_return: bool = True  # False: nothing arrives at the source again, so no path comes back to it

    @classmethod
    def unmasked(cls, sources: Ids, rows: Ids, *, may_return: bool = True) -> "QueryBatch":
        """Return walks that may use every edge."""
        none = np.zeros((1, 0), dtype=np.int64)
        return cls(sources, rows, none, np.zeros(len(sources), dtype=np.int64), may_return)

    @classmethod
    def masked(cls, sources: Ids, rows: Ids, edges: Ids, lists: Ids | None = None) -> "QueryBatch":
        """Return walks of which each may not use one row of `edges`; -1 stands for no edge.

        `lists` says which row; without it, walk w obeys row w. Hide both edges of a fact or neither: engines
        read the edges into an entity off the edges out of it.
        """
        edges = np.sort(edges, axis=1)
        edges[:, 1:][edges[:, 1:] == edges[:, :-1]] = -1
        return cls(sources, rows, edges, np.arange(len(sources)) if lists is None else lists)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def masked_pairs(self) -> tuple[Ids, Ids]:
        """Every (walk, edge) where the edge is hidden from the walk, walk by walk."""
        edges = self.hidden[self.lists]
        walks, places = np.nonzero(edges >= 0)
        return walks, edges[walks, places]

    def __getitem__(self, part: slice) -> "QueryBatch":
        return replace(self, sources=self.sources[part], rows=self.rows[part], lists=self.lists[part])


@dataclass(frozen=True, eq=False)
class ScoresWithBackward:
    """Scores of (walk, entity) pairs, and the way back from them, which is taken at most once."""

    scores: Tensor  # (pair,)
    totals: Tensor  # (walk,) the sum over all entities
    #: Takes the gradients to scores and totals, None for none to any; returns those to what was given.
    backward: Callable[[Tensor, Tensor | None], tuple[Tensor, ...]]


class Engine(Protocol):
    """Applies attention to memories (eqs. 6-8); all engines give equal scores and gradients."""

    operators: Operators

    def pair_scores(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (walk, entity) pairs, and each walk's sum over all entities.

        Both carry gradients to the attention.
        """
        ...

    def score_with_backward(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> ScoresWithBackward:
        """Return the same without torch's autograd, whose books cost as much as a small batch's walks.

        The way back leads to the gradients to both attentions.
        """
        ...

    def scores(self, attention: Attention, walks: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities, without gradients."""
        ...

    def bytes_needed(self, num_walks: int, *, num_steps: int, num_controllers: int) -> int:
        """Return the bytes held at the peak of `pair_scores` and its gradients, about, in float32."""
        ...


class ByAutograd:
    """The way back of engines whose steps torch records."""

    def score_with_backward(
        self: Engine, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> ScoresWithBackward:
        """Return the scores of given pairs, each walk's total, and the way back to the attention."""
        with torch.inference_mode(False), torch.enable_grad():
            given = Attention(*(each.detach().clone().requires_grad_() for each in attention.pair))
            scores, totals = self.pair_scores(given, walks, rows, entities, normalize=normalize)

        def back(to_scores: Tensor, to_totals: Tensor | None) -> tuple[Tensor, ...]:
            rest = torch.zeros_like(totals) if to_totals is None else to_totals
            with torch.inference_mode(False):
                return torch.autograd.grad((scores, totals), given.pair, (to_scores.clone(), rest.clone()))

        return ScoresWithBackward(scores.detach(), totals.detach(), back)

"""The equations as they stand: readable, dense, on any device. Other engines must equal it."""

import torch
from torch import Tensor

from ..controller.attention import Attention
from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import ByAutograd, QueryBatch

# An unreachable memory sums to exactly 0; dividing by this instead leaves it 0.
SMALLEST_SUM = 1e-20

# Bounds the (edge, walk) messages of one hop when all scores are asked for.
MESSAGES_AT_ONCE = 20_000_000


class ReferenceEngine(ByAutograd):
    """Keeps every memory as a dense (entity, walk) block and sends one message per edge and walk."""

    def __init__(self, operators: Operators, device: str = "cpu") -> None:
        self.operators = operators
        self.device = torch.device(device)
        self._sources = self._tensor(operators.sources)
        self._operators = self._tensor(operators.operators)
        self._targets = self._tensor(operators.targets)

    def _tensor(self, ids: Ids) -> Tensor:
        return torch.as_tensor(ids, device=self.device)

    def hop(self, operator: Tensor, memory: Tensor, walks: QueryBatch) -> Tensor:
        """Return sum_k a^k M_k u for every walk; `operator` is (operator, walk), `memory` (entity, walk)."""
        messages = memory[self._sources] * operator[self._operators]
        if walks.hidden.size:
            rows, edges = map(self._tensor, walks.masked_pairs)
            # Set to zero rather than subtracted: a difference would leave rounding noise behind.
            messages[edges, rows] = 0.0
        reached = torch.zeros_like(memory).index_add(0, self._targets, messages)
        return reached if walks.may_return else reached * (1 - self._start(walks, memory))

    def infer(self, attention: Attention, walks: QueryBatch, *, normalize: bool) -> Tensor:
        """Return u_{T+1} of every walk, (entity, walk), summed over ranks (eqs. 6-8)."""
        rows = self._tensor(walks.rows)
        ranks = zip(attention.operator, attention.memory, strict=True)
        return torch.stack([self._infer_rank(a[rows], b[rows], walks, normalize) for a, b in ranks]).sum(0)

    def _infer_rank(self, a: Tensor, b: Tensor, walks: QueryBatch, normalize: bool) -> Tensor:
        memories = [self._start(walks, a)]  # eq. 6
        for t in range(a.shape[1]):  # eq. 7
            read = _read(memories, b[:, t])
            memories.append(_normalized(self.hop(a[:, t].T, read, walks), normalize))
        return _read(memories, b[:, -1])  # eq. 8

    def _start(self, walks: QueryBatch, like: Tensor) -> Tensor:
        one_hot = like.new_zeros(self.operators.num_entities, len(walks))
        one_hot[self._tensor(walks.sources), torch.arange(len(walks), device=self.device)] = 1.0
        return one_hot

    def pair_scores(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (walk, entity) pairs, and each walk's sum over all entities."""
        final = self.infer(attention, walks, normalize=normalize)
        return final[self._tensor(entities), self._tensor(rows)], final.sum(0)

    def bytes_needed(self, num_walks: int, *, num_steps: int, num_controllers: int) -> int:
        """Return 4 bytes for two messages an edge and three memories an entity, at each step and rank."""
        a_step = 2 * self.operators.num_edges + 3 * self.operators.num_entities
        return 4 * num_walks * num_steps * num_controllers * a_step

    @torch.no_grad()
    def scores(self, attention: Attention, walks: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities, a bounded number of walks at a time."""
        at_once = max(1, MESSAGES_AT_ONCE // max(1, self.operators.num_edges))
        parts = [
            self.infer(attention, walks[start : start + at_once], normalize=normalize).T
            for start in range(0, len(walks), at_once)
        ]
        none = torch.zeros(0, self.operators.num_entities, dtype=attention.operator.dtype)
        return Scores.of_dense(torch.cat([none.to(self.device), *parts]).cpu().numpy())


def _read(memories: list[Tensor], weights: Tensor) -> Tensor:
    """Return sum_tau b^tau u_tau; `weights` is (walk, slot), of which the first len(memories) exist."""
    return torch.stack([weights[:, s] * memory for s, memory in enumerate(memories)]).sum(0)


def _normalized(memory: Tensor, normalize: bool) -> Tensor:
    if not normalize:
        return memory
    total = memory.sum(0)
    # Divide an empty memory by 1: a tiny divisor would leave it 0 too, but blow up its gradient.
    return memory / torch.where(total > 0, total.clamp(min=SMALLEST_SUM), 1.0)

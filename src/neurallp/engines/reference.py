"""The equations as the paper writes them: readable, dense, on any device. Other engines must equal it."""

import torch
from torch import Tensor

from ..controller.attention import Attention
from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import QueryBatch

# The sum of a memory that reaches nothing is exactly 0; smaller sums than this are rounding noise.
SMALLEST_SUM = 1e-20

# Bounds the (edge, query) messages of one step when all scores are asked for.
MESSAGES_AT_ONCE = 20_000_000


class ReferenceEngine:
    """Keeps every memory as a dense (entity, query) tensor and sends one message per edge and query."""

    def __init__(self, operators: Operators, device: str = "cpu") -> None:
        self.operators = operators
        self.device = torch.device(device)
        self._sources = self._tensor(operators.sources)
        self._operators = self._tensor(operators.operators)
        self._targets = self._tensor(operators.targets)

    def _tensor(self, ids: Ids) -> Tensor:
        return torch.as_tensor(ids, device=self.device)

    def apply_operators(self, operator: Tensor, memory: Tensor, batch: QueryBatch) -> Tensor:
        """Return sum_k a^k M_k u of every query; `operator` (operator, query), `memory` (entity, query)."""
        messages = memory[self._sources] * operator[self._operators]
        if batch.masks.size:
            rows, edges = map(self._tensor, batch.masked_pairs)
            # Set to zero rather than subtracted: a difference would leave rounding noise behind.
            messages[edges, rows] = 0.0
        reached = torch.zeros_like(memory).index_add(0, self._targets, messages)
        return reached if batch.may_return else reached * (1 - self._start(batch, memory))

    def infer(self, attention: Attention, batch: QueryBatch, *, normalize: bool) -> Tensor:
        """Return u_{T+1} of every query, (entity, query), summed over parallel controllers (eqs. 6-8)."""
        rows = self._tensor(batch.rows)
        controllers = zip(attention.operator, attention.memory, strict=True)
        return torch.stack([self._infer_one(a[rows], b[rows], batch, normalize) for a, b in controllers]).sum(
            0
        )

    def _infer_one(self, a: Tensor, b: Tensor, batch: QueryBatch, normalize: bool) -> Tensor:
        """Return u_{T+1} of one controller; `a` is (query, step, operator), `b` (query, step, slot)."""
        memories = [self._start(batch, a)]  # eq. 6
        for t in range(a.shape[1]):  # eq. 7
            memory = self.apply_operators(a[:, t].T, read_memories(memories, b[:, t].T), batch)
            memories.append(divide_by_sum(memory) if normalize else memory)
        return read_memories(memories, b[:, -1].T)  # eq. 8

    def _start(self, batch: QueryBatch, like: Tensor) -> Tensor:
        """Return u_0: 1 at the source of each query."""
        one_hot = like.new_zeros(self.operators.num_entities, len(batch))
        one_hot[self._tensor(batch.sources), torch.arange(len(batch), device=self.device)] = 1.0
        return one_hot

    def pair_scores(
        self, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (query, entity) pairs, and each query's sum over all entities."""
        final = self.infer(attention, batch, normalize=normalize)
        return final[self._tensor(entities), self._tensor(rows)], final.sum(0)

    def bytes_needed(self, num_queries: int, *, num_steps: int, num_controllers: int) -> int:
        """Return 4 bytes for two messages per edge and three memories per entity, step and controller."""
        one_step = 2 * self.operators.num_edges + 3 * self.operators.num_entities
        return 4 * num_queries * num_steps * num_controllers * one_step

    @torch.no_grad()
    def scores(self, attention: Attention, batch: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities; a bounded number of queries is scored at a time."""
        at_once = max(1, MESSAGES_AT_ONCE // max(1, self.operators.num_edges))
        parts = [
            self.infer(attention, batch[start : start + at_once], normalize=normalize).T
            for start in range(0, len(batch), at_once)
        ]
        none = torch.zeros(0, self.operators.num_entities, dtype=attention.operator.dtype)
        return Scores.of_dense(torch.cat([none.to(self.device), *parts]).cpu().numpy())


def read_memories(memories: list[Tensor], weights: Tensor) -> Tensor:
    """Return sum_tau b^tau u_tau; `weights` is (slot, query), of which the first len(memories) exist."""
    total = weights[0] * memories[0]
    for weight, memory in zip(weights[1:], memories[1:], strict=False):
        total = torch.addcmul(total, weight, memory)
    return total


def divide_by_sum(memory: Tensor) -> Tensor:
    """Return the memory of every query divided by its sum, (entity, query)."""
    total = memory.sum(0)
    # An empty memory is divided by 1: a tiny divisor would leave it 0 too, but its gradient would overflow.
    return memory / torch.where(total > 0, total.clamp(min=SMALLEST_SUM), 1.0)


def runs_on(device: str) -> bool:
    """Return whether the engine runs on a device: on every one that torch knows."""
    return True


def make(operators: Operators, device: str) -> ReferenceEngine:
    """Return the engine for `make_engine`."""
    return ReferenceEngine(operators, device)

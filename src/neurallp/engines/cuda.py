"""The GPU engine: dense memories, one fused pass over the edges a hop, bit-identical over runs."""

import os
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from ..controller.attention import Attention
from ..errors import ConfigError
from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import ByAutograd, QueryBatch
from .reference import SMALLEST_SUM

# QueryBatch go in blocks of this many: one warp reads a block's row with 16 bytes a lane.
BLOCK = 128

# A row with more edges than this is shared out among several warps; one warp would hold up the rest.
LONG_ROW = 256
SHORT = {"tile_edges": 4, "num_warps": 1}
LONG = {"tile_edges": 32, "num_warps": 8}

# Up to this many hidden edges a walk it is quicker to compare every edge with them than to ask whether to.
FEW_HIDDEN = 4

# What one call may take of the GPU's memory.
MAX_BYTES = 8 << 30


class CudaEngine(ByAutograd):
    """Keeps every memory as a dense (entity, walk) block on the GPU and sums along lists of edges.

    One call takes up to 4 bytes x (entities + operators) x walks x ((3 ranks + 1) T + 7), T the number of
    steps. QueryBatch that would take more than `max_bytes` are done in parts, each again for its gradient.
    """

    def __init__(self, operators: Operators, device: str = "cuda", max_bytes: int = MAX_BYTES) -> None:
        self.operators = operators
        self.device = torch.device(device)
        self.max_bytes = max_bytes
        _require_triton(self.device)
        self._graph = _Graph.of(operators, self.device)

    def _tensor(self, ids: Ids) -> Tensor:
        return torch.as_tensor(ids, device=self.device)

    def pair_scores(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (walk, entity) pairs, and each walk's sum over all entities."""
        score = partial(self._pair_scores, normalize=normalize)
        given = attention.operator, attention.memory
        parts = self._parts(attention, walks)
        if len(parts) == 1:
            return score(*given, walks, rows, entities)
        scores, sums, places = [], [], []
        for part in parts:
            mine = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            inputs = *given, walks[part], rows[mine] - part.start, entities[mine]
            pairs, total = checkpoint(score, *inputs, use_reentrant=False, preserve_rng_state=False)
            scores.append(pairs)
            sums.append(total)
            places.append(mine)
        back = np.argsort(np.concatenate(places))
        return torch.cat(scores)[self._tensor(back)], torch.cat(sums)

    def _pair_scores(
        self,
        operator: Tensor,
        memory: Tensor,
        walks: QueryBatch,
        rows: Ids,
        entities: Ids,
        *,
        normalize: bool,
    ) -> tuple[Tensor, Tensor]:
        final = self._infer(Attention(operator, memory), walks, normalize)
        return final[self._tensor(entities), self._tensor(rows)], final.sum(0)

    @torch.no_grad()
    def scores(self, attention: Attention, walks: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities; only what is not 0 leaves the GPU."""
        finals = (self._infer(attention, walks[part], normalize) for part in self._parts(attention, walks))
        counts, entities, values = zip(*(_sparse_rows(final.T) for final in finals), strict=True)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Scores(self.operators.num_entities, offsets, np.concatenate(entities), np.concatenate(values))

    def bytes_needed(self, num_walks: int, *, num_steps: int, num_controllers: int) -> int:
        """Return the formula above for as many walks as are done at once."""
        a_block = self._block_bytes(num_steps, num_controllers)
        return a_block * min(-(-num_walks // BLOCK), self._blocks_at_once(a_block))

    def _block_bytes(self, num_steps: int, num_controllers: int, element_size: int = 4) -> int:
        num_memories = (3 * num_controllers + 1) * num_steps + 7
        return (
            element_size * (self.operators.num_entities + self.operators.num_operators) * BLOCK * num_memories
        )

    def _blocks_at_once(self, block_bytes: int) -> int:
        return max(1, self.max_bytes // max(1, block_bytes))

    def _parts(self, attention: Attention, walks: QueryBatch) -> list[slice]:
        element_size = attention.operator.element_size()
        a_block = self._block_bytes(attention.num_steps, attention.num_controllers, element_size)
        at_once = self._blocks_at_once(a_block) * BLOCK
        starts = range(0, max(1, len(walks)), at_once)
        return [slice(start, min(start + at_once, len(walks))) for start in starts]

    def _infer(self, attention: Attention, walks: QueryBatch, normalize: bool) -> Tensor:
        """Return u_{T+1} of every walk, (entity, walk), summed over ranks (eqs. 6-8)."""
        attention = Attention(
            *(each.to(self.device) for each in attention.pair)
        )  # models may live on the CPU
        hop = partial(_Hop.apply, self._graph, _Hidden.of(walks, self.operators.num_edges, self.device))
        # QueryBatch that only fill the last block start nowhere, so all their memories are 0.
        rows = self._tensor(np.pad(walks.rows, (0, -len(walks) % BLOCK)))
        start = self._start(walks, attention.operator.new_zeros(self.operators.num_entities, len(rows)))
        # What may arrive where: 0 at the source of a walk that may not return.
        open_to = None if walks.may_return else 1 - start
        total = torch.zeros_like(start)
        for operator, memory in zip(attention.operator, attention.memory, strict=True):
            a, b = operator.permute(1, 2, 0)[..., rows], memory.permute(1, 2, 0)[..., rows]
            total = total + _infer_rank(hop, a, b, start, open_to, normalize)
        return total[:, : len(walks)]

    def _start(self, walks: QueryBatch, zeros: Tensor) -> Tensor:
        zeros[self._tensor(walks.sources), torch.arange(len(walks), device=self.device)] = 1.0
        return zeros


def _infer_rank(
    hop: Any, a: Tensor, b: Tensor, start: Tensor, open_to: Tensor | None, normalize: bool
) -> Tensor:
    """Return u_{T+1}; `a` is (step, operator, walk), `b` (step, slot, walk)."""
    memories = [start]  # eq. 6
    for t in range(len(a)):  # eq. 7
        # The first read is b u_0. Scaled after the hop, u_0 stays constant: its gradient would cost a hop.
        memory = hop(a[t], _read(memories, b[t])) if t else b[0, 0] * hop(a[0], start)
        memory = memory if open_to is None else memory * open_to
        memories.append(_normalized(memory) if normalize else memory)
    return _read(memories, b[-1])  # eq. 8


def _normalized(memory: Tensor) -> Tensor:
    """Return every walk's memory divided by its sum."""
    total = memory.sum(0)
    # By 1 where nothing is reached: by the smallest sum, gradients would overflow within two steps.
    return memory / torch.where(total > 0, total.clamp(min=SMALLEST_SUM), 1.0)


def _read(memories: list[Tensor], weights: Tensor) -> Tensor:
    """Return sum_tau b^tau u_tau; `weights` is (slot, walk), of which the first len(memories) exist."""
    total = weights[0] * memories[0]
    for weight, memory in zip(weights[1:], memories[1:], strict=False):
        total = torch.addcmul(total, weight, memory)
    return total


def _sparse_rows(dense: Tensor) -> tuple[Ids, Ids, Any]:
    """Return how many entries of each row are not 0, their columns and their values."""
    rows, columns = dense.nonzero(as_tuple=True)
    counts, values = dense.count_nonzero(1), dense[rows, columns]
    return counts.cpu().numpy(), columns.cpu().numpy(), values.cpu().numpy()


class _Hop(torch.autograd.Function):
    """sum_k a^k M_k u for every walk, and its gradients: sums over the same edges, listed three ways."""

    @staticmethod
    def forward(
        ctx: Any, graph: "_Graph", hidden: "_Hidden | None", operator: Tensor, memory: Tensor
    ) -> Tensor:
        operator = operator.contiguous()
        ctx.graph, ctx.hidden = graph, hidden
        ctx.save_for_backward(operator, memory)
        return graph.into.sum_products(operator, memory, hidden)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor | None, Tensor | None]:
        operator, memory = ctx.saved_tensors
        gradient = gradient.contiguous()
        _, _, operator_due, memory_due = ctx.needs_input_grad
        of_operator = ctx.graph.along.sum_products(gradient, memory, ctx.hidden) if operator_due else None
        of_memory = ctx.graph.out_of.sum_products(operator, gradient, ctx.hidden) if memory_due else None
        return None, None, of_operator, of_memory


@dataclass(frozen=True, eq=False)
class _EdgeLists:
    """The edges listed by row; each pairs a row of a left and of a right (…, walk) table."""

    long_rows: Tensor
    short_rows: Tensor
    offsets: Tensor  # (row + 1,)
    left_ids: Tensor  # (edge,)
    right_ids: Tensor  # (edge,)
    edge_ids: Tensor  # (edge,)

    @classmethod
    def by(cls, keys: Ids, left: Ids, right: Ids, num_rows: int, device: torch.device) -> "_EdgeLists":
        """Return the lists of equal `keys`."""
        # Equal left ids side by side: the row they share is then read from the L1 cache.
        order = np.lexsort((right, left, keys))
        offsets = np.searchsorted(keys[order], np.arange(num_rows + 1))
        lengths = np.diff(offsets)
        longest_first = np.argsort(-lengths, kind="stable")
        num_long = np.count_nonzero(lengths > LONG_ROW)
        ids = (longest_first[:num_long], longest_first[num_long:], offsets, left[order], right[order], order)
        return cls(*(torch.as_tensor(each, dtype=torch.int32, device=device) for each in ids))

    def sum_products(self, left: Tensor, right: Tensor, hidden: "_Hidden | None") -> Tensor:
        """Return (row, walk): the sum of left times right over a row's edges, save those the walk hides."""
        from .cuda_kernels import sum_products

        num_walks = right.shape[1]
        out = right.new_empty(len(self.offsets) - 1, num_walks)
        slots, flags = (hidden.edges, hidden.flags) if hidden else (None, None)
        for rows, tuning in ((self.long_rows, LONG), (self.short_rows, SHORT)):
            with torch.cuda.device_of(out):  # type: ignore[no-untyped-call]
                sum_products[len(rows), num_walks // BLOCK](
                    out,
                    left,
                    right,
                    rows,
                    self.offsets,
                    self.left_ids,
                    self.right_ids,
                    self.edge_ids,
                    slots,
                    flags,
                    0 if slots is None else len(slots),
                    len(self.edge_ids),
                    num_walks,
                    block_walks=BLOCK,
                    **tuning,
                )
        return out


@dataclass(frozen=True, eq=False)
class _Graph:
    """The edges listed by where they lead, by where they start, and by operator."""

    into: _EdgeLists  # by target: operator, source
    out_of: _EdgeLists  # by source: operator, target
    along: _EdgeLists  # by operator: target, source

    @classmethod
    def of(cls, operators: Operators, device: torch.device) -> "_Graph":
        sources, along, targets = operators.sources, operators.operators, operators.targets
        return cls(
            _EdgeLists.by(targets, along, sources, operators.num_entities, device),
            _EdgeLists.by(sources, along, targets, operators.num_entities, device),
            _EdgeLists.by(along, targets, sources, operators.num_operators, device),
        )


@dataclass(frozen=True, eq=False)
class _Hidden:
    """The edges that walks hide. Flags spare many comparisons where no walk of a block hides the edge."""

    edges: Tensor  # (slot, walk), -1 for none
    flags: Tensor | None  # (block, edge)

    @classmethod
    def of(cls, walks: QueryBatch, num_edges: int, device: torch.device) -> "_Hidden | None":
        if not walks.hidden.size:
            return None
        num_blocks = -(-len(walks) // BLOCK)
        table = np.full((walks.hidden.shape[1], num_blocks * BLOCK), -1, dtype=np.int32)
        table[:, : len(walks)] = walks.hidden[walks.lists].T
        edges = torch.as_tensor(table, device=device)
        if len(table) <= FEW_HIDDEN:
            return cls(edges, None)
        flags = torch.zeros(num_blocks, num_edges, dtype=torch.int8, device=device)
        rows, hidden = (torch.as_tensor(ids, device=device) for ids in walks.masked_pairs)
        flags[rows // BLOCK, hidden] = 1
        return cls(edges, flags)


def _require_triton(device: torch.device) -> None:
    if find_spec("triton") is None:
        raise ConfigError("The cuda engine needs triton: pip install triton, or choose another engine.")
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not (torch.cuda.is_available() if device.type == "cuda" else interpreted):
        raise ConfigError(f"The cuda engine finds no GPU under {str(device)!r}. Choose another engine.")

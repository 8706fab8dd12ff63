"""The GPU engine: dense memories, one fused pass over the edges per step, bit-identical over runs."""

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
from .base import QueryBatch
from .reference import divide_by_sum, read_memories

# Queries per block: one warp reads the row of a block with 16 bytes per lane.
BLOCK = 128

# A row with more edges than this is divided among several warps; one warp would delay the rest.
LONG_ROW = 256
SHORT = {"tile_edges": 4, "num_warps": 1}
LONG = {"tile_edges": 32, "num_warps": 8}

# Up to this many masked edges per query, comparing every edge with them is faster than reading flags first.
FEW_MASKED = 4

# The GPU memory that one call may use.
MAX_BYTES = 8 << 30


class CudaEngine:
    """Keeps every memory as a dense (entity, query) tensor on the GPU and sums along lists of edges.

    One call takes up to 4 bytes x (entities + operators) x queries x ((3 controllers + 1) T + 7), T the
    number of steps. Queries that would take more than `max_bytes` are scored in parts, and each part is
    computed again for its gradient.
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
        self, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (query, entity) pairs, and each query's sum over all entities."""
        score = partial(self._pair_scores, normalize=normalize)
        given = attention.operator, attention.memory
        parts = self._parts(attention, batch)
        if len(parts) == 1:
            return score(*given, batch, rows, entities)
        scores, sums, places = [], [], []
        for part in parts:
            mine = np.flatnonzero((rows >= part.start) & (rows < part.stop))
            inputs = *given, batch[part], rows[mine] - part.start, entities[mine]
            pairs, total = checkpoint(score, *inputs, use_reentrant=False, preserve_rng_state=False)
            scores.append(pairs)
            sums.append(total)
            places.append(mine)
        order = np.argsort(np.concatenate(places))
        return torch.cat(scores)[self._tensor(order)], torch.cat(sums)

    def _pair_scores(
        self,
        operator: Tensor,
        memory: Tensor,
        batch: QueryBatch,
        rows: Ids,
        entities: Ids,
        *,
        normalize: bool,
    ) -> tuple[Tensor, Tensor]:
        final = self._infer(Attention(operator, memory), batch, normalize)
        return final[self._tensor(entities), self._tensor(rows)], final.sum(0)

    @torch.no_grad()
    def scores(self, attention: Attention, batch: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities; only those that are not 0 are copied from the GPU."""
        finals = (self._infer(attention, batch[part], normalize) for part in self._parts(attention, batch))
        counts, entities, values = zip(*(_sparse_rows(final.T) for final in finals), strict=True)
        offsets = np.concatenate([[0], np.cumsum(np.concatenate(counts))])
        return Scores(self.operators.num_entities, offsets, np.concatenate(entities), np.concatenate(values))

    def bytes_needed(self, num_queries: int, *, num_steps: int, num_controllers: int) -> int:
        """Return the formula above for as many queries as are scored at once."""
        a_block = self._block_bytes(num_steps, num_controllers)
        return a_block * min(-(-num_queries // BLOCK), self._blocks_at_once(a_block))

    def _block_bytes(self, num_steps: int, num_controllers: int, element_size: int = 4) -> int:
        num_memories = (3 * num_controllers + 1) * num_steps + 7
        return (
            element_size * (self.operators.num_entities + self.operators.num_operators) * BLOCK * num_memories
        )

    def _blocks_at_once(self, block_bytes: int) -> int:
        return max(1, self.max_bytes // max(1, block_bytes))

    def _parts(self, attention: Attention, batch: QueryBatch) -> list[slice]:
        element_size = attention.operator.element_size()
        a_block = self._block_bytes(attention.num_steps, attention.num_controllers, element_size)
        at_once = self._blocks_at_once(a_block) * BLOCK
        starts = range(0, max(1, len(batch)), at_once)
        return [slice(start, min(start + at_once, len(batch))) for start in starts]

    def _infer(self, attention: Attention, batch: QueryBatch, normalize: bool) -> Tensor:
        """Return u_{T+1} of every query, (entity, query), summed over parallel controllers (eqs. 6-8)."""
        # The model may be on the CPU.
        attention = Attention(*(each.to(self.device) for each in attention.pair))
        masks = _Masks.of(batch, self.operators.num_edges, self.device)
        apply_operators = partial(_ApplyOperators.apply, self._graph, masks)
        # The queries that only pad the last block have no source, so all their memories are 0.
        rows = self._tensor(np.pad(batch.rows, (0, -len(batch) % BLOCK)))
        start = self._start(batch, attention.operator.new_zeros(self.operators.num_entities, len(rows)))
        # 0 at the source of a query whose paths may not return to it.
        arrivals = None if batch.may_return else 1 - start
        total = torch.zeros_like(start)
        for operator, memory in zip(attention.operator, attention.memory, strict=True):
            a, b = operator.permute(1, 2, 0)[..., rows], memory.permute(1, 2, 0)[..., rows]
            total = total + _infer_one(apply_operators, a, b, start, arrivals, normalize)
        return total[:, : len(batch)]

    def _start(self, batch: QueryBatch, zeros: Tensor) -> Tensor:
        zeros[self._tensor(batch.sources), torch.arange(len(batch), device=self.device)] = 1.0
        return zeros


def _infer_one(
    apply_operators: Any, a: Tensor, b: Tensor, start: Tensor, arrivals: Tensor | None, normalize: bool
) -> Tensor:
    """Return u_{T+1} of one controller; `a` is (step, operator, query), `b` (step, slot, query)."""
    memories = [start]  # eq. 6
    for t in range(len(a)):  # eq. 7
        if t == 0:
            # b u_0 is scaled after the step, so that u_0 stays constant: its gradient would cost a pass.
            memory = b[0, 0] * apply_operators(a[0], start)
        else:
            memory = apply_operators(a[t], read_memories(memories, b[t]))
        memory = memory if arrivals is None else memory * arrivals
        memories.append(divide_by_sum(memory) if normalize else memory)
    return read_memories(memories, b[-1])  # eq. 8


def _sparse_rows(dense: Tensor) -> tuple[Ids, Ids, Any]:
    """Return how many entries of each row are not 0, their columns and their values."""
    rows, columns = dense.nonzero(as_tuple=True)
    counts, values = dense.count_nonzero(1), dense[rows, columns]
    return counts.cpu().numpy(), columns.cpu().numpy(), values.cpu().numpy()


class _ApplyOperators(torch.autograd.Function):
    """sum_k a^k M_k u of every query, and its gradients: sums over the same edges in three orders."""

    @staticmethod
    def forward(
        ctx: Any, graph: "_Graph", masks: "_Masks | None", operator: Tensor, memory: Tensor
    ) -> Tensor:
        operator = operator.contiguous()
        ctx.graph, ctx.masks = graph, masks
        ctx.save_for_backward(operator, memory)
        return graph.into.sum_products(operator, memory, masks)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, None, Tensor | None, Tensor | None]:
        operator, memory = ctx.saved_tensors
        gradient = gradient.contiguous()
        _, _, needs_operator, needs_memory = ctx.needs_input_grad
        grad_operator = ctx.graph.along.sum_products(gradient, memory, ctx.masks) if needs_operator else None
        grad_memory = ctx.graph.out_of.sum_products(operator, gradient, ctx.masks) if needs_memory else None
        return None, None, grad_operator, grad_memory


@dataclass(frozen=True, eq=False)
class _EdgeLists:
    """The edges grouped by row; each edge pairs a row of a left and of a right (…, query) table."""

    long_rows: Tensor
    short_rows: Tensor
    offsets: Tensor  # (row + 1,)
    left_ids: Tensor  # (edge,)
    right_ids: Tensor  # (edge,)
    edge_ids: Tensor  # (edge,)

    @classmethod
    def by(cls, keys: Ids, left: Ids, right: Ids, num_rows: int, device: torch.device) -> "_EdgeLists":
        """Return the edges grouped by `keys`."""
        # Equal left ids are adjacent, so that the row they share is read from the L1 cache.
        order = np.lexsort((right, left, keys))
        offsets = np.searchsorted(keys[order], np.arange(num_rows + 1))
        lengths = np.diff(offsets)
        longest_first = np.argsort(-lengths, kind="stable")
        num_long = np.count_nonzero(lengths > LONG_ROW)
        ids = (longest_first[:num_long], longest_first[num_long:], offsets, left[order], right[order], order)
        return cls(*(torch.as_tensor(each, dtype=torch.int32, device=device) for each in ids))

    def sum_products(self, left: Tensor, right: Tensor, masks: "_Masks | None") -> Tensor:
        """Return (row, query): the sum of left times right over the edges of a row that are not masked."""
        from .cuda_kernels import sum_products

        num_queries = right.shape[1]
        out = right.new_empty(len(self.offsets) - 1, num_queries)
        slots, flags = (masks.edges, masks.flags) if masks else (None, None)
        for rows, tuning in ((self.long_rows, LONG), (self.short_rows, SHORT)):
            with torch.cuda.device_of(out):  # type: ignore[no-untyped-call]
                sum_products[len(rows), num_queries // BLOCK](
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
                    num_queries,
                    block_queries=BLOCK,
                    **tuning,
                )
        return out


@dataclass(frozen=True, eq=False)
class _Graph:
    """The edges grouped by target, by source, and by operator."""

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
class _Masks:
    """The masked edges of each query; flags avoid comparisons where no query of a block masks the edge."""

    edges: Tensor  # (slot, query), -1 for none
    flags: Tensor | None  # (block, edge)

    @classmethod
    def of(cls, batch: QueryBatch, num_edges: int, device: torch.device) -> "_Masks | None":
        if not batch.masks.size:
            return None
        num_blocks = -(-len(batch) // BLOCK)
        table = np.full((batch.masks.shape[1], num_blocks * BLOCK), -1, dtype=np.int32)
        table[:, : len(batch)] = batch.masks[batch.mask_rows].T
        edges = torch.as_tensor(table, device=device)
        if len(table) <= FEW_MASKED:
            return cls(edges, None)
        flags = torch.zeros(num_blocks, num_edges, dtype=torch.int8, device=device)
        rows, masked = (torch.as_tensor(ids, device=device) for ids in batch.masked_pairs)
        flags[rows // BLOCK, masked] = 1
        return cls(edges, flags)


def _require_triton(device: torch.device) -> None:
    if find_spec("triton") is None:
        raise ConfigError("The cuda engine needs triton: pip install triton, or choose another engine.")
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"
    if not (torch.cuda.is_available() if device.type == "cuda" else interpreted):
        raise ConfigError(f"The cuda engine finds no GPU under {str(device)!r}. Choose another engine.")


def runs_on(device: str) -> bool:
    """Return whether the engine runs on a device."""
    return device.startswith("cuda") and find_spec("triton") is not None


def make(operators: Operators, device: str) -> CudaEngine:
    """Return the engine for `make_engine`."""
    return CudaEngine(operators, device)

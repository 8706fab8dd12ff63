"""Walks only what a source reaches, one question at a time, compiled and on all cores."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..attention import Attention
from ..knowledge import Ids
from .kernels import Floats, Graph, Scratch, Task, differentiate_pairs, score_all, score_pairs
from .operators import Operators
from .walks import Scores, Walks

# A walk through a hub takes a thousand times longer than another: small shares keep all threads busy.
WALKS_AT_ONCE = 16

# Bounds the gradients of single walks that are held before they are added up: 256 MB.
GRADIENTS_AT_ONCE = 32_000_000

Result = TypeVar("Result")


class FrontierEngine:
    """Keeps of each memory the entities that a walk has touched; its cost is the edges it follows.

    Walks are shared out among threads, and gradients are added up in the order of the walks: results
    do not depend on the number of threads.
    """

    def __init__(self, operators: Operators, num_threads: int | None = None) -> None:
        self.operators = operators
        self.graph = _graph_of(operators)
        self._num_threads = num_threads or _num_cores()
        self._threads = ThreadPoolExecutor(self._num_threads, thread_name_prefix="frontier")
        self._spare: dict[tuple[int, str], list[Scratch]] = defaultdict(list)

    def pair_scores(
        self, attention: Attention, walks: Walks, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (walk, entity) pairs, and each walk's sum over all entities."""
        order = np.argsort(rows, kind="stable")
        offsets = np.searchsorted(rows[order], np.arange(len(walks) + 1))
        task = _task(attention, walks, offsets, entities[order], normalize)
        scores, masses = _PairScores.apply(attention.operator, attention.memory, self, task, order)  # type: ignore[no-untyped-call]
        return scores, masses

    def scores(self, attention: Attention, walks: Walks, *, normalize: bool) -> Scores:
        """Return the scores of all entities."""
        none = np.zeros(0, dtype=np.int64)
        task = _task(attention, walks, np.zeros(len(walks) + 1), none, normalize)
        dtype = task.operator.dtype
        found = np.zeros(len(walks) + 1, dtype=np.int64)

        def work(scratch: Scratch, start: int, stop: int) -> tuple[Ids, Floats]:
            # Only what is written takes up memory: the system hands out pages at first touch.
            most = (stop - start) * self.operators.num_entities
            entities, values = np.empty(most, dtype=np.int64), np.empty(most, dtype=dtype)
            listed = score_all(self.graph, scratch, start, stop, task, found, entities, values)
            return entities[:listed].copy(), values[:listed].copy()

        parts = self.share(task, work)
        return Scores(
            self.operators.num_entities,
            np.cumsum(found),
            np.concatenate([none, *(entities for entities, _ in parts)]),
            np.concatenate([none.astype(dtype), *(values for _, values in parts)]),
        )

    def share(self, task: Task, work: Callable[[Scratch, int, int], Result]) -> list[Result]:
        """Do `work(scratch, start, stop)` for all walks, a few at a time, on all threads."""

        def do(start: int) -> Result:
            with self._scratch(task) as scratch:
                return work(scratch, start, min(start + WALKS_AT_ONCE, len(task.sources)))

        starts = range(0, len(task.sources), WALKS_AT_ONCE)
        in_turn = len(starts) == 1 or self._num_threads == 1
        return list(map(do, starts) if in_turn else self._threads.map(do, starts))

    @contextmanager
    def _scratch(self, task: Task) -> Iterator[Scratch]:
        """Lend a scratch that fits `task`; one is made for each thread and then kept."""
        spare = self._spare[task.memory.shape[2], task.memory.dtype.str]
        try:
            scratch = spare.pop()
        except IndexError:
            scratch = _new_scratch(self.operators, task.memory)
        yield scratch
        spare.append(scratch)


class _PairScores(torch.autograd.Function):
    """Scores and masses, and the way back to the attention; walks are done again rather than stored."""

    @staticmethod
    def forward(
        ctx: Any, operator: Tensor, memory: Tensor, engine: FrontierEngine, task: Task, order: Ids
    ) -> tuple[Tensor, Tensor]:
        ctx.save_for_backward(operator, memory)
        ctx.engine, ctx.task, ctx.order = engine, task, order
        scores = np.zeros(len(order), dtype=task.memory.dtype)
        masses = np.zeros(len(task.sources), dtype=task.memory.dtype)
        engine.share(task, lambda *part: score_pairs(engine.graph, *part, task, scores, masses))
        unsorted = np.empty_like(scores)
        unsorted[order] = scores
        return torch.from_numpy(unsorted), torch.from_numpy(masses)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, score_grads: Tensor, mass_grads: Tensor) -> tuple[Tensor | None, ...]:
        operator, memory = ctx.saved_tensors
        engine, task = ctx.engine, ctx.task
        scores, masses = score_grads.numpy()[ctx.order], mass_grads.contiguous().numpy()
        a_grads, b_grads = _per_walk(task, operator), _per_walk(task, memory)
        engine.share(
            task,
            lambda *part: differentiate_pairs(
                engine.graph, *part, task, scores, masses, a_grads, b_grads
            ),
        )
        return _add_up(a_grads, task.rows, operator), _add_up(b_grads, task.rows, memory), None, None, None


def _per_walk(task: Task, like: Tensor) -> Floats:
    return np.zeros((len(task.sources), like.shape[0], *like.shape[2:]))


def _add_up(grads: Floats, rows: Ids, like: Tensor) -> Tensor:
    total = torch.zeros(like.shape[1], *grads.shape[1:], dtype=torch.float64)
    total.index_add_(0, torch.from_numpy(rows), torch.from_numpy(grads))
    return total.transpose(0, 1).to(like.dtype)


def _graph_of(operators: Operators) -> Graph:
    """Return the operators with their edges cut into runs of one source and one operator."""
    keys = operators.sources * operators.num_operators + operators.operators
    run_starts = np.flatnonzero(np.diff(keys, prepend=-1))
    return Graph(
        operators.num_relations,
        np.searchsorted(operators.sources[run_starts], np.arange(operators.num_entities + 1)),
        operators.operators[run_starts].astype(np.uint32),
        np.append(run_starts, operators.num_edges),
        operators.sources.astype(np.uint32),
        operators.targets.astype(np.uint32),
    )


def _task(attention: Attention, walks: Walks, pair_offsets: Ids, pair_entities: Ids, normalize: bool) -> Task:
    """Return the arguments of the kernels as arrays of one make, so that each is compiled once."""
    ids = (
        walks.sources,
        walks.rows,
        walks.hidden_offsets,
        walks.hidden_edges,
        pair_offsets,
        pair_entities,
    )
    return Task(
        *(np.array(x, dtype=np.int64) for x in ids),
        attention.operator.detach().contiguous().numpy(),
        attention.memory.detach().contiguous().numpy(),
        normalize,
    )


def _new_scratch(operators: Operators, memory: Floats) -> Scratch:
    slots, dtype = memory.shape[2], memory.dtype
    return Scratch(
        memories=np.zeros((slots, operators.num_entities), dtype=dtype),
        adjoints=np.zeros((slots, operators.num_entities), dtype=dtype),
        final=np.zeros(operators.num_entities, dtype=dtype),
        counts=np.zeros(operators.num_operators, dtype=dtype),
        scales=np.zeros(slots),
        sums=np.zeros(slots),
        fixed=np.zeros(slots, dtype=np.bool_),
        touched=np.zeros(operators.num_entities, dtype=np.uint32),
        reached=np.zeros(slots, dtype=np.int64),
        seen=np.zeros(operators.num_entities, dtype=np.bool_),
        guarded=np.zeros(operators.num_entities, dtype=np.bool_),
        hidden=np.zeros(operators.num_edges, dtype=np.bool_),
    )


def _num_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1

"""The CPU engine: visits only the entities that a source reaches, one query at a time, on all cores."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..controller.attention import Attention
from ..errors import ConfigError
from ..graph.arrays import Floats, Ids, group_by, offsets_of
from ..graph.compilation import num_cores
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import QueryBatch, ScoresWithBackward
from .cpu_kernel_arrays import Graph, Outputs, Pairs, Small, SparseScores, Task, Workspace
from .cpu_kernels import compile_kernel, score_chunk

GradientBuffers = tuple[Floats, Floats]  # of both attentions, (query, controller, step, …)

# Queries that a thread takes at a time: few, because one query from a hub can cost as much as a thousand
# others; more where one thread does all.
CHUNK, LARGE_CHUNK = 32, 128

# Less work than this is done by one thread.
MIN_PARALLEL_SECONDS = 0.001

# Gradients are kept for each query, so that their sum does not depend on the threads; this bounds them.
MAX_GRADIENT_BYTES = 1 << 28


class CpuEngine:
    """Keeps a list of touched entities and a dense workspace for each thread.

    Takes 8 bytes x entities x (2 T + 4) and a copy of the graph for each thread, whatever the batch, and
    8 bytes x queries x controllers x T x operators for gradients. Results are the same for any number of
    threads.
    """

    def __init__(self, operators: Operators, num_threads: int | None = None) -> None:
        compile_kernel()
        self.operators = operators
        self.num_threads = num_threads or num_cores()
        self._pool = ThreadPoolExecutor(self.num_threads)
        self._graph = _graph(operators)
        # Measured on the last call; before the first call a value that makes all threads work.
        self._seconds_per_query = MIN_PARALLEL_SECONDS
        self._spare: defaultdict[int, list[tuple[Graph, Workspace]]] = defaultdict(list)

    def pair_scores(
        self, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (query, entity) pairs, and each query's sum over all entities."""
        score = partial(
            self.score_with_backward, batch=batch, rows=rows, entities=entities, normalize=normalize
        )
        scores: tuple[Tensor, Tensor] = _PairScores.apply(*attention.pair, score)  # type: ignore[no-untyped-call]
        return scores

    def score_with_backward(
        self, attention: Attention, batch: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> ScoresWithBackward:
        """Return the same without autograd, and a function for the gradients of both attentions.

        Where every query has one pair, the forward pass computes the gradients of its score, and backward
        only multiplies them. Otherwise backward repeats the forward pass, which costs less than keeping
        every memory.
        """
        task, wanted = self._task(attention, batch, normalize), Wanted.of(rows, entities, len(batch))
        num_pairs, num_queries = len(wanted.order), len(batch)
        one_each = wanted.is_one_each and num_queries <= _max_queries(task)
        gradients = _gradient_buffers(task, num_queries) if one_each else None
        units = np.full(num_pairs, 1.0 * one_each)
        pairs = Pairs(wanted.offsets, wanted.entities, units, np.zeros(num_queries))
        scores, totals = np.zeros(num_pairs), np.zeros(num_queries)
        self.parallel_map(task, _ScorePairs(task, pairs, scores, totals, gradients).score)
        in_given_order = np.empty_like(scores)
        in_given_order[wanted.order] = scores
        like = attention.operator
        return ScoresWithBackward(
            torch.from_numpy(in_given_order).to(like),
            torch.from_numpy(totals).to(like),
            partial(self._backward, like.dtype, task, wanted, gradients),
        )

    def _backward(
        self,
        dtype: torch.dtype,
        task: Task,
        wanted: "Wanted",
        gradients: GradientBuffers | None,
        grad_scores: Tensor,
        grad_totals: Tensor | None,
    ) -> tuple[Tensor, ...]:
        """Return the gradients of both attentions, summed over queries in order."""
        grad_pairs = _doubles(grad_scores)[wanted.order]
        parts: Iterable[tuple[int, tuple[Floats, ...]]]
        if gradients is not None and grad_totals is None:
            parts = [(0, tuple(each * grad_pairs.reshape(-1, 1, 1, 1) for each in gradients))]
        else:
            totals = np.zeros(len(task.sources)) if grad_totals is None else _doubles(grad_totals)
            parts = _differentiate(self, task, Pairs(wanted.offsets, wanted.entities, grad_pairs, totals))
        return tuple(total.transpose(0, 1).to(dtype) for total in _sum_by_row(task, parts))

    def scores(self, attention: Attention, batch: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities, without gradients."""
        task = self._task(attention, batch, normalize)
        parts = self.parallel_map(task, partial(self._score_all, task, Pairs.none(len(batch))))
        dtype = torch.empty(0, dtype=attention.operator.dtype).numpy().dtype
        counts = np.concatenate([np.zeros(0, np.int64), *(np.diff(part.ends) for part in parts)])
        return Scores(
            self.operators.num_entities,
            offsets_of(counts),
            np.concatenate([np.zeros(0, np.int64), *(part.entities for part in parts)]),
            np.concatenate(
                [np.zeros(0, dtype), *(part.values for part in parts)], dtype=dtype, casting="same_kind"
            ),
        )

    def _score_all(
        self, task: Task, pairs: Pairs, graph: Graph, workspace: Workspace, first: int, end: int
    ) -> SparseScores:
        """Return the scores of all entities for the queries first … end - 1."""
        unused = Outputs(np.zeros(0), np.zeros_like(pairs.total_gradients), *_gradient_buffers(task, 1))
        found = SparseScores.of(end - first, self.operators.num_entities)
        score_chunk(graph, workspace, task, pairs, unused, found, first, end, 0, False)
        num = found.ends[-1]
        return SparseScores(found.ends, found.entities[:num].copy(), found.values[:num].copy())

    def bytes_needed(self, num_queries: int, *, num_steps: int, num_controllers: int) -> int:
        """Return the bytes of all threads' workspaces and of the gradients of `num_queries` queries."""
        graph = sum(array.nbytes for array in self._graph)
        workspace = 8 * self.operators.num_entities * (2 * num_steps + 4)
        gradients = 8 * num_queries * num_controllers * num_steps * self.operators.num_operators
        return self.num_threads * (graph + workspace) + min(gradients, MAX_GRADIENT_BYTES)

    def _task(self, attention: Attention, batch: QueryBatch, normalize: bool) -> Task:
        if attention.operator.shape[-1] != self.operators.num_operators:
            raise ConfigError("The attention is over other operators than those of the knowledge base.")
        operator, memory = (each.detach().double().contiguous().numpy() for each in attention.pair)
        return Task(
            batch.sources.astype(np.uint32),
            np.ascontiguousarray(batch.rows),
            np.ascontiguousarray(batch.masks),
            np.ascontiguousarray(batch.mask_rows),
            operator,
            memory,
            normalize,
            batch.may_return,
        )

    def parallel_map(
        self, task: Task, work: Callable[[Graph, Workspace, int, int], Any], part: range | None = None
    ) -> list[Any]:
        """Return the results of `work` for chunks of all queries (or of a part), in order.

        All threads take part, unless the time of the last call shows that starting them would take longer.
        """
        part = range(len(task.sources)) if part is None else part
        num_steps = task.operator.shape[2]
        alone = self._seconds_per_query * len(part) < MIN_PARALLEL_SECONDS
        chunks = part[:: LARGE_CHUNK if alone else CHUNK]
        # Threads need no lock: taking the next of a range, popping and appending are atomic.
        waiting, results, seconds = iter(chunks), {}, []

        def take_chunks() -> None:
            own = self._take_spare(num_steps)
            started = perf_counter()
            for first in waiting:
                results[first] = work(*own, first, min(first + chunks.step, part.stop))
            seconds.append(perf_counter() - started)
            self._spare[num_steps].append(own)

        num_threads = 1 if alone else min(self.num_threads, len(chunks))
        helpers = [self._pool.submit(take_chunks) for _ in range(num_threads - 1)]
        take_chunks()
        for helper in helpers:
            # Do not wait for one that has not begun: it would find nothing left to do.
            if not helper.cancel():
                helper.result()
        if len(part):
            self._seconds_per_query = sum(seconds) / len(part)
        return [results[first] for first in chunks]

    def _take_spare(self, num_steps: int) -> tuple[Graph, Workspace]:
        """Return a graph whose edges a thread may mask, and an empty workspace; spare ones are reused."""
        try:
            return self._spare[num_steps].pop()
        except IndexError:
            shared = self._graph
            graph = shared._replace(segments=shared.segments.copy(), targets=shared.targets.copy())
            return graph, Workspace.of(self.operators.num_entities, num_steps)


def _graph(operators: Operators) -> Graph:
    """Return the edges in segments: the edges of one source and one operator are adjacent."""
    starts, offsets = operators.segments()
    lengths = np.diff(starts, append=operators.num_edges)
    along = operators.operators[starts]
    inverse = operators.inverse(along)
    return Graph(
        _small(offsets),
        _small(np.stack([along, inverse, starts, starts + lengths, lengths], axis=1)),
        _small(operators.targets),
        np.repeat(np.arange(len(starts), dtype=np.uint32), lengths),
    )


def _small(ids: Ids) -> Small:
    return np.ascontiguousarray(ids.astype(np.uint32))


class Wanted(NamedTuple):
    """The (query, entity) pairs to score, grouped by query."""

    order: Ids  # (pair,) the place of each among the given pairs
    offsets: Ids  # (query + 1,)
    entities: Small

    @classmethod
    def of(cls, rows: Ids, entities: Ids, num_queries: int) -> "Wanted":
        """Return given pairs grouped by query."""
        order, offsets = group_by(rows, num_queries)
        return cls(order, offsets, entities[order].astype(np.uint32))

    @property
    def is_one_each(self) -> bool:
        """Whether every query has one pair."""
        return len(self.order) == len(self.offsets) - 1 and bool((np.diff(self.offsets) == 1).all())


class _PairScores(torch.autograd.Function):
    """The scores of pairs as one operation of autograd."""

    @staticmethod
    def forward(
        ctx: Any, operator: Tensor, memory: Tensor, score: Callable[[Attention], ScoresWithBackward]
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of the wanted pairs and each query's total."""
        ctx.set_materialize_grads(False)
        scored = score(Attention(operator, memory))
        ctx.scored_backward, ctx.zeros = scored.backward, torch.zeros_like(scored.scores)
        return scored.scores, scored.totals

    @staticmethod
    @once_differentiable
    def backward(
        ctx: Any, grad_scores: Tensor | None, grad_totals: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients of both attentions."""
        return *ctx.scored_backward(ctx.zeros if grad_scores is None else grad_scores, grad_totals), None


def _sum_by_row(task: Task, parts: Iterable[tuple[int, tuple[Floats, ...]]]) -> list[Tensor]:
    """Return the gradients of each row of both attentions, (row, controller, …), from those of queries."""
    sums = [
        torch.zeros(each.swapaxes(0, 1).shape, dtype=torch.float64) for each in (task.operator, task.memory)
    ]
    for base, gradients in parts:
        rows = torch.from_numpy(task.rows[base : base + len(gradients[0])])
        for total, each in zip(sums, gradients, strict=True):
            total.index_add_(0, rows, torch.from_numpy(each))
    return sums


def _differentiate(engine: CpuEngine, task: Task, pairs: Pairs) -> Iterator[tuple[int, GradientBuffers]]:
    """Yield the gradients of queries in parts of bounded memory, each with the number of its first query."""
    unused = np.zeros_like(pairs.gradients), np.zeros_like(pairs.total_gradients)
    at_once = _max_queries(task)
    for base in range(0, len(task.sources), at_once):
        part = range(base, min(base + at_once, len(task.sources)))
        gradients = _gradient_buffers(task, len(part))
        engine.parallel_map(task, _ScorePairs(task, pairs, *unused, gradients, base).score, part)
        yield base, gradients


class _ScorePairs(NamedTuple):
    """Scores the pairs of a chunk of queries, and adds the results to arrays."""

    task: Task
    pairs: Pairs
    scores: Floats  # (pair,)
    totals: Floats  # (query,)
    gradients: GradientBuffers | None  # None: not wanted
    base: int = 0  # the query that the first row of the gradients belongs to

    def score(self, graph: Graph, workspace: Workspace, first: int, end: int) -> None:
        """Score the queries first … end - 1."""
        wanted = self.gradients is not None
        # The kernel adds gradients in any case; where none are wanted, to one row that is thrown away.
        gradients = _gradient_buffers(self.task, 1) if self.gradients is None else self.gradients
        outputs = Outputs(self.scores, self.totals, *gradients)
        none = SparseScores.of(0, 0)
        score_chunk(graph, workspace, self.task, self.pairs, outputs, none, first, end, self.base, wanted)


def _gradient_buffers(task: Task, num_queries: int) -> GradientBuffers:
    """Return zeros for the gradients of some queries, (query, controller, step, …)."""
    num_controllers = len(task.operator)
    operator, memory = (
        (num_queries, num_controllers, *each.shape[2:]) for each in (task.operator, task.memory)
    )
    return np.zeros(operator), np.zeros(memory)


def _max_queries(task: Task) -> int:
    """Return the number of queries whose gradients are kept at once."""
    return max(CHUNK, MAX_GRADIENT_BYTES // sum(each.nbytes for each in _gradient_buffers(task, 1)))


def _doubles(gradients: Tensor) -> Floats:
    """Return contiguous doubles, which the kernel needs; the gradient of a sum is one number, expanded."""
    return gradients.double().contiguous().numpy()


def runs_on(device: str) -> bool:
    """Return whether the engine runs on a device."""
    return device.startswith("cpu") and find_spec("numba") is not None


def make(operators: Operators, device: str) -> CpuEngine:
    """Return the engine for `make_engine`."""
    return CpuEngine(operators)

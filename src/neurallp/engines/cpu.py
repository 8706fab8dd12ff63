"""The CPU engine: walks only what a source reaches, one question at a time, compiled and on all cores."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..controller.attention import Attention
from ..errors import ConfigError
from ..graph.arrays import Floats, Ids
from ..graph.operators import Operators
from ..graph.parallel import num_cores
from ..graph.scores import Scores
from .base import QueryBatch, ScoresWithBackward
from .cpu_kernels import Graph, Listing, Pairs, Small, Sums, Task, Trail, compile_kernel, walk_chunk

Room = tuple[Floats, Floats]  # for gradients of walks to both attentions

# Queries that a thread takes at a time: few, because one walk from a hub can cost as much as a thousand others;
# more where it is alone.
CHUNK, LARGE_CHUNK = 32, 128

# Seconds of work below which a second thread is not woken.
MIN_PARALLEL_SECONDS = 0.001

# Gradients are kept walk by walk, so that their sum does not depend on the threads; this bounds them.
MAX_GRADIENT_BYTES = 1 << 28


class CpuEngine:
    """Keeps a touched list and dense scratch for each thread, and nothing for entities out of reach.

    Takes 8 bytes x entities x (2 T + 4) and a copy of the graph for each thread, whatever the batch, and
    8 bytes x walks x ranks x T x operators for gradients. The same results for any number of threads.
    """

    def __init__(self, operators: Operators, num_threads: int | None = None) -> None:
        compile_kernel()
        self.operators = operators
        self.num_threads = num_threads or num_cores()
        self._pool = ThreadPoolExecutor(self.num_threads)
        self._graph = _graph(operators)
        self._pace = (
            MIN_PARALLEL_SECONDS  # seconds for a walk, as the last ones took; long, until it is known
        )
        self._spare: defaultdict[int, list[tuple[Graph, Trail]]] = defaultdict(list)

    def pair_scores(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of given (walk, entity) pairs, and each walk's sum over all entities."""
        follow = partial(
            self.score_with_backward, walks=walks, rows=rows, entities=entities, normalize=normalize
        )
        scores: tuple[Tensor, Tensor] = _PairScores.apply(*attention.pair, follow)  # type: ignore[no-untyped-call]
        return scores

    def score_with_backward(
        self, attention: Attention, walks: QueryBatch, rows: Ids, entities: Ids, *, normalize: bool
    ) -> ScoresWithBackward:
        """Return the scores of given pairs, each walk's total, and the way back to the attention.

        Where every walk has one pair, its slopes are taken on the way forward, and the way back only
        multiplies them. Else it walks again, which costs less than keeping every memory.
        """
        task, wanted = self._task(attention, walks, normalize), Wanted.of(rows, entities, len(walks))
        num_pairs, num_walks = len(wanted.order), len(walks)
        one_each = wanted.is_one_each and num_walks <= _most_walks(task)
        gradients = _gradient_room(task, num_walks) if one_each else None
        units = np.full(num_pairs, 1.0 * one_each)
        pairs = Pairs(wanted.offsets, wanted.entities, units, np.zeros(num_walks))
        scores, totals = np.zeros(num_pairs), np.zeros(num_walks)
        self.share_out(task, partial(_score, task, pairs, (scores, totals), gradients, 0))
        asked = np.empty_like(scores)
        asked[wanted.order] = scores
        like = attention.operator
        return ScoresWithBackward(
            torch.from_numpy(asked).to(like),
            torch.from_numpy(totals).to(like),
            partial(self._back, like.dtype, task, wanted, gradients),
        )

    def _back(
        self,
        dtype: torch.dtype,
        task: Task,
        wanted: "Wanted",
        gradients: Room | None,
        to_scores: Tensor,
        to_totals: Tensor | None,
    ) -> tuple[Tensor, ...]:
        """Return the gradients to both attentions, summed over walks in order."""
        grad_scores = _doubles(to_scores)[wanted.order]
        parts: Iterable[tuple[int, tuple[Floats, ...]]]
        if gradients is not None and to_totals is None:
            parts = [(0, tuple(each * grad_scores.reshape(-1, 1, 1, 1) for each in gradients))]
        else:
            totals = np.zeros(len(task.sources)) if to_totals is None else _doubles(to_totals)
            parts = _walk_again(self, task, Pairs(wanted.offsets, wanted.entities, grad_scores, totals))
        return tuple(total.transpose(0, 1).to(dtype) for total in _sum_by_row(task, parts))

    def scores(self, attention: Attention, walks: QueryBatch, *, normalize: bool) -> Scores:
        """Return the scores of all entities, without gradients."""
        task = self._task(attention, walks, normalize)
        parts = self.share_out(task, partial(self._list_chunk, task, Pairs.none(len(walks))))
        dtype = torch.empty(0, dtype=attention.operator.dtype).numpy().dtype
        counts = np.concatenate([np.zeros(1, np.int64), *(np.diff(part.ends) for part in parts)])
        return Scores(
            self.operators.num_entities,
            np.cumsum(counts),
            np.concatenate([np.zeros(0, np.int64), *(part.entities for part in parts)]),
            np.concatenate(
                [np.zeros(0, dtype), *(part.values for part in parts)], dtype=dtype, casting="same_kind"
            ),
        )

    def bytes_needed(self, num_walks: int, *, num_steps: int, num_controllers: int) -> int:
        """Return the bytes of all threads' scratch and of the gradients of `num_walks` walks."""
        graph = sum(array.nbytes for array in self._graph)
        scratch = 8 * self.operators.num_entities * (2 * num_steps + 4)
        gradients = 8 * num_walks * num_controllers * num_steps * self.operators.num_operators
        return self.num_threads * (graph + scratch) + min(gradients, MAX_GRADIENT_BYTES)

    def _task(self, attention: Attention, walks: QueryBatch, normalize: bool) -> Task:
        if attention.operator.shape[-1] != self.operators.num_operators:
            raise ConfigError("The attention is over other operators than those of the knowledge base.")
        operator, memory = (each.detach().double().contiguous().numpy() for each in attention.pair)
        return Task(
            walks.sources.astype(np.uint32),
            np.ascontiguousarray(walks.rows),
            np.ascontiguousarray(walks.hidden),
            np.ascontiguousarray(walks.lists),
            operator,
            memory,
            normalize,
            walks.may_return,
        )

    def share_out(
        self, task: Task, work: Callable[[Graph, Trail, int, int], Any], part: range | None = None
    ) -> list[Any]:
        """Return what `work` gives for chunks of walks (or of a part), in order, done by all threads.

        By one alone where the pace of the walks before says that waking others would take longer.
        """
        part = range(len(task.sources)) if part is None else part
        num_steps = task.operator.shape[2]
        alone = self._pace * len(part) < MIN_PARALLEL_SECONDS
        chunks = part[:: LARGE_CHUNK if alone else CHUNK]
        # Threads need no lock: taking the next of a range, popping and appending are atomic.
        waiting, results, seconds = iter(chunks), {}, []

        def take_chunks() -> None:
            scratch = self._take_scratch(num_steps)
            started = perf_counter()
            for first in waiting:
                results[first] = work(*scratch, first, min(first + chunks.step, part.stop))
            seconds.append(perf_counter() - started)
            self._spare[num_steps].append(scratch)

        num_threads = 1 if alone else min(self.num_threads, len(chunks))
        helpers = [self._pool.submit(take_chunks) for _ in range(num_threads - 1)]
        take_chunks()
        for helper in helpers:
            # Do not wait for one that has not begun: it would find nothing left to do.
            if not helper.cancel():
                helper.result()
        if len(part):
            self._pace = sum(seconds) / len(part)
        return [results[first] for first in chunks]

    def _take_scratch(self, num_steps: int) -> tuple[Graph, Trail]:
        """Return spare scratch, or new."""
        try:
            return self._spare[num_steps].pop()
        except IndexError:
            return self._scratch(num_steps)

    def _scratch(self, num_steps: int) -> tuple[Graph, Trail]:
        """Return a thread's own graph, whose edges can be hidden, and an empty trail."""
        graph = self._graph._replace(runs=self._graph.runs.copy(), targets=self._graph.targets.copy())
        return graph, Trail.of(self.operators.num_entities, num_steps)

    def _list_chunk(
        self, task: Task, pairs: Pairs, graph: Graph, trail: Trail, first: int, end: int
    ) -> Listing:
        unused = Sums(np.zeros(0), np.zeros_like(pairs.total_gradients), *_gradient_room(task, 1))
        room = Listing.of(end - first, self.operators.num_entities)
        walk_chunk(graph, trail, task, pairs, unused, room, first, end, 0, False)
        found = room.ends[-1]
        return Listing(room.ends, room.entities[:found].copy(), room.values[:found].copy())


def _graph(operators: Operators) -> Graph:
    """Return the edges as runs: those of the same source and operator stand together."""
    starts, offsets = operators.runs()
    lengths = np.diff(starts, append=operators.num_edges)
    along = operators.operators[starts]
    back = (along + operators.num_relations) % operators.num_operators
    return Graph(
        _small(offsets),
        _small(np.stack([along, back, starts, starts + lengths, lengths], axis=1)),
        _small(operators.targets),
        np.repeat(np.arange(len(starts), dtype=np.uint32), lengths),
    )


def _small(ids: Ids) -> Small:
    return np.ascontiguousarray(ids.astype(np.uint32))


class Wanted(NamedTuple):
    """Pairs in the order of their walks."""

    order: Ids  # (pair,) which of the pairs asked for stands here
    offsets: Ids  # (walk + 1,)
    entities: Small

    @classmethod
    def of(cls, rows: Ids, entities: Ids, num_walks: int) -> "Wanted":
        """Return the (walk, entity) pairs asked for."""
        order = np.argsort(rows, kind="stable")
        offsets = np.searchsorted(rows[order], np.arange(num_walks + 1))
        return cls(order, offsets, entities[order].astype(np.uint32))

    @property
    def is_one_each(self) -> bool:
        """Whether every walk has one pair."""
        return len(self.order) == len(self.offsets) - 1 and bool((np.diff(self.offsets) == 1).all())


class _PairScores(torch.autograd.Function):
    """Scores for torch's autograd to carry on from."""

    @staticmethod
    def forward(
        ctx: Any, operator: Tensor, memory: Tensor, follow: Callable[[Attention], ScoresWithBackward]
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of the wanted pairs and each walk's total."""
        ctx.set_materialize_grads(False)
        followed = follow(Attention(operator, memory))
        ctx.backward_pass, ctx.like = followed.backward, torch.zeros_like(followed.scores)
        return followed.scores, followed.totals

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, to_scores: Tensor | None, to_totals: Tensor | None) -> tuple[Tensor | None, ...]:
        """Return the gradients to both attentions."""
        return *ctx.backward_pass(ctx.like if to_scores is None else to_scores, to_totals), None


def _sum_by_row(task: Task, parts: Iterable[tuple[int, tuple[Floats, ...]]]) -> list[Tensor]:
    """Return the gradients to each row of both attentions, (row, rank, …), from those of walks."""
    sums = [
        torch.zeros(each.swapaxes(0, 1).shape, dtype=torch.float64) for each in (task.operator, task.memory)
    ]
    for base, room in parts:
        rows = torch.from_numpy(task.rows[base : base + len(room[0])])
        for total, each in zip(sums, room, strict=True):
            total.index_add_(0, rows, torch.from_numpy(each))
    return sums


def _walk_again(engine: CpuEngine, task: Task, pairs: Pairs) -> Iterator[tuple[int, Room]]:
    """Yield the gradients of walks in parts that memory has room for, each with its first walk."""
    unused = np.zeros_like(pairs.gradients), np.zeros_like(pairs.total_gradients)
    at_once = _most_walks(task)
    for base in range(0, len(task.sources), at_once):
        part = range(base, min(base + at_once, len(task.sources)))
        room = _gradient_room(task, len(part))
        engine.share_out(task, partial(_score, task, pairs, unused, room, base), part)
        yield base, room


def _score(
    task: Task,
    pairs: Pairs,
    out: tuple[Floats, Floats],
    room: Room | None,
    base: int,
    graph: Graph,
    trail: Trail,
    first: int,
    end: int,
) -> None:
    """Score some walks; where no gradients are wanted, what they are added to is thrown away."""
    sums = Sums(*out, *(_gradient_room(task, 1) if room is None else room))
    walk_chunk(graph, trail, task, pairs, sums, Listing.of(0, 0), first, end, base, room is not None)


def _gradient_room(task: Task, num_walks: int) -> Room:
    """Return zeros for the gradients of some walks, (walk, rank, step, …)."""
    num_controllers = len(task.operator)
    operator, memory = (
        (num_walks, num_controllers, *each.shape[2:]) for each in (task.operator, task.memory)
    )
    return np.zeros(operator), np.zeros(memory)


def _most_walks(task: Task) -> int:
    """Return how many walks' gradients are kept at once."""
    return max(CHUNK, MAX_GRADIENT_BYTES // sum(each.nbytes for each in _gradient_room(task, 1)))


def _doubles(gradients: Tensor) -> Floats:
    """Return gradients side by side, as the kernel was compiled for; those of a sum all lie in one place."""
    return gradients.double().contiguous().numpy()

"""The compiled loops of the frontier engine: one walk at a time, forward and backward.

A walk keeps its memories as rows over all entities, and a list of the entities it has touched in the
order it met them; only those are ever read, and only those are wiped afterwards. Memory t lives on
`touched[: reached[t]]`.

Training needs few scores of a walk, so it never expands the last hop: an answer's score is a sum over
the edges into it, and the sum of the last memory follows from the number of edges of each operator.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids
from .reference import SMALLEST_SUM

Floats = NDArray[np.floating[Any]]
Small = NDArray[np.uint32]  # Half the traffic of 64 bits, and unsigned: numba adds no test for -1.
Flags = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Return `function` compiled at its first call, kept on disk for the next, and free of the GIL."""
    return cast(F, njit(nogil=True, cache=True, error_model="numpy")(function))


def part(function: F) -> F:
    """Return `function` compiled for kernels alone: a way in from Python would double the time to compile."""
    return cast(F, njit(nogil=True, error_model="numpy", no_cpython_wrapper=True, no_cfunc_wrapper=True)(function))


class Graph(NamedTuple):
    """Edges by source, in runs of one operator: the inner loop over a run looks no operator up."""

    offsets: Small  # entity e owns runs offsets[e] : offsets[e + 1]
    operators: Small  # (run,)
    starts: Small  # run r owns edges starts[r] : starts[r + 1]
    targets: Small  # (edge,)


class Scratch(NamedTuple):
    """The working memory of one thread, all zero between walks."""

    memories: Floats  # (step T + 1, entity): u_t; in training the last row holds w_T, what step T reads
    adjoints: Floats  # (step T + 1, entity): gradients to u_t, then to v_t = u_t before it is divided
    totals: NDArray[np.float64]  # (step T + 1,): sum_e v_t(e)
    touched: Small  # (entity,)
    reached: Ids  # (step T + 1,)
    seen: Flags  # (entity,)
    guarded: Flags  # (entity,): has a hidden edge
    hidden: Flags  # (edge,)


@part
def _scale(total: float, normalize: bool) -> float:
    """Return what v_t is multiplied by to give u_t."""
    return 1.0 / max(total, SMALLEST_SUM) if normalize else 1.0


@part
def _read(memories: Floats, weights: Floats, t: int, entity: int) -> float:
    """Return w_t(e) = sum_{s < t} b_t^s u_s(e), what step t reads."""
    total = weights[0] * memories[0, entity]
    for s in range(1, t):
        total += weights[s] * memories[s, entity]
    return total


@part
def _hop(graph: Graph, scratch: Scratch, t: int, a: Floats, b: Floats) -> None:
    """Send v_t = sum_k a_t^k M_k w_t along the edges of all that was touched before step t."""
    memory, touched, seen = scratch.memories[t], scratch.touched, scratch.seen
    num_touched = scratch.reached[t - 1]
    for i in range(scratch.reached[t - 1]):
        entity = touched[i]
        read = _read(scratch.memories, b, t, entity)
        if read == 0.0:
            continue
        guarded = scratch.guarded[entity]
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            message = a[graph.operators[run]] * read
            if message == 0.0:
                continue
            for edge in range(graph.starts[run], graph.starts[run + 1]):
                if guarded and scratch.hidden[edge]:
                    continue
                target = graph.targets[edge]
                memory[target] += message
                if not seen[target]:
                    seen[target] = True
                    touched[num_touched] = target
                    num_touched += 1
    scratch.reached[t] = num_touched


@part
def _walk(
    graph: Graph, scratch: Scratch, source: int, a: Floats, b: Floats, hops: int, normalize: bool
) -> None:
    """Fill the memories u_0 ... u_hops of a walk from `source` (eqs. 6 and 7)."""
    scratch.memories[0, source] = 1.0
    scratch.seen[source] = True
    scratch.touched[0] = source
    scratch.reached[0] = 1
    scratch.totals[0] = 1.0
    for t in range(1, hops + 1):
        _hop(graph, scratch, t, a[t - 1], b[t - 1])
        memory = scratch.memories[t]
        total = 0.0
        for i in range(scratch.reached[t]):
            total += memory[scratch.touched[i]]
        scratch.totals[t] = total
        scale = _scale(total, normalize)
        for i in range(scratch.reached[t]):
            memory[scratch.touched[i]] *= scale


@part
def _clear(scratch: Scratch, last: int) -> None:
    """Wipe what a walk has touched up to memory `last`."""
    for i in range(scratch.reached[last]):
        entity = scratch.touched[i]
        scratch.seen[entity] = False
        for t in range(len(scratch.memories)):
            scratch.memories[t, entity] = 0.0
            scratch.adjoints[t, entity] = 0.0


@part
def _walk_to_last_hop(
    graph: Graph, scratch: Scratch, source: int, a: Floats, b: Floats, normalize: bool, counts: Floats
) -> None:
    """Walk T - 1 steps and prepare the last: what it reads, and its sum, from edges counted, not followed."""
    T = len(a)
    _walk(graph, scratch, source, a, b, T - 1, normalize)
    counts[:] = 0.0
    total = 0.0
    for i in range(scratch.reached[T - 1]):
        entity = scratch.touched[i]
        read = _read(scratch.memories, b[T - 1], T, entity)
        scratch.memories[T, entity] = read
        outflow = 0.0
        guarded = scratch.guarded[entity]
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            operator = graph.operators[run]
            count = graph.starts[run + 1] - graph.starts[run]
            if guarded:
                for edge in range(graph.starts[run], graph.starts[run + 1]):
                    count -= scratch.hidden[edge]
            outflow += a[T - 1, operator] * count
            counts[operator] += read * count
        scratch.adjoints[T, entity] = outflow
        total += read * outflow
    scratch.totals[T] = total


@part
def _inflow(graph: Graph, scratch: Scratch, a: Floats, entity: int) -> float:
    """Return v_T(entity), what the last hop brings: its edges in are the inverses of its edges out."""
    T, R = len(a), a.shape[1] // 2
    reads = scratch.memories[T]
    guarded = scratch.guarded[entity]
    total = 0.0
    for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
        weight = a[T - 1, (graph.operators[run] + R) % (2 * R)]
        for edge in range(graph.starts[run], graph.starts[run + 1]):
            if not (guarded and scratch.hidden[edge]):
                total += weight * reads[graph.targets[edge]]
    return total


@part
def _read_back(
    scratch: Scratch, t: int, b: Floats, b_grad: Floats, entity: int, gradient: float
) -> None:
    """Pass the gradient to w_t(entity) on to b_t and to the memories that step t reads."""
    for s in range(t):
        b_grad[s] += gradient * scratch.memories[s, entity]
        scratch.adjoints[s, entity] += gradient * b[s]


@part
def _inflow_back(
    graph: Graph, scratch: Scratch, a: Floats, a_grad: Floats, entity: int, gradient: float
) -> None:
    """Pass the gradient to v_T(entity) on to a_T and to w_T."""
    T, R = len(a), a.shape[1] // 2
    reads, adjoints = scratch.memories[T], scratch.adjoints[T]
    guarded = scratch.guarded[entity]
    for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
        operator = (graph.operators[run] + R) % (2 * R)
        total = 0.0
        for edge in range(graph.starts[run], graph.starts[run + 1]):
            target = graph.targets[edge]
            if reads[target] != 0.0 and not (guarded and scratch.hidden[edge]):
                total += reads[target]
                adjoints[target] += gradient * a[T - 1, operator]
        a_grad[T - 1, operator] += gradient * total


@part
def _scale_back(scratch: Scratch, t: int, seed: float, normalize: bool) -> None:
    """Turn gradients to u_t, `seed` for every entity and more for some, into gradients to v_t."""
    memory, adjoint = scratch.memories[t], scratch.adjoints[t]
    drift = 0.0
    for i in range(scratch.reached[t]):
        entity = scratch.touched[i]
        adjoint[entity] += seed
        drift += adjoint[entity] * memory[entity]
    scale = _scale(scratch.totals[t], normalize)
    if not normalize or scratch.totals[t] < SMALLEST_SUM:
        drift = 0.0
    for i in range(scratch.reached[t]):
        entity = scratch.touched[i]
        adjoint[entity] = scale * (adjoint[entity] - drift)


@part
def _hop_back(
    graph: Graph, scratch: Scratch, t: int, a: Floats, b: Floats, a_grad: Floats, b_grad: Floats
) -> None:
    """Pass the gradient to v_t on to a_t, b_t and the memories before."""
    adjoint = scratch.adjoints[t]
    for i in range(scratch.reached[t - 1]):
        entity = scratch.touched[i]
        read = _read(scratch.memories, b, t, entity)
        if read == 0.0:
            continue
        guarded = scratch.guarded[entity]
        gradient = 0.0
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            operator = graph.operators[run]
            if a[operator] == 0.0:
                continue
            total = 0.0
            for edge in range(graph.starts[run], graph.starts[run + 1]):
                if not (guarded and scratch.hidden[edge]):
                    total += adjoint[graph.targets[edge]]
            a_grad[operator] += read * total
            gradient += a[operator] * total
        _read_back(scratch, t, b, b_grad, entity, gradient)


@kernel
def score_pairs(
    graph: Graph, scratch: Scratch, first: int, last: int, sources: Small, rows: Ids,
    hidden_offsets: Ids, hidden_edges: Small, hidden_sources: Small, pair_offsets: Ids, pair_entities: Small, operator: Floats, memory: Floats,
    normalize: bool,
    scores: Floats, masses: Floats,
    score_grads: NDArray[np.float64], mass_grads: NDArray[np.float64],
    a_grads: NDArray[np.float64], b_grads: NDArray[np.float64], differentiate: bool
) -> None:
    """Add up the scores of the walks' pairs, and each walk's sum over all entities."""
    T = operator.shape[2]
    for walk in range(first, last):
        for i in range(hidden_offsets[walk], hidden_offsets[walk + 1]):
            scratch.hidden[hidden_edges[i]] = True
            scratch.guarded[hidden_sources[i]] = True
        mass_grad = mass_grads[walk]
        for rank in range(len(operator)):
            a = operator[rank, rows[walk]]
            b = memory[rank, rows[walk]]
            a_grad, b_grad = a_grads[walk, rank], b_grads[walk, rank]
            _walk_to_last_hop(graph, scratch, sources[walk], a, b, normalize, a_grad[T - 1])
            scale = _scale(scratch.totals[T], normalize)
            for t in range(T + 1):
                total = scratch.totals[t] * _scale(scratch.totals[t], normalize)
                masses[walk] += b[T, t] * total
                b_grad[T, t] = mass_grad * total
            for pair in range(pair_offsets[walk], pair_offsets[walk + 1]):
                entity = pair_entities[pair]
                u = scale * _inflow(graph, scratch, a, entity)
                scores[pair] += _read(scratch.memories, b[T], T, entity) + b[T, T] * u
                b_grad[T, T] += score_grads[pair] * u
            if differentiate:
                # Most entities hold no pair: their v_T gets one and the same gradient, so edges are counted again.
                fixed = normalize and scratch.totals[T] >= SMALLEST_SUM
                common = scale * b[T, T] * (mass_grad - (b_grad[T, T] if fixed else 0.0))
                for k in range(a.shape[1]):
                    a_grad[T - 1, k] *= common
                for i in range(scratch.reached[T - 1]):
                    scratch.adjoints[T, scratch.touched[i]] *= common
                for pair in range(pair_offsets[walk], pair_offsets[walk + 1]):
                    entity = pair_entities[pair]
                    if scratch.seen[entity]:
                        _read_back(scratch, T, b[T], b_grad[T], entity, score_grads[pair])
                    _inflow_back(graph, scratch, a, a_grad, entity, score_grads[pair] * scale * b[T, T])
                for i in range(scratch.reached[T - 1]):
                    entity = scratch.touched[i]
                    _read_back(scratch, T, b[T - 1], b_grad[T - 1], entity, float(scratch.adjoints[T, entity]))
                for t in range(T - 1, 0, -1):
                    _scale_back(scratch, t, mass_grad * b[T, t], normalize)
                    _hop_back(graph, scratch, t, a[t - 1], b[t - 1], a_grad[t - 1], b_grad[t - 1])
            _clear(scratch, T - 1)
        for i in range(hidden_offsets[walk], hidden_offsets[walk + 1]):
            scratch.hidden[hidden_edges[i]] = False
            scratch.guarded[hidden_sources[i]] = False

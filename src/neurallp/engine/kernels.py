"""The compiled loops of the frontier engine: one walk at a time, forward and backward."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numba.extending import register_jitable
from numpy.typing import NDArray

from ..knowledge import Ids
from .reference import SMALLEST_SUM

Floats = NDArray[np.floating[Any]]
Small = NDArray[np.uint32]  # Half the traffic of 64 bits, and unsigned: numba adds no test for -1.
Flags = NDArray[np.bool_]

F = TypeVar("F", bound=Callable[..., Any])
EXTRA=eval(os.environ.get('EXTRA','{}'))

def kernel(function: F) -> F:
    """Return `function` compiled at its first call, kept on disk for the next, and free of the GIL."""
    return cast(F, njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True, **EXTRA)(function))

def part(function: F) -> F:
    return cast(F, register_jitable(error_model="numpy", no_cfunc_wrapper=True, **EXTRA)(function))


class Graph(NamedTuple):
    offsets: Small  # entity e owns runs offsets[e] : offsets[e + 1]
    runs: Small  # (run, 3): operator, start, end
    targets: Small  # (edge,)


class Scratch(NamedTuple):
    memories: Floats  # (step T + 1, entity): u_t; in training the last row holds w_T, what step T reads
    adjoints: Floats  # (step T + 1, entity): gradients to u_t, then to v_t = u_t before it is divided
    totals: NDArray[np.float64]  # (step T + 1,): sum_e v_t(e)
    touched: Small  # (entity,)
    reached: Ids  # (step T + 1,)
    seen: Flags  # (entity,)


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
    offsets, runs, targets = graph
    memories, _, _, touched, reached, seen = scratch
    memory = memories[t]
    num_touched = reached[t - 1]
    for i in range(reached[t - 1]):
        entity = touched[i]
        read = _read(memories, b, t, entity)
        if read == 0.0:
            continue
        for run in range(offsets[entity], offsets[entity + 1]):
            message = a[runs[run, 0]] * read
            if message == 0.0:
                continue
            for edge in range(runs[run, 1], runs[run, 2]):
                target = targets[edge]
                memory[target] += message
                if not seen[target]:
                    seen[target] = True
                    touched[num_touched] = target
                    num_touched += 1
    reached[t] = num_touched


@part
def _walk(
    graph: Graph, scratch: Scratch, source: int, a: Floats, b: Floats, hops: int, normalize: bool
) -> None:
    """Fill the memories u_0 ... u_hops of a walk from `source` (eqs. 6 and 7)."""
    memories, _, totals, touched, reached, seen = scratch
    memories[0, source] = 1.0
    seen[source] = True
    touched[0] = source
    reached[0] = 1
    totals[0] = 1.0
    for t in range(1, hops + 1):
        _hop(graph, scratch, t, a[t - 1], b[t - 1])
        total = 0.0
        for i in range(reached[t]):
            total += memories[t, touched[i]]
        scale = _scale(total, normalize)
        for i in range(reached[t]):
            memories[t, touched[i]] *= scale
        totals[t] = total


@part
def _clear(scratch: Scratch, last: int) -> None:
    """Wipe what a walk has touched up to memory `last`."""
    memories, adjoints, _, touched, reached, seen = scratch
    for i in range(reached[last]):
        entity = touched[i]
        seen[entity] = False
        for t in range(len(memories)):
            memories[t, entity] = 0.0
            adjoints[t, entity] = 0.0


@part
def _count_last_hop(
    graph: Graph, scratch: Scratch, T: int, a: Floats, b: Floats, counts: Floats
) -> None:
    """Walk T - 1 steps and prepare the last: what it reads, and its sum, from edges counted, not followed."""
    offsets, runs, _ = graph
    memories, adjoints, totals, touched, reached, _ = scratch
    total = 0.0
    for i in range(reached[T - 1]):
        entity = touched[i]
        read = _read(memories, b, T, entity)
        outflow = 0.0
        for run in range(offsets[entity], offsets[entity + 1]):
            operator = runs[run, 0]
            count = runs[run, 2] - runs[run, 1]
            outflow += a[operator] * count
            counts[operator] += read * count
        memories[T, entity] = read
        adjoints[T, entity] = outflow
        total += read * outflow
    totals[T] = total


@part
def _inverse(operator: int, num_operators: int) -> int:
    return (operator + num_operators // 2) % num_operators


@part
def _inflow(graph: Graph, reads: Floats, a: Floats, entity: int) -> float:
    """Return v_T(entity), what the last hop brings: its edges in are the inverses of its edges out."""
    offsets, runs, targets = graph
    total = 0.0
    for run in range(offsets[entity], offsets[entity + 1]):
        weight = a[_inverse(runs[run, 0], len(a))]
        for edge in range(runs[run, 1], runs[run, 2]):
            total += weight * reads[targets[edge]]
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
    graph: Graph, reads: Floats, adjoints: Floats, a: Floats, a_grad: Floats, entity: int, gradient: float
) -> None:
    """Pass the gradient to v_T(entity) on to a_T and to w_T."""
    offsets, runs, targets = graph
    for run in range(offsets[entity], offsets[entity + 1]):
        operator = _inverse(runs[run, 0], len(a))
        total = 0.0
        for edge in range(runs[run, 1], runs[run, 2]):
            target = targets[edge]
            if reads[target] != 0.0:
                total += reads[target]
                adjoints[target] += gradient * a[operator]
        a_grad[operator] += gradient * total


@part
def _hop_back(
    graph: Graph, scratch: Scratch, t: int, a: Floats, b: Floats, a_grad: Floats, b_grad: Floats, seed: float, normalize: bool
) -> None:
    """Pass the gradient to v_t on to a_t, b_t and the memories before."""
    offsets, runs, targets = graph
    memories, adjoints, totals, touched, reached, _ = scratch
    memory, adjoint = memories[t], adjoints[t]
    drift = 0.0
    for i in range(reached[t]):
        entity = touched[i]
        adjoint[entity] += seed
        drift += adjoint[entity] * memory[entity]
    scale = _scale(totals[t], normalize)
    if not normalize or totals[t] < SMALLEST_SUM:
        drift = 0.0
    for i in range(reached[t]):
        entity = touched[i]
        adjoint[entity] = scale * (adjoint[entity] - drift)
    for i in range(reached[t - 1]):
        entity = touched[i]
        read = _read(memories, b, t, entity)
        if read == 0.0:
            continue
        gradient = 0.0
        for run in range(offsets[entity], offsets[entity + 1]):
            operator = runs[run, 0]
            if a[operator] == 0.0:
                continue
            total = 0.0
            for edge in range(runs[run, 1], runs[run, 2]):
                total += adjoint[targets[edge]]
            a_grad[operator] += read * total
            gradient += a[operator] * total
        _read_back(scratch, t, b, b_grad, entity, gradient)


@kernel
def score_pairs(
    graph: Graph, scratch: Scratch, first: int, last: int, sources: Small, rows: Ids,
    hidden_offsets: Ids, hidden_edges: Small, hidden_runs: Small, pair_offsets: Ids, pair_entities: Small, operator: Floats, memory: Floats,
    normalize: bool,
    scores: Floats, masses: Floats,
    score_grads: NDArray[np.float64], mass_grads: NDArray[np.float64],
    a_grads: NDArray[np.float64], b_grads: NDArray[np.float64], differentiate: bool
) -> None:
    """Add up the scores of the walks' pairs, and each walk's sum over all entities."""
    offsets, runs, targets = graph
    memories, adjoints, totals, touched, reached, seen = scratch
    T = operator.shape[2]
    for walk in range(first, last):
        for i in range(hidden_offsets[walk], hidden_offsets[walk + 1]):
            run = hidden_runs[i]
            edge = hidden_edges[i]
            runs[run, 2] -= 1
            end = runs[run, 2]
            targets[edge], targets[end] = targets[end], targets[edge]
        mass_grad = mass_grads[walk]
        for rank in range(len(operator)):
            a = operator[rank, rows[walk]]
            b = memory[rank, rows[walk]]
            a_grad, b_grad = a_grads[walk, rank], b_grads[walk, rank]
            _walk(graph, scratch, sources[walk], a, b, T - 1, normalize)
            _count_last_hop(graph, scratch, T, a[T - 1], b[T - 1], a_grad[T - 1])
            for t in range(T + 1):
                total = totals[t] * _scale(totals[t], normalize)
                masses[walk] += b[T, t] * total
                b_grad[T, t] = mass_grad * total
            scale = _scale(totals[T], normalize)
            for pair in range(pair_offsets[walk], pair_offsets[walk + 1]):
                entity = pair_entities[pair]
                u = scale * _inflow(graph, memories[T], a[T - 1], entity)
                scores[pair] += _read(memories, b[T], T, entity) + b[T, T] * u
                b_grad[T, T] += score_grads[pair] * u
            if differentiate:
                # Most entities hold no pair: their v_T gets one and the same gradient, so edges are counted again.
                fixed = normalize and scratch.totals[T] >= SMALLEST_SUM
                common = scale * b[T, T] * (mass_grad - (b_grad[T, T] if fixed else 0.0))
                for k in range(a.shape[1]):
                    a_grad[T - 1, k] *= common
                for i in range(reached[T - 1]):
                    adjoints[T, touched[i]] *= common
                for pair in range(pair_offsets[walk], pair_offsets[walk + 1]):
                    entity = pair_entities[pair]
                    if seen[entity]:
                        _read_back(scratch, T, b[T], b_grad[T], entity, score_grads[pair])
                    _inflow_back(graph, memories[T], adjoints[T], a[T - 1], a_grad[T - 1], entity, score_grads[pair] * scale * b[T, T])
                for i in range(reached[T - 1]):
                    entity = touched[i]
                    _read_back(scratch, T, b[T - 1], b_grad[T - 1], entity, float(adjoints[T, entity]))
                for t in range(T - 1, 0, -1):
                    _hop_back(graph, scratch, t, a[t - 1], b[t - 1], a_grad[t - 1], b_grad[t - 1], mass_grad * b[T, t], normalize)
            _clear(scratch, T - 1)
        for i in range(hidden_offsets[walk], hidden_offsets[walk + 1]):
            run = hidden_runs[i]
            edge = hidden_edges[i]
            end = runs[run, 2]
            runs[run, 2] += 1
            targets[edge], targets[end] = targets[end], targets[edge]

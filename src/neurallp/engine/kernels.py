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
PEXTRA=eval(os.environ.get('PEXTRA','{}'))

def kernel(function: F) -> F:
    """Return `function` compiled at its first call, kept on disk for the next, and free of the GIL."""
    return cast(F, njit(nogil=True, cache=True, error_model="numpy", no_cfunc_wrapper=True, **EXTRA)(function))

def part(function: F) -> F:
    return cast(F, register_jitable(error_model="numpy", no_cfunc_wrapper=True, **EXTRA, **PEXTRA)(function))


@part
def _scale(total: float, normalize: bool) -> float:
    """Return what v_t is multiplied by to give u_t."""
    if normalize:
        return 1.0 / (total if total > SMALLEST_SUM else SMALLEST_SUM)
    return 1.0


@part
def _read(memories: Floats, weights: Floats, t: int, entity: int) -> float:
    """Return w_t(e) = sum_{s < t} b_t^s u_s(e), what step t reads."""
    total = weights[0] * memories[0, entity]
    for s in range(1, t):
        total += weights[s] * memories[s, entity]
    return total


@part
def _hop(offsets, runs, targets, a, b, memories, t, touched, seen, before) -> int:
    """Send v_t = sum_k a_t^k M_k w_t along the edges of all that was touched before step t."""
    memory = memories[t]
    reached = before
    for i in range(before):
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
                    touched[reached] = target
                    reached += 1
    return reached


@part
def _count_last_hop(
    offsets, runs, a: Floats, b, memories, T, touched, reached, counts: Floats
) -> float:
    """Walk T - 1 steps and prepare the last: what it reads, and its sum, from edges counted, not followed."""
    total = 0.0
    for i in range(reached):
        entity = touched[i]
        read = _read(memories, b, T, entity)
        outflow = 0.0
        for run in range(offsets[entity], offsets[entity + 1]):
            operator = runs[run, 0]
            count = runs[run, 2] - runs[run, 1]
            outflow += a[operator] * count
            counts[operator] += read * count
        memories[T, entity] = read
        memories[T + 1, entity] = outflow
        total += read * outflow
    return total


@part
def _inflow(offsets, runs, targets, a, a_grad, reads: Floats, adjoints, entity: int, gradient: float) -> float:
    """Return v_T(entity), what the last hop brings: its edges in are the inverses of its edges out."""
    total = 0.0
    K = len(a)
    for run in range(offsets[entity], offsets[entity + 1]):
        operator = (runs[run, 0] + K // 2) % K
        part = 0.0
        for edge in range(runs[run, 1], runs[run, 2]):
            source = targets[edge]
            if reads[source] != 0.0:
                part += reads[source]
                adjoints[source] += gradient * a[operator]
        a_grad[operator] += gradient * part
        total += a[operator] * part
    return total


@part
def _read_back(
    memories, adjoints, t: int, b: Floats, b_grad: Floats, entity: int, gradient: float
) -> None:
    """Pass the gradient to w_t(entity) on to b_t and to the memories that step t reads."""
    for s in range(t):
        b_grad[s] += gradient * memories[s, entity]
        adjoints[s, entity] += gradient * b[s]


@part
def _scale_back(memory, adjoint, touched, reached, scale, fixed, seed: float) -> None:
    """Turn gradients to u_t, `seed` for every entity and more for some, into gradients to v_t."""
    drift = 0.0
    for i in range(reached):
        entity = touched[i]
        adjoint[entity] += seed
        drift += adjoint[entity] * memory[entity]
    if not fixed:
        drift = 0.0
    for i in range(reached):
        entity = touched[i]
        adjoint[entity] = scale * (adjoint[entity] - drift)


@part
def _hop_back(
    offsets, runs, targets, a: Floats, b: Floats, a_grad: Floats, b_grad: Floats, memories, adjoints, t: int, touched, before
) -> None:
    """Pass the gradient to v_t on to a_t, b_t and the memories before."""
    adjoint = adjoints[t]
    for i in range(before):
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
        _read_back(memories, adjoints, t, b, b_grad, entity, gradient)


@part
def _hide(runs, targets, hidden, flag):
    for i in range(len(hidden)):
        run = hidden[i, 0]
        edge = hidden[i, 1]
        runs[run, 2] -= flag
        end = runs[run, 2]
        targets[edge], targets[end] = targets[end], targets[edge]


@kernel
def score_pairs(
    offsets, runs, targets, memories, adjoints, totals, touched, reached, seen, counts,
    first: int, last: int, sources: Small, rows: Ids,
    hidden_offsets: Ids, hidden: Small, pair_offsets: Ids, pair_entities: Small, operator: Floats, memory: Floats,
    normalize: bool,
    scores: Floats, masses: Floats,
    score_grads: NDArray[np.float64], mass_grads: NDArray[np.float64],
    a_grads: NDArray[np.float64], b_grads: NDArray[np.float64], differentiate: bool
) -> None:
    """Add up the scores of the walks' pairs, and each walk's sum over all entities."""
    T = operator.shape[2]
    for walk in range(first, last):
        _hide(runs, targets, hidden[hidden_offsets[walk]:hidden_offsets[walk+1]], 1)
        mass_grad = mass_grads[walk]
        for rank in range(len(operator)):
            a = operator[rank, rows[walk]]
            b = memory[rank, rows[walk]]
            a_grad, b_grad = a_grads[walk, rank], b_grads[walk, rank]
            source = sources[walk]
            memories[0, source] = 1.0
            seen[source] = True
            touched[0] = source
            reached[0] = 1
            totals[0] = 1.0
            for t in range(1, T):
                reached[t] = _hop(offsets, runs, targets, a[t - 1], b[t - 1], memories, t, touched, seen, reached[t - 1])
                total = 0.0
                for i in range(reached[t]):
                    total += memories[t, touched[i]]
                scale = _scale(total, normalize)
                for i in range(reached[t]):
                    memories[t, touched[i]] *= scale
                totals[t] = total
            counts[:] = 0.0
            totals[T] = _count_last_hop(offsets, runs, a[T - 1], b[T - 1], memories, T, touched, reached[T - 1], counts)
            for t in range(T + 1):
                total = totals[t] * _scale(totals[t], normalize)
                masses[walk] += b[T, t] * total
                b_grad[T, t] = mass_grad * total
            scale = _scale(totals[T], normalize)
            for pair in range(pair_offsets[walk], pair_offsets[walk + 1]):
                entity = pair_entities[pair]
                u = scale * _inflow(offsets, runs, targets, a[T - 1], a_grad[T - 1], memories[T], adjoints[T], entity, score_grads[pair])
                scores[pair] += _read(memories, b[T], T, entity) + b[T, T] * u
                b_grad[T, T] += score_grads[pair] * u
                if seen[entity]:
                    _read_back(memories, adjoints, T, b[T], b_grad[T], entity, score_grads[pair])
            if differentiate:
                # Most entities hold no pair: their v_T gets one and the same gradient, so edges are counted again.
                fixed = normalize and totals[T] >= SMALLEST_SUM
                common = (mass_grad - (b_grad[T, T] if fixed else 0.0))
                scale *= b[T, T]
                for k in range(a.shape[1]):
                    a_grad[T - 1, k] = scale * (a_grad[T - 1, k] + common * counts[k])
                for i in range(reached[T - 1]):
                    entity = touched[i]
                    gradient = scale * (adjoints[T, entity] + common * memories[T + 1, entity])
                    _read_back(memories, adjoints, T, b[T - 1], b_grad[T - 1], entity, gradient)
                for t in range(T - 1, 0, -1):
                    _scale_back(memories[t], adjoints[t], touched, reached[t], _scale(totals[t], normalize), normalize and totals[t] >= SMALLEST_SUM, mass_grad*b[T, t])
                    _hop_back(offsets, runs, targets, a[t - 1], b[t - 1], a_grad[t - 1], b_grad[t - 1], memories, adjoints, t, touched, reached[t - 1])
            for i in range(reached[T - 1]):
                entity = touched[i]
                seen[entity] = False
                memories[:, entity] = 0.0
                adjoints[:, entity] = 0.0
        _hide(runs, targets, hidden[hidden_offsets[walk]:hidden_offsets[walk+1]], -1)

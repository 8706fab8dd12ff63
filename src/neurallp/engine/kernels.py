"""The compiled loops of the frontier engine: one walk at a time, forward and backward.

Numba compiles them at the first use, in front of a waiting user. What that takes grows with the number of
arguments and of calls, so the loops take plain arrays and index them in place.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids
from .reference import SMALLEST_SUM

Doubles = NDArray[np.float64]
Small = NDArray[np.uint32]  # half the traffic of 64 bits, and unsigned: numba adds no test for -1
Flags = NDArray[np.bool_]

#: Entities that share a flag saying that one of them has a score.
BLOCK = 32

#: Kernels allocate nothing, so they need no counting of references: a fifth less to compile.
OPTIONS: dict[str, Any] = {"nogil": True, "_nrt": False, "error_model": "numpy", "no_cfunc_wrapper": True}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Return `function` compiled at its first call, kept on disk for the next, and free of the GIL."""
    return cast(F, njit(**OPTIONS, cache=True)(function))


def part(function: F) -> F:
    """Return `function` compiled for kernels to call, not for Python: that halves the time to compile."""
    return cast(F, njit(**OPTIONS | {"no_cpython_wrapper": True})(function))


class Graph(NamedTuple):
    """Edges grouped into runs: those of one entity that belong to one operator."""

    offsets: Small  # (entity + 1,) where each entity's runs begin
    runs: Small  # (run, 5): operator, its inverse, first edge, end of its edges, how many the last hop counts
    targets: Small  # (edge,)
    run_of: Small  # (edge,)


class Trail(NamedTuple):
    """What one walk leaves behind; all of it zero between walks."""

    memories: Doubles  # (T + 2, entity): u_0 … u_{T-1}; then what the last hop reads, and its outflow
    adjoints: Doubles  # (T + 1, entity): gradients to the memories; or, in row 0, scores added over ranks
    touched: Small  # entities in order of first touch
    seen: Flags  # (entity,) whether touched
    reached: Ids  # (T + 1,) how many were touched by step t
    totals: Doubles  # (T + 1,) the sum of each memory before it is divided by it
    counts: Doubles  # (operator,) what the last hop reads, times the edges there are
    blocks: Flags  # (block,) whether a block of entities has scores


class Task(NamedTuple):
    """The walks of a call, and the attention they follow."""

    sources: Small
    rows: Ids
    hidden: Ids  # (list, n): edges to hide, ascending; -1 stands for none
    hiding: Ids  # (walk,) the list of each
    operator: Doubles  # (rank, row, step, operator)
    memory: Doubles  # (rank, row, step + 1, slot)
    normalize: bool
    may_return: bool


class Pairs(NamedTuple):
    """The entities whose scores are wanted, walk by walk, and the gradients to them."""

    offsets: Ids  # (walk + 1,)
    entities: Small
    gradients: Doubles
    total_gradients: Doubles  # (walk,)


@part
def _scale(total: float, normalize: bool) -> float:
    """Return what a memory is multiplied by; one that holds nothing stays as it is."""
    if normalize and total > 0.0:
        return 1.0 / max(total, SMALLEST_SUM)
    return 1.0


@part
def _hide_next(
    runs: Small, targets: Small, run_of: Small, hidden: Ids, hiding: Ids, first: int, walk: int, end: int
) -> None:
    """Show the edges hidden from the walk before and hide those of the next, unless these are the same.

    What is hidden is swapped behind the end of its run: the last edge first, and shown in the opposite order.
    """
    if first < walk < end and hiding[walk - 1] == hiding[walk]:
        return
    num = hidden.shape[1]
    for hide in range(0 if walk > first else 1, 2 if walk < end else 1):
        row = hiding[walk - 1 + hide]
        for i in range(num):
            edge = hidden[row, num - 1 - i if hide else i]
            if edge < 0:
                continue
            run = run_of[edge]
            runs[run, 3] -= hide
            behind = runs[run, 3]
            targets[edge], targets[behind] = targets[behind], targets[edge]
            runs[run, 3] += 1 - hide
            runs[run, 4] += 1 - 2 * hide


@part
def _count_returns(offsets: Small, runs: Small, targets: Small, source: int, by: int) -> None:
    """Change by how many edges the last hop counts in each run that leads back to the source."""
    for run in range(offsets[source], offsets[source + 1]):
        inverse = runs[run, 1]
        for edge in range(runs[run, 2], runs[run, 3]):
            entity = targets[edge]
            for back in range(offsets[entity], offsets[entity + 1]):
                if runs[back, 0] == inverse:
                    runs[back, 4] += by


@part
def _hop(
    offsets: Small,
    runs: Small,
    targets: Small,
    memories: Doubles,
    touched: Small,
    seen: Flags,
    num: int,
    t: int,
    a: Doubles,
    b: Doubles,
) -> int:
    """Fill memory t with sum_k a_t^k M_k of what step t reads, from all that was touched before."""
    reached = num
    for i in range(num):
        entity = touched[i]
        read = 0.0
        for s in range(t):
            read += b[t - 1, s] * memories[s, entity]
        if read == 0.0:
            continue
        for run in range(offsets[entity], offsets[entity + 1]):
            message = a[t - 1, runs[run, 0]] * read
            if message == 0.0:
                continue
            for edge in range(runs[run, 2], runs[run, 3]):
                target = targets[edge]
                memories[t, target] += message
                if not seen[target]:
                    seen[target] = True
                    touched[reached] = target
                    reached += 1
    return reached


@part
def _walk(
    offsets: Small,
    runs: Small,
    targets: Small,
    memories: Doubles,
    touched: Small,
    seen: Flags,
    reached: Ids,
    totals: Doubles,
    source: int,
    num_hops: int,
    a: Doubles,
    b: Doubles,
    normalize: bool,
    may_return: bool,
) -> None:
    """Leave u_0 … u_{num_hops} of one walk and rank in the trail (eqs. 6 and 7)."""
    memories[0, source] = 1.0
    seen[source] = True
    touched[0] = source
    reached[0] = 1
    totals[0] = 1.0
    for t in range(1, num_hops + 1):
        num = _hop(offsets, runs, targets, memories, touched, seen, reached[t - 1], t, a, b)
        reached[t] = num
        if not may_return:
            memories[t, source] = 0.0
        total = 0.0
        for i in range(num):
            total += memories[t, touched[i]]
        scale = _scale(total, normalize)
        for i in range(num):
            memories[t, touched[i]] *= scale
        totals[t] = total


@part
def _count_last_hop(
    offsets: Small,
    runs: Small,
    memories: Doubles,
    touched: Small,
    num: int,
    last: int,
    a: Doubles,
    b: Doubles,
    counts: Doubles,
) -> float:
    """Leave what the last hop reads and its outflow, edges counted instead of followed; return the sum."""
    total = 0.0
    for i in range(num):
        entity = touched[i]
        read = 0.0
        for s in range(last):
            read += b[last - 1, s] * memories[s, entity]
        outflow = 0.0
        for run in range(offsets[entity], offsets[entity + 1]):
            operator, count = runs[run, 0], runs[run, 4]
            outflow += a[last - 1, operator] * count
            counts[operator] += read * count
        memories[last, entity] = read
        memories[last + 1, entity] = outflow
        total += read * outflow
    return total


@part
def _inflow(
    offsets: Small,
    runs: Small,
    targets: Small,
    memories: Doubles,
    adjoints: Doubles,
    a: Doubles,
    a_grad: Doubles,
    entity: int,
    gradient: float,
) -> float:
    """Return what the last hop brings to an entity, whose edges in are the inverses of its edges out."""
    last = len(a)
    total = 0.0
    for run in range(offsets[entity], offsets[entity + 1]):
        operator = runs[run, 1]
        weight = a[last - 1, operator]
        brought = 0.0
        for edge in range(runs[run, 2], runs[run, 3]):
            source = targets[edge]
            read = memories[last, source]
            if read != 0.0:
                brought += read
                adjoints[last, source] += gradient * weight
        a_grad[last - 1, operator] += gradient * brought
        total += weight * brought
    return total


@part
def _read_back(
    memories: Doubles,
    adjoints: Doubles,
    num: int,
    row: int,
    b: Doubles,
    b_grad: Doubles,
    entity: int,
    gradient: float,
) -> None:
    """Pass the gradient to a weighted sum of memories on to the weights and to the memories."""
    for s in range(num):
        b_grad[row, s] += gradient * memories[s, entity]
        adjoints[s, entity] += gradient * b[row, s]


@part
def _hop_back(
    offsets: Small,
    runs: Small,
    targets: Small,
    memories: Doubles,
    adjoints: Doubles,
    touched: Small,
    num: int,
    t: int,
    a: Doubles,
    b: Doubles,
    a_grad: Doubles,
    b_grad: Doubles,
) -> None:
    """Pass the gradient to memory t on to both attentions of step t and to the memories before."""
    for i in range(num):
        entity = touched[i]
        read = 0.0
        for s in range(t):
            read += b[t - 1, s] * memories[s, entity]
        # Attention of exactly 0 was not followed: its gradient is lost, but softmax multiplies it by 0.
        if read == 0.0:
            continue
        gradient = 0.0
        for run in range(offsets[entity], offsets[entity + 1]):
            operator = runs[run, 0]
            weight = a[t - 1, operator]
            if weight == 0.0:
                continue
            total = 0.0
            for edge in range(runs[run, 2], runs[run, 3]):
                total += adjoints[t, targets[edge]]
            a_grad[t - 1, operator] += read * total
            gradient += weight * total
        _read_back(memories, adjoints, t, t - 1, b, b_grad, entity, gradient)


@part
def _scale_back(
    memories: Doubles,
    adjoints: Doubles,
    touched: Small,
    num: int,
    t: int,
    total: float,
    normalize: bool,
    common: float,
) -> None:
    """Turn gradients to u_t, plus one `common` to all entities, into gradients before the division."""
    drift = 0.0
    if normalize and total > SMALLEST_SUM:
        for i in range(num):
            entity = touched[i]
            drift += (adjoints[t, entity] + common) * memories[t, entity]
    scale = _scale(total, normalize)
    for i in range(num):
        entity = touched[i]
        adjoints[t, entity] = scale * (adjoints[t, entity] + common - drift)


@part
def _clear(memories: Doubles, touched: Small, seen: Flags, num: int) -> None:
    for i in range(num):
        entity = touched[i]
        seen[entity] = False
        for t in range(len(memories)):
            memories[t, entity] = 0.0


@kernel
def score_pairs(
    graph: Graph,
    trail: Trail,
    first: int,
    end: int,
    task: Task,
    pairs: Pairs,
    scores: Doubles,
    sums: Doubles,
    a_grads: Doubles,
    b_grads: Doubles,
    base: int,
    differentiate: bool,
) -> None:
    """Add up the scores of pairs and each walk's total; with `differentiate`, their gradients too.

    Gradients of a walk go to row `walk - base` of `a_grads` and `b_grads`; without, row 0 takes zeros.
    """
    offsets, runs, targets, run_of = graph
    memories, adjoints, touched, seen, reached, totals, counts, _ = trail
    sources, rows, hidden, hiding, operator, memory, normalize, may_return = task
    num_ranks, last, num_operators = len(operator), int(operator.shape[2]), int(operator.shape[3])
    for walk in range(first, end):
        source, place = sources[walk], walk - base if differentiate else 0
        common = pairs.total_gradients[walk]
        _hide_next(runs, targets, run_of, hidden, hiding, first, walk, end)
        if not may_return:
            _count_returns(offsets, runs, targets, source, may_return - 1)
        for rank in range(num_ranks):
            a, b = operator[rank, rows[walk]], memory[rank, rows[walk]]
            a_grad, b_grad = a_grads[place, rank], b_grads[place, rank]
            _walk(
                offsets,
                runs,
                targets,
                memories,
                touched,
                seen,
                reached,
                totals,
                source,
                last - 1,
                a,
                b,
                normalize,
                may_return,
            )
            num = reached[last - 1]
            for k in range(num_operators):
                counts[k] = 0.0
            totals[last] = _count_last_hop(offsets, runs, memories, touched, num, last, a, b, counts)
            scale = _scale(totals[last], normalize)
            for t in range(last + 1):
                mass = totals[t] * _scale(totals[t], normalize)
                sums[walk] += b[last, t] * mass
                b_grad[last, t] += common * mass
            for pair in range(pairs.offsets[walk], pairs.offsets[walk + 1]):
                entity, gradient = pairs.entities[pair], pairs.gradients[pair]
                brought = 0.0
                if may_return or entity != source:
                    brought = scale * _inflow(
                        offsets, runs, targets, memories, adjoints, a, a_grad, entity, gradient
                    )
                score = b[last, last] * brought
                b_grad[last, last] += gradient * brought
                if seen[entity]:
                    for s in range(last):
                        score += b[last, s] * memories[s, entity]
                    _read_back(memories, adjoints, last, last, b, b_grad, entity, gradient)
                scores[pair] += score
            if differentiate:
                # Dividing by the sum takes away what all entities have in common.
                drift = common
                if normalize and totals[last] > SMALLEST_SUM:
                    drift -= b_grad[last, last]
                scale *= b[last, last]
                for k in range(num_operators):
                    a_grad[last - 1, k] = scale * (a_grad[last - 1, k] + drift * counts[k])
                for i in range(num):
                    entity = touched[i]
                    gradient = scale * (adjoints[last, entity] + drift * memories[last + 1, entity])
                    _read_back(memories, adjoints, last, last - 1, b, b_grad, entity, gradient)
                for t in range(last - 1, 0, -1):
                    _scale_back(
                        memories, adjoints, touched, reached[t], t, totals[t], normalize, common * b[last, t]
                    )
                    if not may_return:
                        adjoints[t, source] = 0.0
                    _hop_back(
                        offsets,
                        runs,
                        targets,
                        memories,
                        adjoints,
                        touched,
                        reached[t - 1],
                        t,
                        a,
                        b,
                        a_grad,
                        b_grad,
                    )
            _clear(memories, touched, seen, num)
            _clear(adjoints, touched, seen, num)
        if not may_return:
            _count_returns(offsets, runs, targets, source, 1 - may_return)
    _hide_next(runs, targets, run_of, hidden, hiding, first, end, end)


@kernel
def score_all(
    graph: Graph, trail: Trail, first: int, end: int, task: Task, ends: Ids, entities: Ids, values: Doubles
) -> None:
    """Write the scores of walks first … end - 1 one after another; `ends` says where each one's end."""
    offsets, runs, targets, run_of = graph
    memories, adjoints, touched, seen, reached, totals, _, blocks = trail
    sources, rows, hidden, hiding, operator, memory, normalize, may_return = task
    num_ranks, last = len(operator), int(operator.shape[2])
    place = 0
    for walk in range(first, end):
        _hide_next(runs, targets, run_of, hidden, hiding, first, walk, end)
        for rank in range(num_ranks):
            a, b = operator[rank, rows[walk]], memory[rank, rows[walk]]
            _walk(
                offsets,
                runs,
                targets,
                memories,
                touched,
                seen,
                reached,
                totals,
                sources[walk],
                last,
                a,
                b,
                normalize,
                may_return,
            )
            for i in range(reached[last]):
                entity = touched[i]
                blocks[entity // BLOCK] = True
                for s in range(last + 1):
                    adjoints[0, entity] += b[last, s] * memories[s, entity]
            _clear(memories, touched, seen, reached[last])
        for block in range(len(blocks)):
            if not blocks[block]:
                continue
            blocks[block] = False
            for entity in range(block * BLOCK, min((block + 1) * BLOCK, adjoints.shape[1])):
                if adjoints[0, entity] != 0.0:
                    entities[place] = entity
                    values[place] = adjoints[0, entity]
                    adjoints[0, entity] = 0.0
                    place += 1
        ends[walk - first] = place
    _hide_next(runs, targets, run_of, hidden, hiding, first, end, end)

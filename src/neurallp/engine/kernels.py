"""The compiled loops of the frontier engine: one walk at a time, forward and backward."""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ..knowledge import Ids
from .reference import SMALLEST_SUM

Floats = NDArray[np.floating[Any]]
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
    runs: Small  # (run, 3): operator, first edge, end of its edges
    targets: Small  # (edge,)


class Trail(NamedTuple):
    """What one walk leaves behind; all of it zero between walks."""

    memories: Floats  # (T + 2, entity): u_0 … u_{T-1}; then what the last hop reads, and its outflow
    adjoints: Floats  # (T + 1, entity): gradients to the memories
    touched: Small  # entities in order of first touch
    seen: Flags  # (entity,) whether touched
    reached: Ids  # (T + 1,) how many were touched by step t
    totals: Doubles  # (T + 1,) the sum of each memory before it is divided by it
    counts: Doubles  # (operator,) what the last hop reads, times the edges there are
    final: Floats  # (entity,) scores, added over ranks
    blocks: Flags  # (block,) whether a block of `final` holds any
    returning: Flags  # (run,) whether one of its edges leads back to the source


class Task(NamedTuple):
    """The walks of a call, and the attention they follow."""

    sources: Small
    rows: Ids
    hidden_offsets: Ids
    hidden: Small  # (hidden edge, 2): its run and itself, ascending within a walk
    operator: Floats  # (rank, row, step, operator)
    memory: Floats  # (rank, row, step + 1, slot)
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
def _read(memories: Floats, weights: Floats, num: int, entity: int) -> float:
    """Return the weighted sum of an entity's first `num` memories."""
    total = 0.0
    for s in range(num):
        total += weights[s] * memories[s, entity]
    return total


@part
def _hide(graph: Graph, task: Task, walk: int) -> None:
    """Swap the edges hidden from a walk behind the end of their runs, the last first."""
    for i in range(task.hidden_offsets[walk + 1] - 1, task.hidden_offsets[walk] - 1, -1):
        run, edge = task.hidden[i, 0], task.hidden[i, 1]
        graph.runs[run, 2] -= 1
        end = graph.runs[run, 2]
        graph.targets[edge], graph.targets[end] = graph.targets[end], graph.targets[edge]


@part
def _show(graph: Graph, task: Task, walk: int) -> None:
    """Undo `_hide`."""
    for i in range(task.hidden_offsets[walk], task.hidden_offsets[walk + 1]):
        run, edge = task.hidden[i, 0], task.hidden[i, 1]
        end = graph.runs[run, 2]
        graph.runs[run, 2] += 1
        graph.targets[edge], graph.targets[end] = graph.targets[end], graph.targets[edge]


@part
def _hides_the_same(task: Task, walk: int) -> bool:
    """Return whether the same edges are hidden from a walk as from the one before."""
    before, start, end = (
        task.hidden_offsets[walk - 1],
        task.hidden_offsets[walk],
        task.hidden_offsets[walk + 1],
    )
    same = bool(start - before == end - start)
    for i in range(end - start if same else 0):
        same &= task.hidden[before + i, 1] == task.hidden[start + i, 1]
    return same


@part
def _hide_next(graph: Graph, task: Task, walk: int, first: int) -> None:
    """Hide the edges of one walk instead of those of the walk before, unless these are the same."""
    if walk > first:
        if _hides_the_same(task, walk):
            return
        _show(graph, task, walk - 1)
    _hide(graph, task, walk)


@part
def _hop(graph: Graph, trail: Trail, t: int, a: Floats, b: Floats) -> None:
    """Fill memory t with sum_k a_t^k M_k of what step t reads, from all that was touched before."""
    memory = trail.memories[t]
    reached = trail.reached[t - 1]
    for i in range(trail.reached[t - 1]):
        entity = trail.touched[i]
        read = _read(trail.memories, b, t, entity)
        if read == 0.0:
            continue
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            message = a[graph.runs[run, 0]] * read
            if message == 0.0:
                continue
            for edge in range(graph.runs[run, 1], graph.runs[run, 2]):
                target = graph.targets[edge]
                memory[target] += message
                if not trail.seen[target]:
                    trail.seen[target] = True
                    trail.touched[reached] = target
                    reached += 1
    trail.reached[t] = reached


@part
def _walk(graph: Graph, trail: Trail, source: int, num_hops: int, a: Floats, b: Floats, task: Task) -> None:
    """Leave u_0 … u_{num_hops} of one walk and rank in the trail (eqs. 6 and 7)."""
    trail.memories[0, source] = 1.0
    trail.seen[source] = True
    trail.touched[0] = source
    trail.reached[0] = 1
    trail.totals[0] = 1.0
    for t in range(1, num_hops + 1):
        _hop(graph, trail, t, a[t - 1], b[t - 1])
        if not task.may_return:
            trail.memories[t, source] = 0.0
        total = 0.0
        for i in range(trail.reached[t]):
            total += trail.memories[t, trail.touched[i]]
        scale = _scale(total, task.normalize)
        for i in range(trail.reached[t]):
            trail.memories[t, trail.touched[i]] *= scale
        trail.totals[t] = total


@part
def _flag_returns(graph: Graph, trail: Trail, source: int, num_operators: int, flag: bool) -> None:
    """Set the flag of every run that leads back to the source: the inverses of its own edges."""
    for run in range(graph.offsets[source], graph.offsets[source + 1]):
        inverse = (graph.runs[run, 0] + num_operators // 2) % num_operators
        for edge in range(graph.runs[run, 1], graph.runs[run, 2]):
            entity = graph.targets[edge]
            for back in range(graph.offsets[entity], graph.offsets[entity + 1]):
                if graph.runs[back, 0] == inverse:
                    trail.returning[back] = flag


@part
def _count_last_hop(graph: Graph, trail: Trail, last: int, a: Floats, b: Floats, may_return: bool) -> None:
    """Leave what the last hop reads and its sum, from edges counted instead of followed."""
    trail.counts[:] = 0.0
    total = 0.0
    for i in range(trail.reached[last - 1]):
        entity = trail.touched[i]
        read = _read(trail.memories, b, last, entity)
        outflow = 0.0
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            operator = graph.runs[run, 0]
            count = np.int32(graph.runs[run, 2] - graph.runs[run, 1])
            if not may_return and trail.returning[run]:
                count -= 1
            outflow += a[operator] * count
            trail.counts[operator] += read * count
        trail.memories[last, entity] = read
        trail.memories[last + 1, entity] = outflow
        total += read * outflow
    trail.totals[last] = total


@part
def _inflow(
    graph: Graph, trail: Trail, last: int, a: Floats, a_grad: Doubles, entity: int, gradient: float
) -> float:
    """Return what the last hop brings to an entity, whose edges in are the inverses of its edges out."""
    total = 0.0
    num_relations = len(a) // 2
    for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
        operator = (graph.runs[run, 0] + num_relations) % len(a)
        brought = 0.0
        for edge in range(graph.runs[run, 1], graph.runs[run, 2]):
            source = graph.targets[edge]
            read = trail.memories[last, source]
            if read != 0.0:
                brought += read
                trail.adjoints[last, source] += gradient * a[operator]
        a_grad[operator] += gradient * brought
        total += a[operator] * brought
    return total


@part
def _read_back(trail: Trail, num: int, b: Floats, b_grad: Doubles, entity: int, gradient: float) -> None:
    """Pass the gradient to a weighted sum of memories on to the weights and to the memories."""
    for s in range(num):
        b_grad[s] += gradient * trail.memories[s, entity]
        trail.adjoints[s, entity] += gradient * b[s]


@part
def _scale_back(trail: Trail, t: int, normalize: bool, common: float) -> None:
    """Turn gradients to u_t, plus one `common` to all entities, into gradients before the division."""
    memory, adjoint = trail.memories[t], trail.adjoints[t]
    drift = 0.0
    for i in range(trail.reached[t]):
        entity = trail.touched[i]
        adjoint[entity] += common
        drift += adjoint[entity] * memory[entity]
    if not normalize or trail.totals[t] <= SMALLEST_SUM:
        drift = 0.0
    scale = _scale(trail.totals[t], normalize)
    for i in range(trail.reached[t]):
        entity = trail.touched[i]
        adjoint[entity] = scale * (adjoint[entity] - drift)


@part
def _hop_back(
    graph: Graph, trail: Trail, t: int, a: Floats, b: Floats, a_grad: Doubles, b_grad: Doubles
) -> None:
    """Pass the gradient to memory t on to both attentions of step t and to the memories before."""
    adjoint = trail.adjoints[t]
    for i in range(trail.reached[t - 1]):
        entity = trail.touched[i]
        read = _read(trail.memories, b, t, entity)
        # Attention of exactly 0 was not followed: its gradient is lost, but softmax multiplies it by 0.
        if read == 0.0:
            continue
        gradient = 0.0
        for run in range(graph.offsets[entity], graph.offsets[entity + 1]):
            operator = graph.runs[run, 0]
            if a[operator] == 0.0:
                continue
            total = 0.0
            for edge in range(graph.runs[run, 1], graph.runs[run, 2]):
                total += adjoint[graph.targets[edge]]
            a_grad[operator] += read * total
            gradient += a[operator] * total
        _read_back(trail, t, b, b_grad, entity, gradient)


@part
def _score_totals(
    trail: Trail, last: int, c: Floats, c_grad: Doubles, normalize: bool, gradient: float
) -> float:
    """Return one rank's sum over all entities: what each memory sums to, weighted by c = b_{T+1} (eq. 8)."""
    total = 0.0
    for t in range(last + 1):
        mass = trail.totals[t] * _scale(trail.totals[t], normalize)
        total += c[t] * mass
        c_grad[t] += gradient * mass
    return total


@part
def _score_pair(
    graph: Graph,
    trail: Trail,
    entity: int,
    gradient: float,
    a: Floats,
    c: Floats,
    a_grad: Doubles,
    c_grad: Doubles,
    scale: float,
    barred: bool,
) -> float:
    """Return one rank's score of an entity; the gradient to it is left where it first arrives."""
    last = len(c) - 1
    brought = 0.0 if barred else scale * _inflow(graph, trail, last, a, a_grad, entity, gradient)
    c_grad[last] += gradient * brought
    if trail.seen[entity]:
        _read_back(trail, last, c, c_grad, entity, gradient)
    score: float = _read(trail.memories, c, last, entity) + c[last] * brought
    return score


@part
def _last_hop_back(
    trail: Trail, b: Floats, a_grad: Doubles, b_grad: Doubles, last: int, scale: float, common: float
) -> None:
    """Pass gradients on through the hop that was counted: few entities have their own, all have `common`."""
    for k in range(len(trail.counts)):
        a_grad[k] = scale * (a_grad[k] + common * trail.counts[k])
    for i in range(trail.reached[last - 1]):
        entity = trail.touched[i]
        gradient = scale * (trail.adjoints[last, entity] + common * trail.memories[last + 1, entity])
        _read_back(trail, last, b, b_grad, entity, gradient)


@part
def _clear(trail: Trail, last: int) -> None:
    for i in range(trail.reached[last]):
        entity = trail.touched[i]
        trail.seen[entity] = False
        for t in range(len(trail.memories)):
            trail.memories[t, entity] = 0.0
        for t in range(len(trail.adjoints)):
            trail.adjoints[t, entity] = 0.0


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
    last: int = task.operator.shape[2]
    for walk in range(first, end):
        source, place = task.sources[walk], walk - base if differentiate else 0
        common = pairs.total_gradients[walk]
        _hide_next(graph, task, walk, first)
        if not task.may_return:
            _flag_returns(graph, trail, source, task.operator.shape[3], True)
        for rank in range(len(task.operator)):
            a, b = task.operator[rank, task.rows[walk]], task.memory[rank, task.rows[walk]]
            a_grad, b_grad = a_grads[place, rank], b_grads[place, rank]
            _walk(graph, trail, source, last - 1, a, b, task)
            _count_last_hop(graph, trail, last, a[last - 1], b[last - 1], task.may_return)
            scale = _scale(trail.totals[last], task.normalize)
            sums[walk] += _score_totals(trail, last, b[last], b_grad[last], task.normalize, common)
            for pair in range(pairs.offsets[walk], pairs.offsets[walk + 1]):
                entity, gradient = pairs.entities[pair], pairs.gradients[pair]
                barred = entity == source and not task.may_return
                scores[pair] += _score_pair(
                    graph,
                    trail,
                    entity,
                    gradient,
                    a[last - 1],
                    b[last],
                    a_grad[last - 1],
                    b_grad[last],
                    scale,
                    barred,
                )
            if differentiate:
                # Dividing by the sum takes away what all entities have in common.
                divided = task.normalize and trail.totals[last] > SMALLEST_SUM
                drift = b_grad[last, last] if divided else 0.0
                _last_hop_back(
                    trail,
                    b[last - 1],
                    a_grad[last - 1],
                    b_grad[last - 1],
                    last,
                    scale * b[last, last],
                    common - drift,
                )
                for t in range(last - 1, 0, -1):
                    _scale_back(trail, t, task.normalize, common * b[last, t])
                    if not task.may_return:
                        trail.adjoints[t, source] = 0.0
                    _hop_back(graph, trail, t, a[t - 1], b[t - 1], a_grad[t - 1], b_grad[t - 1])
            _clear(trail, last - 1)
        if not task.may_return:
            _flag_returns(graph, trail, source, task.operator.shape[3], False)
    _show(graph, task, end - 1)


@part
def _collect(trail: Trail, last: int, c: Floats) -> None:
    """Add one rank's scores to the final ones, and flag the blocks they lie in."""
    for i in range(trail.reached[last]):
        entity = trail.touched[i]
        trail.final[entity] += _read(trail.memories, c, last + 1, entity)
        trail.blocks[entity // BLOCK] = True


@part
def _emit(trail: Trail, entities: Ids, values: Floats, place: int) -> int:
    """Write out the scores that are not 0, entities ascending, and clear them; return where they end."""
    for block in range(len(trail.blocks)):
        if not trail.blocks[block]:
            continue
        trail.blocks[block] = False
        for entity in range(block * BLOCK, min((block + 1) * BLOCK, len(trail.final))):
            if trail.final[entity] != 0.0:
                entities[place] = entity
                values[place] = trail.final[entity]
                trail.final[entity] = 0.0
                place += 1
    return place


@kernel
def score_all(
    graph: Graph, trail: Trail, first: int, end: int, task: Task, ends: Ids, entities: Ids, values: Floats
) -> None:
    """Write the scores of walks first … end - 1 one after another; `ends` says where each one's end."""
    last = task.operator.shape[2]
    place = 0
    for walk in range(first, end):
        _hide_next(graph, task, walk, first)
        for rank in range(len(task.operator)):
            a, b = task.operator[rank, task.rows[walk]], task.memory[rank, task.rows[walk]]
            _walk(graph, trail, task.sources[walk], last, a, b, task)
            _collect(trail, last, b[last])
            _clear(trail, last)
        place = _emit(trail, entities, values, place)
        ends[walk - first] = place
    _show(graph, task, end - 1)

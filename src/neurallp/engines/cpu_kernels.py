"""The compiled loops of the frontier engine: one walk at a time, forward and backward.

Numba compiles them at the first use, in front of a waiting user. What that takes grows with the number of
arguments, of calls and of kernels, so the loops take plain arrays, index them in place, and end in one kernel
that serves training and ranking.
"""

from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import fast_compile, kernel, kernel_function
from .reference import SMALLEST_SUM

Small = NDArray[np.uint32]  # half the traffic of 64 bits, and unsigned: numba adds no test for -1

#: Entities that share a flag saying that one of them has a score.
BLOCK = 32


class Graph(NamedTuple):
    """Edges grouped into segments: those of one entity that belong to one operator."""

    offsets: Small  # (entity + 1,) where each entity's segments begin
    segments: Small  # (segment, 5): operator, its inverse, first edge, end of its edges, how many the last hop counts
    targets: Small  # (edge,)
    segment_of: Small  # (edge,)


class Workspace(NamedTuple):
    """What one walk leaves behind; `memories`, `adjoints`, `scores` and flags are zero between walks."""

    memories: Floats  # (entity, T + 1): u_t before division, or what a last hop reads that is not followed
    adjoints: Floats  # (entity, T + 1): gradients to the memories
    touched: Small  # entities in order of first touch
    seen: Flags  # (entity,) whether touched
    reached: Ids  # (T + 1,) how many were touched by step t
    totals: Floats  # (T + 1,) the sum of each memory
    weights: Floats  # (T + 2, slot): memory attention over each memory's sum; in the last row 1 over it
    scores: Floats  # (entity,) added over ranks
    blocks: Flags  # (block,) whether a block of entities has scores

    @classmethod
    def of(cls, num_entities: int, num_steps: int) -> "Workspace":
        """Return an empty trail.

        Slots of an entity stand together: walks go from entity to entity, and memory comes in lines.
        """
        size = num_steps + 1
        slots = np.zeros((max(2, num_entities), 2 * size))  # one row alone would be of another type to numba
        return cls(
            memories=slots[:, :size],
            adjoints=slots[:, size:],
            touched=_small(num_entities),
            seen=np.zeros(num_entities, bool),
            reached=np.zeros(size, np.int64),
            totals=np.zeros(size),
            weights=np.zeros((size + 1, size)),
            scores=np.zeros(num_entities),
            blocks=np.zeros(-(-num_entities // BLOCK), bool),
        )


class Task(NamedTuple):
    """The walks of a call, and the attention they follow."""

    sources: Small
    rows: Ids
    hidden: Ids  # (list, n): edges to hide, ascending; -1 stands for none
    masking: Ids  # (walk,) the list of each
    operator: Floats  # (rank, row, step, operator)
    memory: Floats  # (rank, row, step + 1, slot)
    normalize: bool
    may_return: bool


class Pairs(NamedTuple):
    """The entities whose scores are wanted, walk by walk, and the gradients to them."""

    offsets: Ids  # (walk + 1,)
    entities: Small
    gradients: Floats
    total_gradients: Floats  # (walk,)

    @classmethod
    def none(cls, num_queries: int) -> "Pairs":
        """Return no pairs of some walks."""
        return cls(np.zeros(num_queries + 1, np.int64), _small(0), np.zeros(0), np.zeros(num_queries))


class Outputs(NamedTuple):
    """What walks add to; where no gradients are wanted, theirs is one row that is thrown away."""

    scores: Floats  # (pair,)
    totals: Floats  # (walk,)
    operator: Floats  # (walk, rank, step, operator): gradients
    memory: Floats  # (walk, rank, step + 1, slot)


class SparseScores(NamedTuple):
    """Scores of all entities that have any, one walk after another; room for none where only pairs are."""

    ends: Ids  # (walk + 1,) the first is 0
    entities: Ids
    values: Floats

    @classmethod
    def of(cls, num_queries: int, num_entities: int) -> "SparseScores":
        """Return room for some walks; what is not written to is never given memory by the system."""
        room = num_queries * num_entities
        return cls(np.zeros(num_queries + 1, np.int64), np.empty(room, np.int64), np.empty(room))


@kernel_function()
def _turn_to(
    offsets: Small,
    segments: Small,
    targets: Small,
    segment_of: Small,
    sources: Small,
    hidden: Ids,
    masking: Ids,
    first: int,
    walk: int,
    end: int,
    may_return: bool,
) -> None:
    """Give the graph back as it was before the last walk, and make it what the next one may use.

    What is hidden is swapped behind the end of its segment: the last edge first, and shown in the opposite order.
    Where no path may return, edges to the source are not counted: those that are left once others are hidden.
    """
    num = hidden.shape[1]
    same = first < walk < end and masking[walk - 1] == masking[walk]
    for hide in range(0 if walk > first else 1, 2 if walk < end else 1):
        source, by = sources[walk - 1 + hide], 1 - 2 * hide
        for turn in range(2):
            for i in range(0 if same or turn == hide else num):
                edge = hidden[masking[walk - 1 + hide], num - 1 - i if hide else i]
                if edge < 0:
                    continue
                segment = segment_of[edge]
                segments[segment, 3] -= hide
                behind = segments[segment, 3]
                targets[edge], targets[behind] = targets[behind], targets[edge]
                segments[segment, 3] += 1 - hide
                segments[segment, 4] += by
            if may_return or turn != hide:
                continue
            for segment in range(offsets[source], offsets[source + 1]):
                for edge in range(segments[segment, 2], segments[segment, 3]):
                    entity = targets[edge]
                    for back in range(offsets[entity], offsets[entity + 1]):
                        if segments[back, 0] == segments[segment, 1]:
                            segments[back, 4] += by


@kernel_function()
def _take_step(
    offsets: Small,
    segments: Small,
    targets: Small,
    memories: Floats,
    touched: Small,
    seen: Flags,
    reached: Ids,
    totals: Floats,
    weights: Floats,
    source: int,
    a: Floats,
    b: Floats,
    t: int,
    follow: bool,
    normalize: bool,
    may_return: bool,
) -> None:
    """Leave u_t and the weights it is read by in the trail: the source, or sum_k a_t^k M_k of what t reads.

    Edges are counted for the sum of u_t; without `follow` they are only counted (eqs. 6 and 7).
    """
    num = reached[t - 1] if t > 0 else 0
    end, total = num, 0.0
    if t == 0:
        memories[source, 0] = total = 1.0
        seen[source] = True
        touched[0] = source
        end = 1
    for i in range(num):
        entity = touched[i]
        read = 0.0
        for s in range(t):
            read += weights[t - 1, s] * memories[entity, s]
        if not follow:
            memories[entity, t] = read
        for segment in range(offsets[entity], offsets[entity + 1]):
            message = a[t - 1, segments[segment, 0]] * read
            total += message * segments[segment, 4]
            if message == 0.0 or not follow:
                continue
            for edge in range(segments[segment, 2], segments[segment, 3]):
                target = targets[edge]
                memories[target, t] += message
                if not seen[target]:
                    seen[target] = True
                    touched[end] = target
                    end += 1
    reached[t], totals[t] = end, total
    if t > 0 and follow and not may_return:
        memories[source, t] = 0.0
    # A memory that holds nothing stays as it is.
    scale = 1.0
    if normalize and total > 0.0:
        scale = 1.0 / (total if total > SMALLEST_SUM else SMALLEST_SUM)
    weights[len(b), t] = scale
    for row in range(len(b)):
        weights[row, t] = b[row, t] * scale


@kernel_function()
def _inflow(
    offsets: Small,
    segments: Small,
    targets: Small,
    memories: Floats,
    adjoints: Floats,
    a: Floats,
    a_grad: Floats,
    entity: int,
    gradient: float,
) -> float:
    """Return what the last hop brings to an entity, whose edges in are the inverses of its edges out."""
    last = len(a)
    total = 0.0
    for segment in range(offsets[entity], offsets[entity + 1]):
        operator = segments[segment, 1]
        weight = a[last - 1, operator]
        brought = 0.0
        for edge in range(segments[segment, 2], segments[segment, 3]):
            source = targets[edge]
            read = memories[source, last]
            if read != 0.0:
                brought += read
                adjoints[source, last] += gradient * weight
        a_grad[last - 1, operator] += gradient * brought
        total += weight * brought
    return total


@kernel_function()
def _step_back(
    offsets: Small,
    segments: Small,
    targets: Small,
    memories: Floats,
    adjoints: Floats,
    touched: Small,
    reached: Ids,
    totals: Floats,
    weights: Floats,
    a: Floats,
    a_grad: Floats,
    b_grad: Floats,
    t: int,
    common: float,
    normalize: bool,
) -> None:
    """Pass the gradients to u_t, and one `common` to all scores, on to step t's attention and memories.

    The last hop was not followed: gradients to it are already gradients to what it read.
    """
    last = len(a)
    drift = common * weights[last, t]
    if normalize and totals[t] > SMALLEST_SUM:
        # Dividing by the sum takes away what all entities have in common.
        for row in range(t, last + 1):
            drift -= b_grad[row, t] * weights[row, t] / totals[t]
    for i in range(reached[t - 1]):
        entity = touched[i]
        read = 0.0
        for s in range(t):
            read += weights[t - 1, s] * memories[entity, s]
        # What was not read was not followed: its gradient is lost, but softmax multiplies it by 0.
        if read == 0.0:
            continue
        gradient = adjoints[entity, t] if t == last else 0.0
        for segment in range(offsets[entity], offsets[entity + 1]):
            operator = segments[segment, 0]
            total = drift * segments[segment, 4]
            if t < last:
                for edge in range(segments[segment, 2], segments[segment, 3]):
                    total += adjoints[targets[edge], t]
            a_grad[t - 1, operator] += read * total
            gradient += a[t - 1, operator] * total
        for s in range(t):
            b_grad[t - 1, s] += gradient * memories[entity, s]
            adjoints[entity, s] += gradient * weights[t - 1, s]


@kernel_function()
def _list_scores(scores: Floats, blocks: Flags, entities: Ids, values: Floats, place: int) -> int:
    """Move the scores from `place` on into the list, entities ascending; return where they end."""
    for block in range(len(blocks)):
        if not blocks[block]:
            continue
        blocks[block] = False
        for entity in range(block * BLOCK, (block + 1) * BLOCK):
            if entity < len(scores) and scores[entity] != 0.0:
                entities[place] = entity
                values[place] = scores[entity]
                scores[entity] = 0.0
                place += 1
    return place


@kernel()
def score_chunk(
    graph: Graph,
    trail: Workspace,
    task: Task,
    pairs: Pairs,
    sums: Outputs,
    listing: SparseScores,
    first: int,
    end: int,
    base: int,
    differentiate: bool,
) -> None:
    """Do walks first … end - 1: add up the scores of pairs and each walk's total, or list all scores.

    With `differentiate`, gradients of a walk are added to row `walk - base` of those in `sums`.
    """
    offsets, segments, targets, segment_of = graph
    memories, adjoints, touched, seen, reached, totals, weights, scores, blocks = trail
    sources, rows, hidden, masking, operator, memory, normalize, may_return = task
    asked, wanted, gradients, total_gradients = pairs
    pair_sums, total_sums, a_grads, b_grads = sums
    ends, entities, values = listing
    last = operator.shape[2]
    everything = len(ends) > 1
    for walk in range(first, end + 1):
        _turn_to(
            offsets, segments, targets, segment_of, sources, hidden, masking, first, walk, end, may_return
        )
        if walk == end:
            break
        source, place = sources[walk], walk - base if differentiate else 0
        common = total_gradients[walk]
        for rank in range(len(operator)):
            a, b = operator[rank, rows[walk]], memory[rank, rows[walk]]
            a_grad, b_grad = a_grads[place, rank], b_grads[place, rank]
            for t in range(last + 1):
                _take_step(
                    offsets,
                    segments,
                    targets,
                    memories,
                    touched,
                    seen,
                    reached,
                    totals,
                    weights,
                    source,
                    a,
                    b,
                    t,
                    everything or t < last,
                    normalize,
                    may_return,
                )
                total_sums[walk] += weights[last, t] * totals[t]
                b_grad[last, t] += common * totals[t]
            for pair in range(asked[walk], asked[walk + 1]):
                entity, gradient = wanted[pair], gradients[pair]
                if may_return or entity != source:
                    weight = weights[last, last]
                    brought = _inflow(
                        offsets, segments, targets, memories, adjoints, a, a_grad, entity, gradient * weight
                    )
                    pair_sums[pair] += weight * brought
                    b_grad[last, last] += gradient * brought
                if seen[entity]:
                    for s in range(last):
                        pair_sums[pair] += weights[last, s] * memories[entity, s]
                        b_grad[last, s] += gradient * memories[entity, s]
                        adjoints[entity, s] += gradient * weights[last, s]
            for t in range(last if differentiate else 0, 0, -1):
                if t < last and not may_return:
                    adjoints[source, t] = 0.0
                _step_back(
                    offsets,
                    segments,
                    targets,
                    memories,
                    adjoints,
                    touched,
                    reached,
                    totals,
                    weights,
                    a,
                    a_grad,
                    b_grad,
                    t,
                    common,
                    normalize,
                )
            for s in range(last + 1):
                for row in range(last + 1):
                    b_grad[row, s] *= weights[last + 1, s]
            for i in range(reached[last]):
                entity = touched[i]
                seen[entity] = False
                blocks[entity // BLOCK] = everything
                for s in range(last + 1):
                    if everything:
                        scores[entity] += weights[last, s] * memories[entity, s]
                    memories[entity, s] = adjoints[entity, s] = 0.0
        if everything:
            ends[walk - first + 1] = _list_scores(scores, blocks, entities, values, ends[walk - first])


@cache
def compile_kernel() -> None:
    """Compile, or load what an earlier process compiled, by a call with nothing to do."""
    graph = Graph(_small(1), _small((1, 5)), _small(1), _small(1))
    none, attention = np.zeros(0, np.int64), np.zeros((1, 1, 1, 1))
    task = Task(_small(0), none, none.reshape(0, 0), none, attention, attention, True, True)
    sums = Outputs(np.zeros(0), np.zeros(0), attention, attention)
    with fast_compile():
        score_chunk(
            graph, Workspace.of(1, 1), task, Pairs.none(0), sums, SparseScores.of(0, 0), 0, 0, 0, False
        )


def _small(shape: int | tuple[int, int]) -> Small:
    return np.zeros(shape, np.uint32)

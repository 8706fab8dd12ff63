"""The compiled loops of the CPU engine: one query at a time, forward and backward.

Numba compiles them at the first use, while the user waits. The time grows with the number of arguments, of
calls and of kernels, so the innermost loops take plain arrays, and one kernel serves training and ranking.
"""

from functools import cache

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.compilation import fast_compile, kernel, kernel_function
from .cpu_kernel_arrays import BLOCK, Graph, Outputs, Pairs, Small, SparseScores, Task, Workspace, zeros
from .reference import SMALLEST_SUM


@kernel_function()
def _mask_edges(
    offsets: Small,
    segments: Small,
    targets: Small,
    segment_of: Small,
    sources: Small,
    masks: Ids,
    mask_rows: Ids,
    first: int,
    query: int,
    end: int,
    may_return: bool,
) -> None:
    """Undo the masks of the query before, and apply those of this one.

    A masked edge is swapped behind the end of its segment: the last edge first, and undone in the opposite
    order. Where no path may return, the edges to the source that are left are not counted in totals.
    """
    num = masks.shape[1]
    same = first < query < end and mask_rows[query - 1] == mask_rows[query]
    for apply in range(0 if query > first else 1, 2 if query < end else 1):
        source, by = sources[query - 1 + apply], 1 - 2 * apply
        for phase in range(2):
            for i in range(0 if same or phase == apply else num):
                edge = masks[mask_rows[query - 1 + apply], num - 1 - i if apply else i]
                if edge < 0:
                    continue
                segment = segment_of[edge]
                segments[segment, 3] -= apply
                behind = segments[segment, 3]
                targets[edge], targets[behind] = targets[behind], targets[edge]
                segments[segment, 3] += 1 - apply
                segments[segment, 4] += by
            if may_return or phase != apply:
                continue
            for segment in range(offsets[source], offsets[source + 1]):
                for edge in range(segments[segment, 2], segments[segment, 3]):
                    entity = targets[edge]
                    for inverse in range(offsets[entity], offsets[entity + 1]):
                        if segments[inverse, 0] == segments[segment, 1]:
                            segments[inverse, 4] += by


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
    """Compute u_t and the weights it is read with: the source (eq. 6), or a step from what it reads (eq. 7).

    The sum of u_t is computed by counting edges; without `follow`, only this sum is computed.
    """
    num = reached[t - 1] if t > 0 else 0
    end, total = num, 0.0
    if t == 0:
        memories[source, 0] = total = 1.0
        seen[source], touched[0], end = True, source, 1
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
    # An empty memory is not divided.
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
    """Return u_T of one entity by eq. 7: the edges into it are the inverses of the edges out of it."""
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
def _step_backward(
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
    """Pass the gradients of u_t, and the `common` gradient of all scores, to step t's attention and memories.

    The last step only counted edges: its gradients are already those of what it read.
    """
    last = len(a)
    drift = common * weights[last, t]
    if normalize and totals[t] > SMALLEST_SUM:
        # The gradient of dividing by the sum.
        for row in range(t, last + 1):
            drift -= b_grad[row, t] * weights[row, t] / totals[t]
    for i in range(reached[t - 1]):
        entity = touched[i]
        read = 0.0
        for s in range(t):
            read += weights[t - 1, s] * memories[entity, s]
        # Edges from here were not followed: their gradient is lost, but softmax multiplies it by 0.
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
    """Move all scores into the list from `place` on, entities ascending; return the end of the list."""
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


@kernel_function()
def _forward(
    graph: Graph, workspace: Workspace, task: Task, query: int, controller: int, everything: bool
) -> None:
    """Compute all memories of one query; the last step only counts edges, unless everything is scored."""
    offsets, segments, targets, _ = graph
    memories, _, touched, seen, reached, totals, weights, _, _ = workspace
    a, b = task.operator[controller, task.rows[query]], task.memory[controller, task.rows[query]]
    last = len(a)
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
            task.sources[query],
            a,
            b,
            t,
            everything or t < last,
            task.normalize,
            task.may_return,
        )


@kernel_function()
def _score_pairs(
    graph: Graph,
    workspace: Workspace,
    task: Task,
    pairs: Pairs,
    pair_scores: Floats,
    a: Floats,
    a_grad: Floats,
    b_grad: Floats,
    query: int,
) -> None:
    """Add the scores of the wanted entities (eq. 8), and begin the backward pass at them."""
    offsets, segments, targets, _ = graph
    memories, adjoints, _, seen, _, _, weights, _, _ = workspace
    last = len(a)
    for pair in range(pairs.offsets[query], pairs.offsets[query + 1]):
        entity, gradient = pairs.entities[pair], pairs.gradients[pair]
        if task.may_return or entity != task.sources[query]:
            weight = weights[last, last]
            brought = _inflow(
                offsets, segments, targets, memories, adjoints, a, a_grad, entity, gradient * weight
            )
            pair_scores[pair] += weight * brought
            b_grad[last, last] += gradient * brought
        if seen[entity]:
            for s in range(last):
                pair_scores[pair] += weights[last, s] * memories[entity, s]
                b_grad[last, s] += gradient * memories[entity, s]
                adjoints[entity, s] += gradient * weights[last, s]


@kernel_function()
def _backward(
    graph: Graph,
    workspace: Workspace,
    task: Task,
    a: Floats,
    a_grad: Floats,
    b_grad: Floats,
    query: int,
    common: float,
) -> None:
    """Pass the gradients from the scores back through all steps, to the attention."""
    offsets, segments, targets, _ = graph
    memories, adjoints, touched, _, reached, totals, weights, _, _ = workspace
    last = len(a)
    for t in range(last, 0, -1):
        if t < last and not task.may_return:
            adjoints[task.sources[query], t] = 0.0
        _step_backward(
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
            task.normalize,
        )


@kernel_function()
def _clear(workspace: Workspace, b_grad: Floats, everything: bool) -> None:
    """Set the workspace back to zero; with `everything`, add the memories to the scores first."""
    memories, adjoints, touched, seen, reached, _, weights, scores, blocks = workspace
    last = len(reached) - 1
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


@kernel()
def score_chunk(
    graph: Graph,
    workspace: Workspace,
    task: Task,
    pairs: Pairs,
    outputs: Outputs,
    listed: SparseScores,
    first: int,
    end: int,
    base: int,
    differentiate: bool,
) -> None:
    """Score the queries first … end - 1: add up pair scores and totals, or list the scores of all entities.

    With `differentiate`, the gradients of a query are added to row `query - base` of those in `outputs`.
    """
    offsets, segments, targets, segment_of = graph
    ends, entities, values = listed
    last = task.operator.shape[2]
    everything = len(ends) > 1
    for query in range(first, end + 1):
        _mask_edges(
            offsets,
            segments,
            targets,
            segment_of,
            task.sources,
            task.masks,
            task.mask_rows,
            first,
            query,
            end,
            task.may_return,
        )
        if query == end:
            break
        row = query - base if differentiate else 0
        common = pairs.total_gradients[query]
        for controller in range(len(task.operator)):
            a = task.operator[controller, task.rows[query]]
            a_grad, b_grad = outputs.operator[row, controller], outputs.memory[row, controller]
            _forward(graph, workspace, task, query, controller, everything)
            for t in range(last + 1):
                outputs.totals[query] += workspace.weights[last, t] * workspace.totals[t]
                b_grad[last, t] += common * workspace.totals[t]
            _score_pairs(graph, workspace, task, pairs, outputs.scores, a, a_grad, b_grad, query)
            if differentiate:
                _backward(graph, workspace, task, a, a_grad, b_grad, query, common)
            _clear(workspace, b_grad, everything)
        if everything:
            ends[query - first + 1] = _list_scores(
                workspace.scores, workspace.blocks, entities, values, ends[query - first]
            )


@cache
def compile_kernel() -> None:
    """Compile, or load what an earlier process compiled, by a call with nothing to do."""
    graph = Graph(zeros(1), zeros((1, 5)), zeros(1), zeros(1))
    none, attention = np.zeros(0, np.int64), np.zeros((1, 1, 1, 1))
    task = Task(zeros(0), none, none.reshape(0, 0), none, attention, attention, True, True)
    outputs = Outputs(np.zeros(0), np.zeros(0), attention, attention)
    with fast_compile():
        score_chunk(
            graph, Workspace.of(1, 1), task, Pairs.none(0), outputs, SparseScores.of(0, 0), 0, 0, 0, False
        )

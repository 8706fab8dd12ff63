"""Rule extraction: from the attention of one query to weighted bodies (algorithm 1)."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np

from ..graph.arrays import Body, Flags, Floats

#: Bodies, each the operators walked so far, with their confidences.
Confidences = dict[Body, float]

#: Takes what a step reads and its operator attention, and returns the bodies that the step writes.
Extension = Callable[[Confidences, Floats], Confidences]


def extend_by_all(read: Confidences, attention: Floats) -> Confidences:
    """Return every body with every operator appended, the confidence times the operator's attention."""
    return {(*body, k): c * attention[k] for body, c in read.items() for k in range(len(attention))}


def extract_all(operator: Floats, memory: Floats, extension: Extension = extend_by_all) -> Confidences:
    """Return every rule of one query with its confidence: algorithm 1, equal bodies merged.

    `operator` is (controller, step, operator), `memory` (controller, step + 1, slot). This is eq. 7 in
    symbols: a memory holds bodies with their confidences in place of scores of entities. `extension`
    is the one step that may differ, for example to keep only the most confident bodies.
    """
    rules: defaultdict[Body, float] = defaultdict(float)
    for a, b in zip(operator, memory, strict=True):
        for body, confidence in _extract_controller(a, b, extension).items():
            rules[body] += confidence
    return dict(rules)


def _extract_controller(operator: Floats, memory: Floats, extension: Extension) -> Confidences:
    memories: list[Confidences] = [{(): 1.0}]  # R_0
    for a, b in zip(operator, memory, strict=False):
        memories.append(extension(_read(memories, b), a))
    return _read(memories, memory[-1])


def _read(memories: list[Confidences], weights: Floats) -> Confidences:
    """Return the sum of the memories, each times its attention."""
    read: defaultdict[Body, float] = defaultdict(float)
    for bodies, weight in zip(memories, weights, strict=False):
        for body, confidence in bodies.items():
            read[body] += confidence * weight
    return read


def extract_best(
    operator: Floats, memory: Floats, successors: Flags | None = None
) -> Iterator[tuple[Body, float]]:
    """Yield the rules of one query with their confidences, highest first, without enumerating the rest.

    A best-first search over bodies. `reach` (controller, slot) is the confidence of a partial body in each
    memory slot. The confidence of its best completion is bounded from above, slot by slot, so a complete
    rule that leaves the heap is the best of those left. Yields what algorithm 1 returns, sorted, without
    rules of confidence 0. `successors` (operator, operator) restricts which operator may follow which.
    """
    finish, bound = memory[:, -1], completion_bounds(operator, memory)
    order = count()  # breaks ties without comparing arrays
    heap: list[tuple[float, int, Body, Floats | None]] = [(-np.inf, next(order), (), start(memory))]
    while heap:
        negative, _, body, reach = heapq.heappop(heap)
        if reach is None:
            yield body, -negative
            continue
        value = float((reach * finish).sum())
        if value > 0:
            heapq.heappush(heap, (-value, next(order), body, None))
        children = extend(reach, operator, memory)
        bounds = np.einsum("krs,rs->k", children, bound)
        if body and successors is not None:
            bounds *= successors[body[-1]]
        for k in np.flatnonzero(bounds > 0):  # NaN is not: attention of damaged weights would never end
            heapq.heappush(heap, (-float(bounds[k]), next(order), (*body, int(k)), children[k]))


def start(memory: Floats) -> Floats:
    """Return the reach of the empty body, (controller, slot): all in slot 0."""
    reach = np.zeros_like(memory[:, -1])
    reach[:, 0] = 1.0
    return reach


def body_confidence(body: Body, operator: Floats, memory: Floats) -> float:
    """Return the confidence of one body, summed over controllers and over the steps that can apply it."""
    reach = start(memory)
    for k in body:
        reach = extend(reach, operator, memory)[k]
    return float((reach * memory[:, -1]).sum())


def extend(reach: Floats, operator: Floats, memory: Floats) -> Floats:
    """Return the reach after each possible next operator: (operator, controller, slot)."""
    arriving = np.einsum("rs,rts->rt", reach, memory[:, :-1])
    children = np.zeros((operator.shape[2], *reach.shape))
    children[:, :, 1:] = np.einsum("rt,rtk->krt", arriving, operator)
    return children


def completion_bounds(operator: Floats, memory: Floats) -> Floats:
    """Return for each (controller, slot) an upper bound of the confidence of any one completion."""
    bound = memory[:, -1].copy()
    best_operator = operator.max(axis=2)
    for slot in reversed(range(bound.shape[1] - 1)):
        onward = memory[:, slot:-1, slot] * best_operator[:, slot:] * bound[:, slot + 1 :]
        bound[:, slot] = np.maximum(bound[:, slot], onward.sum(axis=1))
    return bound

"""The compiled walks of nearness."""

import numpy as np

from ...graph.arrays import Ids
from ...graph.compilation import kernel, kernel_function
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    clear_frontier,
    invert,
    mask_facts,
    unmask_facts,
)

#: Steps of a walk, at most.
NUM_STEPS = 20

#: The probability that a walk goes on at each step.
GOING_ON = 0.95

#: The least probability that is carried along an edge: a step along which less would be carried is not taken.
LEAST = 1e-4

#: The same, a little less: sums that are equal but for rounding must not differ in the steps taken.
TAKEN = LEAST * (1 - 1e-9)


@kernel_function()
def _is_masked(scratch: Scratch, operator: int, entity: int, target: int, source: int, answer: int) -> bool:
    """Return whether an edge is masked: that of the fact asked, in either direction."""
    ahead = entity == source and target == answer and scratch.masked[operator]
    return ahead or (entity == answer and target == source and scratch.masked[invert(operator, scratch)])


@kernel_function()
def _num_edges(edges: CsrSegments, scratch: Scratch, entity: int, source: int, answer: int) -> int:
    """Return how many edges leave an entity, without those that are masked."""
    first, last = edges.offsets[entity], edges.offsets[entity + 1]
    num: int = edges.starts[last] - edges.starts[first]
    if answer >= 0 and entity in (source, answer):
        for segment in range(first, last):
            for edge in range(edges.starts[segment], edges.starts[segment + 1]):
                target, operator = edges.targets[edge], edges.operators[segment]
                num -= _is_masked(scratch, operator, entity, target, source, answer)
    return num


@kernel_function()
def _add(scratch: Scratch, depth: int, entity: int, mass: float) -> None:
    """Add to the probability of an entity in the frontier of one depth."""
    place = scratch.places[depth, entity]
    if place < 0:
        place = scratch.places[depth, entity] = scratch.counts[depth]
        scratch.entities[depth, place], scratch.forward[depth, place] = entity, 0.0
        scratch.counts[depth] += 1
    scratch.forward[depth, place] += mass


@kernel_function()
def _step_from(
    edges: CsrSegments, scratch: Scratch, entity: int, share: float, ends: tuple[int, int], depth: int
) -> None:
    """Carry a share along every edge of an entity into the frontier of a depth."""
    source, answer = ends
    may_be_masked = answer >= 0 and entity in (source, answer)
    for segment in range(edges.offsets[entity], edges.offsets[entity + 1]):
        operator = edges.operators[segment]
        for edge in range(edges.starts[segment], edges.starts[segment + 1]):
            target = edges.targets[edge]
            if not (may_be_masked and _is_masked(scratch, operator, entity, target, source, answer)):
                _add(scratch, depth, target, share)


@kernel_function()
def _walk(edges: CsrSegments, scratch: Scratch, source: int, answer: int) -> None:
    """Sum the probabilities of all steps in the first frontier; the other two take turns."""
    _add(scratch, 1, source, 1.0)
    now, after = 1, 2
    for _ in range(NUM_STEPS):
        for i in range(scratch.counts[now]):
            entity = scratch.entities[now, i]
            num = _num_edges(edges, scratch, entity, source, answer)
            share = GOING_ON * scratch.forward[now, i] / num if num > 0 else 0.0
            if share >= TAKEN:
                _step_from(edges, scratch, entity, share, (source, answer), after)
        for i in range(scratch.counts[after]):
            _add(scratch, 0, scratch.entities[after, i], scratch.forward[after, i])
        clear_frontier(scratch, now)
        now, after = after, now
    clear_frontier(scratch, now)


@kernel_function()
def _write(
    edges: CsrSegments,
    scratch: Scratch,
    number: int,
    ends: tuple[int, int],
    excluded: int,
    entries: Entries,
    last: int,
) -> int:
    """Write the first frontier as the features of the rule; return as `write_segment` does."""
    source, answer = ends
    start = stop = entries.bounds[last]
    if start + scratch.counts[0] > len(entries.entities):
        return -1
    leaving = _num_edges(edges, scratch, source, source, answer)
    for i in range(scratch.counts[0]):
        entity, probability = scratch.entities[0, i], scratch.forward[0, i]
        if entity != excluded:
            back = probability * leaving / _num_edges(edges, scratch, entity, source, answer)
            entries.entities[stop] = entity
            entries.forward[stop] = np.log1p(probability / LEAST) / np.log1p(1 / LEAST)
            entries.backward[stop] = np.log1p(back / LEAST) / np.log1p(1 / LEAST)
            stop += 1
    if stop == start:
        return last
    entries.rules[last], entries.bounds[last + 1] = number, stop
    return last + 1


@kernel()
def gather_near(
    edges: CsrSegments, number: int, scratch: Scratch, batch: QuestionBatch, entries: Entries, ends: Ids
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        mask_facts(edges, scratch, batch, i)
        _walk(edges, scratch, source, answer)
        excluded = source if batch.exclude_source else -1
        last = _write(edges, scratch, number, (source, answer), excluded, entries, last)
        clear_frontier(scratch, 0)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)

"""The compiled features of shared-neighbour rules, about the source (anchored) and the answer (mirrored)."""

from ...graph.arrays import Ids
from ...graph.compilation import kernel, kernel_function
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    Small,
    clear_frontier,
    find_segment,
    invert,
    mask_facts,
    unmask_facts,
    write_segment,
)

#: Added to the number of entities counted, so that a share of very few is small.
SMOOTHING = 5


@kernel_function()
def _add_confidence(scratch: Scratch, entity: int, confidence: float) -> None:
    """Update an entity's largest confidence and noisy-or with one more neighbour D.

    They are kept in the first frontier: the largest as forward, 1 - the noisy-or as backward.
    """
    place = scratch.places[0, entity]
    if place < 0:
        place = scratch.places[0, entity] = scratch.counts[0]
        scratch.entities[0, place], scratch.forward[0, place], scratch.backward[0, place] = entity, 0.0, 1.0
        scratch.counts[0] += 1
    scratch.forward[0, place] = max(scratch.forward[0, place], confidence)
    scratch.backward[0, place] *= 1.0 - confidence


@kernel_function()
def _tally_targets(
    edges: CsrSegments, scratch: Scratch, entity: int, operator: int, source: int, num: int
) -> int:
    """Add 1 to the tally of each target of an operator but the source; return how many have a tally."""
    segment = find_segment(edges, entity, operator)
    if segment >= 0:
        for edge in range(edges.starts[segment], edges.starts[segment + 1]):
            target = edges.targets[edge]
            if target != source:
                if scratch.tallies[target] == 0:
                    scratch.tallied[num] = target
                    num += 1
                scratch.tallies[target] += 1
    return num


@kernel_function()
def _write_confidences(scratch: Scratch, number: int, entries: Entries, last: int) -> int:
    """Write the confidences as one rule's segment and clear them; return as `write_segment` does."""
    for i in range(scratch.counts[0]):
        scratch.backward[0, i] = 1.0 - scratch.backward[0, i]
    last = write_segment(scratch, 0, number, -1, entries, last)
    clear_frontier(scratch, 0)
    return last


@kernel_function()
def _add_anchored(
    edges: CsrSegments, scratch: Scratch, source: int, answer: int, query: int, operator: int
) -> None:
    """Add the confidences of every neighbour D of the source.

    The source is neither D, A nor Y, so of all masked edges only its own can be met.
    """
    segment = find_segment(edges, source, operator)
    if segment < 0:
        return
    for edge in range(edges.starts[segment], edges.starts[segment + 1]):
        neighbour = edges.targets[edge]
        if neighbour == source or (neighbour == answer and scratch.masked[operator]):
            continue
        others, counted = find_segment(edges, neighbour, invert(operator, scratch)), 0
        for other in range(edges.starts[others], edges.starts[others + 1]):
            if edges.targets[other] != source:
                counted = _tally_targets(edges, scratch, edges.targets[other], query, source, counted)
        size = edges.starts[others + 1] - edges.starts[others] - 1 + SMOOTHING
        for i in range(counted):
            entity = scratch.tallied[i]
            _add_confidence(scratch, entity, scratch.tallies[entity] / size)
            scratch.tallies[entity] = 0


@kernel_function()
def _add_mirrored(
    edges: CsrSegments, scratch: Scratch, source: int, answer: int, query: int, operator: int
) -> None:
    """Add the confidences of every neighbour D of the source's other answers."""
    segment = find_segment(edges, source, query)
    if segment < 0:
        return
    counted, first, end = 0, edges.starts[segment], edges.starts[segment + 1]
    skipped = answer if scratch.masked[query] else -1
    for edge in range(first, end):
        if edges.targets[edge] != source and edges.targets[edge] != skipped:
            counted = _tally_targets(edges, scratch, edges.targets[edge], operator, source, counted)
            scratch.marks[edges.targets[edge]] = 1
    for i in range(counted):
        neighbour = scratch.tallied[i]
        others = find_segment(edges, neighbour, invert(operator, scratch))
        size = edges.starts[others + 1] - edges.starts[others] - 1 + SMOOTHING
        for edge in range(edges.starts[others], edges.starts[others + 1]):
            size -= edges.targets[edge] == source
        for edge in range(edges.starts[others], edges.starts[others + 1]):
            entity = edges.targets[edge]
            count = scratch.tallies[neighbour] - scratch.marks[entity]  # an answer does not predict itself
            if entity != source and count > 0:
                _add_confidence(scratch, entity, count / size)
        scratch.tallies[neighbour] = 0
    for edge in range(first, end):
        scratch.marks[edges.targets[edge]] = 0


@kernel()
def gather_shared(
    edges: CsrSegments,
    rules: Small,
    scratch: Scratch,
    batch: QuestionBatch,
    entries: Entries,
    ends: Ids,
    mirrored: bool,
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        mask_facts(edges, scratch, batch, i)
        for rule in range(len(rules)):
            if last >= 0:
                if mirrored:
                    _add_mirrored(edges, scratch, source, answer, batch.query, rules[rule, 0])
                else:
                    _add_anchored(edges, scratch, source, answer, batch.query, rules[rule, 0])
                last = _write_confidences(scratch, rules[rule, 1], entries, last)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)

"""The compiled loops behind evidence.py: what rules say that are no chains, and gathering it all."""

from typing import NamedTuple

from ..graph.arrays import Flags, Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import (
    CsrSegments,
    Entries,
    Scratch,
    Small,
    Trie,
    find_run,
    hide,
    invert,
    leave,
    walk,
    write_stretch,
)

#: Entities added to those counted, so that a few do not make a confidence.
SMOOTHING = 5


class Clues(NamedTuple):
    """Rules that are no chains, by what they look at; each knows its number."""

    offsets: Small  # (operator + 1,) where each operator's unary rules begin
    answers: Small  # (unary rule,)
    numbers: Small  # (unary rule,)
    anchored: Small  # (anchored rule, 2) operator, number
    mirrored: Small  # (mirrored rule, 2)


@kernel_function()
def _fold(scratch: Scratch, entity: int, confidence: float) -> None:
    """Add one entity's confidence by one more D to the largest and to the noisy-or.

    They stand in the first frontier: the largest as forward, what is left of doubt as backward.
    """
    place = scratch.places[0, entity]
    if place < 0:
        place = scratch.places[0, entity] = scratch.counts[0]
        scratch.entities[0, place], scratch.forward[0, place], scratch.backward[0, place] = entity, 0.0, 1.0
        scratch.counts[0] += 1
    scratch.forward[0, place] = max(scratch.forward[0, place], confidence)
    scratch.backward[0, place] *= 1.0 - confidence


@kernel_function()
def _tally(runs: CsrSegments, scratch: Scratch, entity: int, operator: int, source: int, num: int) -> int:
    """Count once more each entity but the source that an operator leads to; return how many are counted."""
    run = find_run(runs, entity, operator)
    if run >= 0:
        for edge in range(runs.starts[run], runs.starts[run + 1]):
            target = runs.targets[edge]
            if target != source:
                if scratch.tallies[target] == 0:
                    scratch.tallied[num] = target
                    num += 1
                scratch.tallies[target] += 1
    return num


@kernel_function()
def _anchored(
    runs: CsrSegments, scratch: Scratch, source: int, answer: int, query: int, operator: int
) -> None:
    """Fold b(X, D) -> r(X, Y) over all D: of the others that have this D, the share that have this answer.

    As the source is no D, no A and no Y, of all that may be hidden only its own edges are met.
    """
    run = find_run(runs, source, operator)
    if run < 0:
        return
    for edge in range(runs.starts[run], runs.starts[run + 1]):
        anchor = runs.targets[edge]
        if anchor == source or (anchor == answer and scratch.hidden[operator]):
            continue
        back, counted = find_run(runs, anchor, invert(operator, scratch)), 0
        for other in range(runs.starts[back], runs.starts[back + 1]):
            if runs.targets[other] != source:
                counted = _tally(runs, scratch, runs.targets[other], query, source, counted)
        size = runs.starts[back + 1] - runs.starts[back] - 1 + SMOOTHING
        for i in range(counted):
            entity = scratch.tallied[i]
            _fold(scratch, entity, scratch.tallies[entity] / size)
            scratch.tallies[entity] = 0


@kernel_function()
def _mirrored(
    runs: CsrSegments, scratch: Scratch, source: int, answer: int, query: int, operator: int
) -> None:
    """Fold b(Y, D) -> r(X, Y) over all D: of the others that have this D, the share that are answers of X."""
    run = find_run(runs, source, query)
    if run < 0:
        return
    counted, first, end = 0, runs.starts[run], runs.starts[run + 1]
    skipped = answer if scratch.hidden[query] else -1
    for edge in range(first, end):
        if runs.targets[edge] != source and runs.targets[edge] != skipped:
            counted = _tally(runs, scratch, runs.targets[edge], operator, source, counted)
            scratch.marks[runs.targets[edge]] = 1
    for i in range(counted):
        anchor = scratch.tallied[i]
        back = find_run(runs, anchor, invert(operator, scratch))
        size = runs.starts[back + 1] - runs.starts[back] - 1 + SMOOTHING
        for edge in range(runs.starts[back], runs.starts[back + 1]):
            size -= runs.targets[edge] == source
        for edge in range(runs.starts[back], runs.starts[back + 1]):
            entity = runs.targets[edge]
            count = scratch.tallies[anchor] - scratch.marks[entity]  # an answer is not told by itself
            if entity != source and count > 0:
                _fold(scratch, entity, count / size)
        scratch.tallies[anchor] = 0
    for edge in range(first, end):
        scratch.marks[runs.targets[edge]] = 0


@kernel_function()
def _write_folded(scratch: Scratch, number: int, entries: Entries, last: int) -> int:
    """Write what was folded as one rule's stretch, and forget it; return as `write_stretch` does."""
    for i in range(scratch.counts[0]):
        scratch.backward[0, i] = 1.0 - scratch.backward[0, i]
    last = write_stretch(scratch, 0, number, -1, entries, last)
    leave(scratch, 0)
    return last


@kernel_function()
def _is_hidden(runs: CsrSegments, scratch: Scratch, run: int, source: int, answer: int) -> bool:
    """Return whether all that a source has by one operator is what must not be seen."""
    operator, first = runs.operators[run], runs.starts[run]
    if runs.starts[run + 1] - first > 1 or runs.targets[first] != answer:
        return False
    return scratch.hidden[operator] or (source == answer and scratch.hidden[invert(operator, scratch)])


@kernel_function()
def _unary(
    runs: CsrSegments,
    clues: Clues,
    scratch: Scratch,
    source: int,
    answer: int,
    left_out: int,
    entries: Entries,
    last: int,
) -> int:
    """Write what unary rules say: those of every operator that the source has an edge of."""
    scratch.forward[0, 0] = scratch.backward[0, 0] = 0.0
    for run in range(runs.offsets[source], runs.offsets[source + 1]):
        operator = runs.operators[run]
        if _is_hidden(runs, scratch, run, source, answer):
            continue
        for i in range(clues.offsets[operator], clues.offsets[operator + 1]):
            if last >= 0 and clues.answers[i] != left_out:
                scratch.counts[0], scratch.entities[0, 0] = 1, clues.answers[i]
                last = write_stretch(scratch, 0, clues.numbers[i], -1, entries, last)
    scratch.counts[0] = 0
    return last


@kernel_function()
def _add_clues(
    runs: CsrSegments,
    clues: Clues,
    scratch: Scratch,
    source: int,
    query: int,
    answer: int,
    left_out: int,
    entries: Entries,
    last: int,
) -> int:
    """Write what all clues say of one question after the `last` stretch; return as `write_stretch` does."""
    if last >= 0:
        last = _unary(runs, clues, scratch, source, answer, left_out, entries, last)
    for i in range(len(clues.anchored)):
        if last >= 0:
            _anchored(runs, scratch, source, answer, query, clues.anchored[i, 0])
            last = _write_folded(scratch, clues.anchored[i, 1], entries, last)
    for i in range(len(clues.mirrored)):
        if last >= 0:
            _mirrored(runs, scratch, source, answer, query, clues.mirrored[i, 0])
            last = _write_folded(scratch, clues.mirrored[i, 1], entries, last)
    return last


@kernel()
def gather(
    runs: CsrSegments,
    tree: Trie,
    clues: Clues | None,
    scratch: Scratch,
    sources: Ids,
    query: int,
    answers: Ids,
    mask_pair: Flags,
    excluded: bool,
    entries: Entries,
    ends: Ids,
) -> int:
    """Write the entries of questions one after the other; return how many questions fit.

    `ends` says where each question's stretches end. An answer of -1 hides nothing; any other must be a fact.
    """
    last = 0
    for i in range(len(sources)):
        source, answer = sources[i], answers[i]
        left_out = source if excluded else -1
        if answer >= 0:
            hide(runs, source, query, answer, mask_pair[i], scratch.hidden)
        last = walk(runs, tree, scratch, source, answer, left_out, entries, last)
        if clues is not None:  # numba leaves out what None makes idle: half of all there is to compile
            last = _add_clues(runs, clues, scratch, source, query, answer, left_out, entries, last)
        for operator in range(len(scratch.hidden)):
            scratch.hidden[operator] = False
        if last < 0:
            return i
        ends[i] = last
    return len(sources)

"""The compiled loops behind evidence.py: what rules say that are no chains, and gathering it all."""

from typing import NamedTuple

from numba import njit

from ..knowledge import Flags, Ids
from .evidence_kernels import Entries, Runs, Scratch, Small, Tree, find_run, hide, invert, saturate, walk

#: Entities added to those counted, so that a few do not make a confidence.
SMOOTHING = 5


class Clues(NamedTuple):
    """Rules that are no chains, by what they look at; each knows its number."""

    offsets: Small  # (operator + 1,) where each operator's unary rules begin
    answers: Small  # (unary rule,)
    numbers: Small  # (unary rule,)
    anchored: Small  # (anchored rule, 2) operator, number
    mirrored: Small  # (mirrored rule, 2)


@njit(nogil=True, cache=True)
def _fold(scratch: Scratch, entity: int, confidence: float, num: int) -> int:
    """Add one entity's confidence by one more D to the largest and to the noisy-or; return how many have one.

    They stand in the first row of the scratch: the largest as forward, what is left of doubt as backward.
    """
    place = scratch.places[entity]
    if place < 0:
        place = scratch.places[entity] = num
        scratch.entities[0, num], scratch.forward[0, num], scratch.backward[0, num] = entity, 0.0, 1.0
        num += 1
    scratch.forward[0, place] = max(scratch.forward[0, place], confidence)
    scratch.backward[0, place] *= 1.0 - confidence
    return num


@njit(nogil=True, cache=True)
def _tally(runs: Runs, scratch: Scratch, entity: int, operator: int, source: int, num: int) -> int:
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


@njit(nogil=True, cache=True)
def _anchored(runs: Runs, scratch: Scratch, source: int, answer: int, query: int, operator: int) -> int:
    """Fold b(X, D) -> r(X, Y) over all D: of the others that have this D, the share that have this answer.

    As the source is no D, no A and no Y, of all that may be hidden only its own edges are met.
    """
    num, run = 0, find_run(runs, source, operator)
    if run < 0:
        return 0
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
            num = _fold(scratch, entity, scratch.tallies[entity] / size, num)
            scratch.tallies[entity] = 0
    return num


@njit(nogil=True, cache=True)
def _mirrored(runs: Runs, scratch: Scratch, source: int, answer: int, query: int, operator: int) -> int:
    """Fold b(Y, D) -> r(X, Y) over all D: of the others that have this D, the share that are answers of X."""
    num, run = 0, find_run(runs, source, query)
    if run < 0:
        return 0
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
                num = _fold(scratch, entity, count / size, num)
        scratch.tallies[anchor] = 0
    for edge in range(first, end):
        scratch.marks[runs.targets[edge]] = 0
    return num


@njit(nogil=True, cache=True)
def _write_folded(scratch: Scratch, num: int, number: int, entries: Entries, end: int) -> int:
    """Write what was folded as one rule's entries, and forget it; return where they end, or -1."""
    fits = end + num <= len(entries.entities)
    for i in range(num):
        entity = scratch.entities[0, i]
        scratch.places[entity] = -1
        if fits:
            entries.entities[end], entries.rules[end] = entity, number
            entries.forward[end] = saturate(scratch.forward[0, i])
            entries.backward[end] = saturate(1.0 - scratch.backward[0, i])
            end += 1
    return end if fits else -1


@njit(nogil=True, cache=True)
def _is_hidden(runs: Runs, scratch: Scratch, run: int, source: int, answer: int) -> bool:
    """Return whether all that a source has by one operator is what must not be seen."""
    operator, first = runs.operators[run], runs.starts[run]
    if runs.starts[run + 1] - first > 1 or runs.targets[first] != answer:
        return False
    return scratch.hidden[operator] or (source == answer and scratch.hidden[invert(operator, scratch)])


@njit(nogil=True, cache=True)
def _unary(
    runs: Runs,
    clues: Clues,
    scratch: Scratch,
    source: int,
    answer: int,
    barred: bool,
    entries: Entries,
    end: int,
) -> int:
    """Write the entries of unary rules: those of every operator that the source has an edge of."""
    for run in range(runs.offsets[source], runs.offsets[source + 1]):
        operator = runs.operators[run]
        if _is_hidden(runs, scratch, run, source, answer):
            continue
        for i in range(clues.offsets[operator], clues.offsets[operator + 1]):
            if barred and clues.answers[i] == source:
                continue
            if end == len(entries.entities):
                return -1
            entries.entities[end], entries.rules[end] = clues.answers[i], clues.numbers[i]
            entries.forward[end] = entries.backward[end] = 0.0
            end += 1
    return end


@njit(nogil=True, cache=True)
def _add_clues(
    runs: Runs,
    clues: Clues,
    scratch: Scratch,
    source: int,
    query: int,
    answer: int,
    barred: bool,
    entries: Entries,
    end: int,
) -> int:
    """Write the entries of all clues of one question from `end` on; return where they end, or -1."""
    end = _unary(runs, clues, scratch, source, answer, barred, entries, end)
    for i in range(len(clues.anchored)):
        if end >= 0:
            num = _anchored(runs, scratch, source, answer, query, clues.anchored[i, 0])
            end = _write_folded(scratch, num, clues.anchored[i, 1], entries, end)
    for i in range(len(clues.mirrored)):
        if end >= 0:
            num = _mirrored(runs, scratch, source, answer, query, clues.mirrored[i, 0])
            end = _write_folded(scratch, num, clues.mirrored[i, 1], entries, end)
    return end


@njit(nogil=True, cache=True)
def gather(
    runs: Runs,
    tree: Tree,
    clues: Clues,
    scratch: Scratch,
    sources: Ids,
    query: int,
    answers: Ids,
    whole_pair: Flags,
    barred: bool,
    entries: Entries,
    ends: Ids,
) -> int:
    """Write the entries of questions one after the other; return how many questions fit.

    `ends` says where each question's entries end. An answer of -1 hides nothing; any other must be a fact.
    """
    end = 0
    for i in range(len(sources)):
        if answers[i] >= 0:
            hide(runs, sources[i], query, answers[i], whole_pair[i], scratch.hidden)
        end = walk(runs, tree, scratch, sources[i], answers[i], barred, entries, end)
        if end >= 0:
            end = _add_clues(runs, clues, scratch, sources[i], query, answers[i], barred, entries, end)
        scratch.hidden[:] = False
        if end < 0:
            return i
        ends[i] = end
    return len(sources)

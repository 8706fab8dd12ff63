"""Compiled loops for chains: walking a trie of bodies from a source."""

from typing import NamedTuple

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

#: Entities of an operator that can be scanned in the time of looking up one segment.
SCAN_PER_LOOKUP = 16


class Trie(NamedTuple):
    """Bodies as a tree that shares their prefixes; every node stands before its children."""

    depths: Small  # (node,) 1 for a first step
    operators: Small  # (node,)
    rules: Small  # (node,) the rule whose body ends here, or -1


@kernel_function()
def _find_segments(edges: CsrSegments, scratch: Scratch, depth: int, operator: int) -> int:
    """List the segments of one operator that leave the frontier of a depth; return how many.

    Either looks up the segment of each entity in the frontier, or scans all segments of the operator.
    """
    entities, places, size = scratch.entities[depth], scratch.places[depth], scratch.counts[depth]
    first, end, num = edges.operator_offsets[operator], edges.operator_offsets[operator + 1], 0
    if end - first > SCAN_PER_LOOKUP * size:
        for place in range(size):
            segment = find_segment(edges, entities[place], operator)
            scratch.segments[num], scratch.origins[num] = segment, place
            num += segment >= 0
    else:
        for i in range(first, end):
            place = places[edges.sources[i]]
            scratch.segments[num], scratch.origins[num] = edges.own[i], place
            num += place >= 0
    return num


@kernel_function()
def _expand(
    edges: CsrSegments, scratch: Scratch, depth: int, operator: int, source: int, answer: int
) -> None:
    """Fill the frontier of one depth from the one before, by one step along an operator.

    Forward probability is divided among the edges that leave an entity, backward probability among those that
    arrive. A masked edge is neither taken nor counted.
    """
    clear_frontier(scratch, depth)
    forward_masked, backward_masked = scratch.masked[operator], scratch.masked[invert(operator, scratch)]
    reached, forward, backward = scratch.entities[depth], scratch.forward[depth], scratch.backward[depth]
    places, num = scratch.places[depth], 0
    for i in range(_find_segments(edges, scratch, depth - 1, operator)):
        segment, origin = scratch.segments[i], scratch.origins[i]
        entity = scratch.entities[depth - 1, origin]
        skipped = (
            answer
            if forward_masked and entity == source
            else source
            if backward_masked and entity == answer
            else -1
        )
        start, end = edges.starts[segment], edges.starts[segment + 1]
        degree = end - start - (skipped >= 0)
        if degree == 0:
            continue
        ahead, behind = scratch.forward[depth - 1, origin] / degree, scratch.backward[depth - 1, origin]
        for edge in range(start, end):
            target, fan_in = edges.targets[edge], edges.fan_in[edge]
            if forward_masked or backward_masked:
                if target == skipped:
                    continue
                fan_in -= (forward_masked and target == answer) or (backward_masked and target == source)
            place = places[target]
            if place < 0:
                place = places[target] = num
                reached[num], forward[num], backward[num] = target, 0.0, 0.0
                num += 1
            forward[place] += ahead
            backward[place] += behind / fan_in
    scratch.counts[depth] = num


@kernel_function()
def _walk(
    edges: CsrSegments,
    trie: Trie,
    scratch: Scratch,
    source: int,
    answer: int,
    excluded: int,
    entries: Entries,
    last: int,
) -> int:
    """Write the features of all bodies for one question; return as `write_segment` does."""
    scratch.counts[0], scratch.places[0, source] = 1, 0
    scratch.entities[0, 0], scratch.forward[0, 0], scratch.backward[0, 0] = source, 1.0, 1.0
    for node in range(len(trie.depths)):
        depth, rule = trie.depths[node], trie.rules[node]
        _expand(edges, scratch, depth, trie.operators[node], source, answer)
        if rule >= 0 and last >= 0:
            last = write_segment(scratch, depth, rule, excluded, entries, last)
    for depth in range(len(scratch.counts)):
        clear_frontier(scratch, depth)
    return last


@kernel()
def gather_chains(
    edges: CsrSegments, trie: Trie, scratch: Scratch, batch: QuestionBatch, entries: Entries, ends: Ids
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source = batch.sources[i]
        mask_facts(edges, scratch, batch, i)
        excluded = source if batch.exclude_source else -1
        last = _walk(edges, trie, scratch, source, batch.answers[i], excluded, entries, last)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)

"""The compiled loop that counts conclusions of many bodies without writing features down."""

from ..graph.arrays import Ids
from ..graph.compilation import kernel, kernel_function
from .features_kernels import (
    CsrSegments,
    QuestionBatch,
    Scratch,
    clear_frontier,
    find_segment,
    invert,
    mask_facts,
    unmask_facts,
)
from .kinds.chain_kernels import SCAN_PER_LOOKUP, Trie

#: Columns of counts: conclusions, those that are known answers, and questions whose answer is concluded.
CONCLUSIONS, RIGHT, HITS = 0, 1, 2


@kernel_function()
def _add_targets(
    edges: CsrSegments, scratch: Scratch, depth: int, segment: int, skipped: int, num: int
) -> int:
    """Add the targets of a segment to the frontier of a depth; return the size of the frontier."""
    places, reached = scratch.places[depth], scratch.entities[depth]
    for edge in range(edges.starts[segment], edges.starts[segment + 1]):
        target = edges.targets[edge]
        if places[target] < 0 and target != skipped:
            places[target] = num
            reached[num] = target
            num += 1
    return num


@kernel_function()
def _reach(edges: CsrSegments, scratch: Scratch, depth: int, operator: int, source: int, answer: int) -> int:
    """Fill the frontier of one depth with the entities one step from the one before; return edges visited."""
    clear_frontier(scratch, depth)
    forward_masked, backward_masked = scratch.masked[operator], scratch.masked[invert(operator, scratch)]
    before, places, size = scratch.entities[depth - 1], scratch.places[depth - 1], scratch.counts[depth - 1]
    first, end = edges.operator_offsets[operator], edges.operator_offsets[operator + 1]
    look_up = end - first > SCAN_PER_LOOKUP * size
    num, visited = 0, 0
    for i in range(size if look_up else end - first):
        if look_up:
            entity = before[i]
            segment = find_segment(edges, entity, operator)
            if segment < 0:
                continue
        else:
            entity, segment = edges.sources[first + i], edges.own[first + i]
            if places[entity] < 0:
                continue
        skipped = -1
        if forward_masked and entity == source:
            skipped = answer
        elif backward_masked and entity == answer:
            skipped = source
        visited += edges.starts[segment + 1] - edges.starts[segment]
        num = _add_targets(edges, scratch, depth, segment, skipped, num)
    scratch.counts[depth] = num
    return visited


@kernel_function()
def _count_frontier(scratch: Scratch, depth: int, excluded: int, answer: int, counts: Ids) -> None:
    """Add one body's conclusions for one question to its counts."""
    for i in range(scratch.counts[depth]):
        entity = scratch.entities[depth, i]
        if entity != excluded:
            counts[CONCLUSIONS] += 1
            counts[RIGHT] += scratch.marks[entity]
            counts[HITS] += entity == answer


@kernel_function()
def _count_question(
    edges: CsrSegments, trie: Trie, scratch: Scratch, ends: tuple[int, int], excluded: int, counts: Ids
) -> int:
    """Count the conclusions of all bodies for one question; a prefix that reaches nothing is not extended."""
    source, answer = ends
    scratch.counts[0], scratch.places[0, source], scratch.entities[0, 0] = 1, 0, source
    node, visited = 0, 0
    while node < len(trie.depths):
        depth, rule = trie.depths[node], trie.rules[node]
        visited += _reach(edges, scratch, depth, trie.operators[node], source, answer)
        node += 1
        if scratch.counts[depth] == 0:
            while node < len(trie.depths) and trie.depths[node] > depth:
                node += 1
        elif rule >= 0:
            _count_frontier(scratch, depth, excluded, answer, counts[rule])
    for depth in range(len(scratch.counts)):
        clear_frontier(scratch, depth)
    return visited


@kernel()
def count_chains(
    edges: CsrSegments,
    trie: Trie,
    scratch: Scratch,
    batch: QuestionBatch,
    known_offsets: Ids,
    known_ends: Ids,
    known: Ids,
    counts: Ids,
) -> int:
    """Add the counts of bodies on questions to `counts`, (rule, 3); return the number of edges visited."""
    visited = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        mask_facts(edges, scratch, batch, i)
        for j in range(known_offsets[i], known_ends[i]):
            scratch.marks[known[j]] = 1
        scratch.marks[answer] = 1
        excluded = source if batch.exclude_source else -1
        visited += _count_question(edges, trie, scratch, (source, answer), excluded, counts)
        for j in range(known_offsets[i], known_ends[i]):
            scratch.marks[known[j]] = 0
        scratch.marks[answer] = 0
        unmask_facts(scratch)
    return visited

"""Shared-neighbour rules about the answer: r(X, Y) where r(X, A), b(A, D) and b(Y, D) for other answers A."""

from ...graph.arrays import Body, Ids
from ...graph.compilation import kernel, kernel_function
from ..features import FeatureWalker
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    Small,
    find_segment,
    invert,
    mask_facts,
    unmask_facts,
)
from ..graph_index import GraphIndex
from .base import Candidate
from .shared_neighbours import (
    SMOOTHING,
    SharedNeighbours,
    add_confidence,
    tally_targets,
    write_confidences,
)


class Mirrored(SharedNeighbours):
    """Of the other entities with the answer's neighbour D, the share that are answers of X."""

    name = "mirrored"
    neighbour_place = 2
    inequalities = ((0, 1), (0, 2), (1, 3))

    def body(self, query: int, operator: int, inverse: int) -> Body:
        """Return the path of the rule from X to Y."""
        return query, operator, inverse

    def gather(
        self, plan: Small, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_mirrored(walker.edges, plan, walker.scratch, batch, entries, ends)

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the entities that have an edge of the operator."""
        return index.targets_of(index.operators.inverse(candidate.operators[0]))


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
            counted = tally_targets(edges, scratch, edges.targets[edge], operator, source, counted)
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
                add_confidence(scratch, entity, count / size)
        scratch.tallies[neighbour] = 0
    for edge in range(first, end):
        scratch.marks[edges.targets[edge]] = 0


@kernel()
def gather_mirrored(
    edges: CsrSegments, rules: Small, scratch: Scratch, batch: QuestionBatch, entries: Entries, ends: Ids
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        mask_facts(edges, scratch, batch, i)
        for rule in range(len(rules)):
            if last >= 0:
                _add_mirrored(edges, scratch, source, answer, batch.query, rules[rule, 0])
                last = write_confidences(scratch, rules[rule, 1], entries, last)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)


KIND = Mirrored()

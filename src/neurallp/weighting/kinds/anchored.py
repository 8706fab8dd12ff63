"""Shared-neighbour rules about the source: r(X, Y) where b(X, D), b(A, D), r(A, Y) for other entities A."""

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


class Anchored(SharedNeighbours):
    """Of the other entities with the source's neighbour D, the share that has the answer Y."""

    name = "anchored"
    neighbour_place = 1
    inequalities = ((0, 1), (0, 2))

    def body(self, query: int, operator: int, inverse: int) -> Body:
        """Return the path of the rule from X to Y."""
        return operator, inverse, query

    def gather(
        self, plan: Small, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_anchored(walker.edges, plan, walker.scratch, batch, entries, ends)

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the targets of the query."""
        return index.targets_of(query)


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
                counted = tally_targets(edges, scratch, edges.targets[other], query, source, counted)
        size = edges.starts[others + 1] - edges.starts[others] - 1 + SMOOTHING
        for i in range(counted):
            entity = scratch.tallied[i]
            add_confidence(scratch, entity, scratch.tallies[entity] / size)
            scratch.tallies[entity] = 0


@kernel()
def gather_anchored(
    edges: CsrSegments, rules: Small, scratch: Scratch, batch: QuestionBatch, entries: Entries, ends: Ids
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        mask_facts(edges, scratch, batch, i)
        for rule in range(len(rules)):
            if last >= 0:
                _add_anchored(edges, scratch, source, answer, batch.query, rules[rule, 0])
                last = write_confidences(scratch, rules[rule, 1], entries, last)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)


KIND = Anchored()

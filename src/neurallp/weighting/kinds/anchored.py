"""Shared-neighbour rules about the source: r(X, Y) where b(X, D), b(A, D), r(A, Y) for other entities A."""

from collections.abc import Iterator

from ...graph.arrays import Body, Floats, Ids
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate
from .shared_neighbours import SharedNeighbours
from .shared_neighbours_kernels import SMOOTHING


class Anchored(SharedNeighbours):
    """Of the other entities with the source's neighbour D, the share that has the answer Y."""

    name = "anchored"
    neighbour_place = 1
    inequalities = ((0, 1), (0, 2))
    mirrored = False

    def body(self, query: int, operator: int, inverse: int) -> Body:
        """Return the path of the rule from X to Y."""
        return operator, inverse, query

    def confidences(self, graph: MaskedGraph, operator: int) -> Iterator[tuple[Ids, Floats]]:
        """Yield for each neighbour D of the source the answers of the others with this D."""
        neighbours = graph.targets(graph.source, operator)
        for neighbour in neighbours[neighbours != graph.source].tolist():
            others = graph.targets(neighbour, graph.operators.inverse(operator))
            others = others[others != graph.source]
            answers, counts = graph.tally(others, graph.query)
            yield answers, counts / (len(others) + SMOOTHING)

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the targets of the query."""
        return index.targets_of(query)


KIND = Anchored()

"""Shared-neighbour rules about the answer: r(X, Y) where r(X, A), b(A, D) and b(Y, D) for other answers A."""

from collections.abc import Iterator

import numpy as np

from ...graph.arrays import Body, Floats, Ids
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate
from .shared_neighbours import SharedNeighbours
from .shared_neighbours_kernels import SMOOTHING


class Mirrored(SharedNeighbours):
    """Of the other entities with the answer's neighbour D, the share that are answers of X."""

    name = "mirrored"
    neighbour_place = 2
    inequalities = ((0, 1), (0, 2), (1, 3))
    mirrored = True

    def body(self, query: int, operator: int, inverse: int) -> Body:
        """Return the path of the rule from X to Y."""
        return query, operator, inverse

    def confidences(self, graph: MaskedGraph, operator: int) -> Iterator[tuple[Ids, Floats]]:
        """Yield for each neighbour D of the source's answers the others with this D; none supports itself."""
        answers = graph.targets(graph.source, graph.query)
        answers = answers[answers != graph.source]
        for neighbour, count in zip(*(each.tolist() for each in graph.tally(answers, operator)), strict=True):
            group = graph.targets(neighbour, graph.operators.inverse(operator))
            group = group[group != graph.source]
            counts = count - np.isin(group, answers)
            yield group[counts > 0], counts[counts > 0] / (len(group) - 1 + SMOOTHING)

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the entities that have an edge of the operator."""
        return index.targets_of(index.operators.inverse(candidate.operators[0]))


KIND = Mirrored()

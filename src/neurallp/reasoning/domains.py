"""Domains: how likely an entity has any answer to a query, estimated from the relations that it has."""

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Floats, Ids, concatenate_ranges, group_by
from ..graph.operators import Operators
from ..graph.packed import PackedOperators


class Domains:
    """The operators that each entity has facts of, and how often two operators share an entity."""

    def __init__(self, graph: Operators) -> None:
        self.graph, self.num_entities = graph, graph.num_entities
        if isinstance(graph, PackedOperators):  # its segments are grouped already
            csr = graph.csr
            self._of_entity, self._operators = csr.offsets, csr.operators
            self._of_operator, self._entities = csr.operator_offsets, csr.sources
        else:
            starts, self._of_entity = graph.segments()
            self._operators = graph.operators[starts]
            order, self._of_operator = group_by(self._operators, graph.num_operators)
            self._entities = graph.sources[starts][order]
        self._sizes = np.diff(self._of_operator)
        self._shared: dict[int, Ids] = {}

    _of_entity: NDArray[np.integer]
    _operators: NDArray[np.integer]
    _of_operator: NDArray[np.integer]
    _entities: NDArray[np.integer]

    def confidences(self, query: int) -> Floats:
        """Return for each operator the fraction of its entities that have an answer to `query`, smoothed."""
        found = (self._num_shared(query) + 0.5) / (self._sizes + 1.0)
        found[query] = 0.0  # what is asked is no reason for itself
        return np.asarray(found)

    def _num_shared(self, query: int) -> Ids:
        """Return for each operator how many of its entities have an answer to `query`; kept once counted."""
        if query not in self._shared:
            self._shared[query] = self._count_shared(query)
        return self._shared[query]

    def _count_shared(self, query: int) -> Ids:
        if isinstance(self.graph, PackedOperators) and self.graph.shared is not None:
            return np.asarray(self.graph.shared[query])
        first, last = self._of_operator[query : query + 2]
        places = self._places(self._entities[first:last].astype(np.int64))[1]
        return np.bincount(self._operators[places], minlength=len(self._sizes))

    def log_odds(self, sources: Ids, query: int) -> Floats:
        """Return the log odds that sources have an answer, by the relation that makes it most likely.

        A source without other relations gets the fraction of all entities that have an answer.
        """
        rows, places = self._places(sources)
        base = (self._sizes[query] + 0.5) / (self.num_entities + 1.0)
        found = np.full(len(sources), base)
        np.maximum.at(found, rows, self.confidences(query)[self._operators[places]])
        return np.asarray(np.log(found / (1.0 - found)))

    def log_odds_without(self, sources: Ids, query: int, answers: Ids) -> Floats:
        """Return the same, each on a graph without the one known answer of the source.

        So the source no longer counts as one that has an answer, and the answer may lose its inverse edge.
        """
        inverse = self.graph.inverse(query)
        loses = np.subtract(*self.graph.spans(answers, inverse)[::-1]) == 1
        has = np.subtract(*self.graph.spans(answers, query)[::-1]) > 0
        rows, places = self._places(sources)
        operators = self._operators[places]
        is_inverse = operators == inverse
        lost = is_inverse & loses[rows]
        shared = self._num_shared(query)[operators] - 1 - (lost & has[rows] & (answers != sources)[rows])
        found = (shared + 0.5) / (self._sizes[operators] - lost + 1.0)
        found[(operators == query) | (lost & (answers == sources)[rows])] = 0.0
        best = np.full(len(sources), (self._sizes[query] - 0.5) / (self.num_entities + 1.0))
        np.maximum.at(best, rows, found)
        return np.asarray(np.log(best / (1.0 - best)))

    def _places(self, sources: Ids) -> tuple[Ids, Ids]:
        """Return which entity each place of `_operators` belongs to, by row, and the places."""
        starts, stops = (
            each[sources].astype(np.int64) for each in (self._of_entity[:-1], self._of_entity[1:])
        )
        return np.repeat(np.arange(len(sources)), stops - starts), concatenate_ranges(starts, stops)

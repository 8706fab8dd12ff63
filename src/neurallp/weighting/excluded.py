"""Entities that are no candidate answers of a source: the source itself, and entities linked to it."""

import numpy as np

from ..graph.arrays import Ids
from ..graph.operators import Operators
from ..graph.questions import EdgeAnswers
from .weighted_rules import WeightedRules


class ExcludedCandidates:
    """The one place that says which entities scorers of weighted rules give minus infinity."""

    def __init__(self, weighted: WeightedRules, operators: Operators) -> None:
        self.weighted, self.operators, self._known = weighted, operators, EdgeAnswers(operators)

    def pairs(self, sources: Ids, query: int) -> tuple[Ids, Ids]:
        """Return pairs of row and entity: the row's source has that entity as no candidate.

        The source is none where no fact of the relation is reflexive. Where linked entities are excluded,
        those of other relations are: a known answer of the query itself stays an answer.
        """
        own = np.arange(len(sources)) if self.weighted.excludes_source(query) else np.zeros(0, np.int64)
        if not self.weighted.excludes_linked:
            return own, sources[own]
        rows, entities = self._linked(sources)
        known = self._key(*self._known.pairs(sources, np.full(len(sources), query)))
        linked = ~np.isin(self._key(rows, entities), known)
        return np.concatenate([own, rows[linked]]), np.concatenate([sources[own], entities[linked]])

    def has(self, source: int, query: int, answer: int) -> bool:
        """Return whether one answer is no candidate."""
        return bool((self.pairs(np.array([source]), query)[1] == answer).any())

    def _key(self, rows: Ids, entities: Ids) -> Ids:
        return rows * self.operators.num_entities + entities

    def _linked(self, sources: Ids) -> tuple[Ids, Ids]:
        """Return the entities that any operator leads to from each source, as pairs of row and entity."""
        edges = [self.operators.edges_out_of(sources[row : row + 1]) for row in range(len(sources))]
        rows = np.repeat(np.arange(len(sources)), [len(each) for each in edges])
        return rows, self.operators.targets_at(np.concatenate([*edges, np.zeros(0, np.int64)]))

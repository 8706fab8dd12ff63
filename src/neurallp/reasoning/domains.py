"""Domains: how likely an entity has any answer to a query, judged from the relations that it has."""

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Floats, Ids, concatenate_ranges, group_by
from ..graph.knowledge_base import KnowledgeBase
from ..graph.packed import PackedKnowledgeBase
from ..graph.questions import ask_both_ways


class Domains:
    """The operators that each entity has facts of, and how often two operators share an entity."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.num_entities, num_operators = len(kb.entities), 2 * len(kb.relations)
        self._confidences: dict[int, Floats] = {}
        self._shared = kb.shared if isinstance(kb, PackedKnowledgeBase) else None
        if isinstance(kb, PackedKnowledgeBase):  # its segments are these pairs
            csr = kb.operators.csr
            self._of_entity, self._operators = csr.offsets, csr.operators
            self._of_operator, self._entities = csr.operator_offsets, csr.sources
        else:
            self._count_pairs(kb, num_operators)
        self._sizes = np.diff(self._of_operator)

    _of_entity: NDArray[np.integer]
    _operators: NDArray[np.integer]
    _of_operator: NDArray[np.integer]
    _entities: NDArray[np.integer]

    def _count_pairs(self, kb: KnowledgeBase, num_operators: int) -> None:
        """Group the distinct pairs of entity and operator both ways."""
        questions = ask_both_ways(kb.facts, len(kb.relations))
        pairs = np.unique(questions.sources * num_operators + questions.queries)
        sources, operators = np.divmod(pairs, num_operators)
        order, self._of_entity = group_by(sources, self.num_entities)
        self._operators = operators[order]
        order, self._of_operator = group_by(operators, num_operators)
        self._entities = sources[order]

    def confidences(self, query: int) -> Floats:
        """Return for each operator the fraction of its entities that have an answer to `query`, smoothed."""
        if query not in self._confidences:
            found = (self._count_shared(query) + 0.5) / (self._sizes + 1.0)
            found[query] = 0.0  # what is asked is no reason for itself
            self._confidences[query] = np.asarray(found)
        return self._confidences[query]

    def _count_shared(self, query: int) -> Ids:
        """Return for each operator how many entities have it and an answer to `query`."""
        if self._shared is not None:
            return np.asarray(self._shared[query])
        first, last = self._of_operator[query : query + 2]
        places = self._places(self._entities[first:last].astype(np.int64))[1]
        return np.bincount(self._operators[places], minlength=len(self._sizes))

    def log_odds(self, sources: Ids, query: int) -> Floats:
        """Return the log odds that sources have an answer, by the relation that speaks for it most.

        A source without other relations is judged by the fraction of all entities that have an answer.
        """
        rows, places = self._places(sources)
        base = (self._sizes[query] + 0.5) / (self.num_entities + 1.0)
        found = np.full(len(sources), base)
        np.maximum.at(found, rows, self.confidences(query)[self._operators[places]])
        return np.asarray(np.log(found / (1.0 - found)))

    def _places(self, sources: Ids) -> tuple[Ids, Ids]:
        """Return which entity each place of `_operators` belongs to, by row, and the places."""
        starts, stops = (
            each[sources].astype(np.int64) for each in (self._of_entity[:-1], self._of_entity[1:])
        )
        return np.repeat(np.arange(len(sources)), stops - starts), concatenate_ranges(starts, stops)

"""Domains: how likely an entity has any answer to a query, judged from the relations that it has."""

import numpy as np

from ..graph.arrays import Floats, Ids, concatenate_ranges, group_by
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import ask_both_ways


class Domains:
    """The operators that each entity has facts of, and how often two operators share an entity."""

    def __init__(self, kb: KnowledgeBase) -> None:
        self.num_entities, num_operators = len(kb.entities), 2 * len(kb.relations)
        questions = ask_both_ways(kb.facts, len(kb.relations))
        pairs = np.unique(questions.sources * num_operators + questions.queries)
        sources, operators = np.divmod(pairs, num_operators)
        order, self._of_entity = group_by(sources, self.num_entities)
        self._operators = operators[order]
        order, self._of_operator = group_by(operators, num_operators)
        self._entities = sources[order]
        self._sizes = np.diff(self._of_operator)

    def confidences(self, query: int) -> Floats:
        """Return for each operator the fraction of its entities that have an answer to `query`, smoothed."""
        first, last = self._of_operator[query : query + 2]
        both = np.bincount(
            self._operators[self._places(self._entities[first:last])[1]], minlength=len(self._sizes)
        )
        found = (both + 0.5) / (self._sizes + 1.0)
        found[query] = 0.0  # what is asked is no reason for itself
        return np.asarray(found)

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
        starts, stops = self._of_entity[:-1][sources], self._of_entity[1:][sources]
        return np.repeat(np.arange(len(sources)), stops - starts), concatenate_ranges(starts, stops)

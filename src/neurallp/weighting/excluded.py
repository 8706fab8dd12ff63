"""Entities that are no candidate answers of a source: the source itself, and entities linked to it."""

from functools import cached_property

import numpy as np

from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import KnownAnswers
from .masking import linked_pairs, links_of
from .weighted_rules import WeightedRules


class ExcludedCandidates:
    """The one place that says which entities scorers of weighted rules give minus infinity."""

    def __init__(self, weighted: WeightedRules, kb: KnowledgeBase) -> None:
        self.weighted, self.kb = weighted, kb

    def pairs(self, sources: Ids, query: int) -> tuple[Ids, Ids]:
        """Return pairs of row and entity: the row's source has that entity as no candidate.

        The source is none where no fact of the relation is reflexive. Where linked entities are excluded,
        those of other relations are: a known answer of the query itself stays an answer.
        """
        own = np.arange(len(sources)) if self.weighted.excludes_source(query) else np.zeros(0, np.int64)
        if not self.weighted.excludes_linked:
            return own, sources[own]
        rows, entities = linked_pairs(self._links, sources)
        known = self._key(*self._known.pairs(sources, np.full(len(sources), query)))
        linked = ~np.isin(self._key(rows, entities), known)
        return np.concatenate([own, rows[linked]]), np.concatenate([sources[own], entities[linked]])

    def has(self, source: int, query: int, answer: int) -> bool:
        """Return whether one answer is no candidate."""
        return bool((self.pairs(np.array([source]), query)[1] == answer).any())

    def _key(self, rows: Ids, entities: Ids) -> Ids:
        return rows * len(self.kb.entities) + entities

    @cached_property
    def _links(self) -> KnownAnswers:
        return links_of(self.kb.facts)

    @cached_property
    def _known(self) -> KnownAnswers:
        return KnownAnswers(self.kb.facts, len(self.kb.relations))

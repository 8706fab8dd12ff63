"""The operators M_R of a knowledge base as one list of edges, sorted by source."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .arrays import Ids, concatenate_ranges, group_offsets
from .knowledge_base import KnowledgeBase
from .vocabulary import Operator, inverse_operator


@dataclass(frozen=True, eq=False)
class Operators:
    """All M_R and their inverses: an edge leads from `sources` by `operators` to `targets`.

    Edges are sorted by source, operator and target. Every fact gives two edges, one for each of its
    operators, so the edges into an entity are the inverses of the edges out of it.
    """

    num_entities: int
    num_relations: int
    sources: Ids  # (edge,)
    operators: Ids  # (edge,)
    targets: Ids  # (edge,)

    @classmethod
    def of(cls, kb: KnowledgeBase) -> "Operators":
        """Return the operators of all facts of `kb`, those of a packed knowledge base as they are."""
        packed: Operators | None = getattr(kb, "operators", None)
        if packed is not None:
            return packed
        return cls.of_facts(kb.facts, len(kb.entities), len(kb.relations))

    @classmethod
    def of_facts(cls, facts: Ids, num_entities: int, num_relations: int) -> "Operators":
        """Return the operators of distinct facts."""
        head, relation, tail = facts.T
        sources = np.concatenate([head, tail])
        operators = np.concatenate([relation, inverse_operator(relation, num_relations)])
        targets = np.concatenate([tail, head])
        order = np.lexsort((targets, operators, sources))
        return cls(num_entities, num_relations, sources[order], operators[order], targets[order])

    def changed(self, added: Ids, removed: Ids, num_entities: int) -> "Operators":
        """Return the operators with new facts added and known ones removed.

        The new edges are merged into the sorted ones, so this costs a copy of the edges and no sort.
        """
        kept = np.ones(self.num_edges, dtype=bool)
        kept[self.edges_of(removed).reshape(-1)] = False
        columns = (column[kept] for column in (self.sources, self.operators, self.targets))
        old = Operators(num_entities, self.num_relations, *columns)
        new = Operators.of_facts(added, num_entities, self.num_relations)
        places = np.searchsorted(old._keys, new._keys)
        merged = (
            np.insert(getattr(old, name), places, getattr(new, name))
            for name in ("sources", "operators", "targets")
        )
        return Operators(num_entities, self.num_relations, *merged)

    @property
    def num_operators(self) -> int:
        return 2 * self.num_relations

    @property
    def num_edges(self) -> int:
        return len(self.sources)

    def sources_at(self, edges: Ids) -> Ids:
        """Return the sources of edges."""
        return self.sources[edges]

    def operators_at(self, edges: Ids) -> Ids:
        """Return the operators of edges."""
        return self.operators[edges]

    def targets_at(self, edges: Ids | slice) -> Ids:
        """Return the targets of edges."""
        return self.targets[edges]

    @cached_property
    def _by_operator(self) -> tuple[Ids, Ids]:
        order = np.argsort(self.operators, kind="stable")
        return order, np.searchsorted(self.operators[order], np.arange(self.num_operators + 1))

    def edges_by_operator(self, k: int) -> Ids:
        """Return the numbers of all edges of one operator, ascending."""
        order, offsets = self._by_operator
        return order[offsets[k] : offsets[k + 1]]

    def inverse(self, operators: Operator) -> Operator:
        """Return the inverse of one operator, or of each in an array."""
        return inverse_operator(operators, self.num_relations)

    @cached_property
    def offsets(self) -> Ids:
        """Where each entity's edges begin; (entity + 1,)."""
        return group_offsets(self.sources, self.num_entities)

    def edges_out_of(self, entities: Ids) -> Ids:
        """Return the numbers of all edges that leave any of `entities`."""
        return concatenate_ranges(self.offsets[entities], self.offsets[entities + 1])

    def neighbours(self, sources: Ids) -> tuple[Ids, Ids]:
        """Return the entities that edges of any operator lead to from each source, as (row, entity) pairs.

        Rows ascend and number the sources; a pair occurs once for each of its edges.
        """
        rows = np.repeat(np.arange(len(sources)), self.degrees(sources))
        return rows, self.targets_at(self.edges_out_of(sources))

    def degrees(self, entities: Ids) -> Ids:
        """Return how many edges leave each of `entities`."""
        return self.offsets[entities + 1] - self.offsets[entities]

    @cached_property
    def segment_keys(self) -> Ids:
        """Source and operator of each edge as one number, ascending."""
        return self.sources * self.num_operators + self.operators

    def segments(self) -> tuple[Ids, Ids]:
        """Return the first edge of each segment (one source and operator), and the segments' offsets."""
        starts = np.flatnonzero(np.diff(self.segment_keys, prepend=-1))
        return starts, group_offsets(self.sources[starts], self.num_entities)

    def spans(self, entities: Ids, k: int | Ids) -> tuple[Ids, Ids]:
        """Return the first edge of each entity for one operator, or one each, and their end."""
        wanted = entities * self.num_operators + k
        return np.searchsorted(self.segment_keys, wanted), np.searchsorted(
            self.segment_keys, wanted, side="right"
        )

    @cached_property
    def _keys(self) -> Ids:
        return self._key(self.sources, self.operators, self.targets)

    def _key(self, sources: Ids, operators: Ids, targets: Ids) -> Ids:
        return (sources * self.num_operators + operators) * self.num_entities + targets

    def edges_of(self, facts: Ids) -> Ids:
        """Return both edges of each fact, (fact, 2): forward and inverse; -1 where the fact is not here."""
        head, relation, tail = facts.T
        forward = self._find(head, relation, tail)
        inverse = self._find(tail, self.inverse(relation), head)
        return np.stack([forward, inverse], axis=1)

    def has_edge(self, source: int, operator: int, target: int) -> bool:
        """Return whether an operator leads from one entity to another."""
        return bool(self._find(*(np.array([each]) for each in (source, operator, target)))[0] >= 0)

    def _find(self, sources: Ids, operators: Ids, targets: Ids) -> Ids:
        keys = self._key(sources, operators, targets)
        places = np.searchsorted(self._keys, keys)
        found = places < self.num_edges
        found[found] = self._keys[places[found]] == keys[found]
        return np.where(found, places, -1)

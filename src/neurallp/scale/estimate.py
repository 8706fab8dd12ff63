"""What applying rules will take, before anything is run: rows, bytes and minutes of each rule."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..graph.arrays import Floats, Ids, group_rows
from ..graph.packed import PackedKnowledgeBase
from ..graph.vocabulary import Relations
from ..rules.rule import Rule
from ..rules.support import body_ids
from ..weighting.features import ask
from ..weighting.graph_index import GraphIndex, MaskedGraph
from ..weighting.kinds import get_kind, is_dense, near
from ..weighting.weighted_rules import WeightedRules
from .queries import Body

#: Rows that DuckDB joins, groups, ranks and writes in a CPU second (measured on 10^6 facts: docs/scale.md).
ROWS_PER_SECOND = 500_000

#: Bytes that a row takes while it is grouped: source, entity, two sums, and its place in a hash table.
BYTES_PER_ROW = 48

#: Seconds that a statement takes however few rows it has.
SECONDS_PER_RULE = 0.02

#: Sources whose walks of nearness are counted for a query.
SOURCES_COUNTED = 32


@dataclass(frozen=True)
class Cost:
    """What one rule takes: the rows that its joins yield before they are grouped."""

    query: int
    number: int
    text: str
    rows: int

    @property
    def num_bytes(self) -> int:
        """Memory, or space on disk, that grouping the rows may take."""
        return self.rows * BYTES_PER_ROW

    @property
    def minutes(self) -> float:
        """CPU time, about."""
        return (self.rows / ROWS_PER_SECOND + SECONDS_PER_RULE) / 60


class Estimator:
    """Counts the paths along bodies without listing them: a walk backwards from the last step.

    The edges that walks of nearness follow are counted for some of the sources.
    """

    def __init__(self, kb: PackedKnowledgeBase) -> None:
        self.operators, self.entities = kb.operators, kb.entities
        self._index = GraphIndex(kb, kb.operators)
        self._counts: dict[Body, Floats] = {}
        self._near: dict[int, int] = {}

    def paths(self, body: Body) -> int:
        """Return how many paths there are along a body."""
        return int(self._from_each(body).sum())

    def _from_each(self, body: Body) -> Floats:
        """Return how many paths begin at each entity; suffixes that bodies share are counted once."""
        if body not in self._counts:
            sources, sizes = self.operators.sources_of(body[0])
            found = np.zeros(self.operators.num_entities)
            if len(body) == 1:
                found[sources] = sizes
            else:
                onward = self._from_each(body[1:])
                targets = self.operators.targets_at(self.operators.edges_by_operator(body[0]))
                rows = group_rows(np.append(0, np.cumsum(sizes)))
                found[sources] = np.bincount(rows, onward[targets], len(sources))
            self._counts[body] = found
        return self._counts[body]

    def costs(self, weighted: WeightedRules, query: int) -> Iterator[Cost]:
        """Yield what each rule of a query costs."""
        own = weighted.queries.get(query)
        sources = np.zeros(self.operators.num_entities, dtype=bool)
        ordering = []
        for number, candidate in enumerate(own.rules if own else ()):
            rule = get_kind(candidate.kind).rule(weighted.relations, query, candidate, False)
            if rule.names_no_relation:
                ordering.append(number)
            elif not is_dense(candidate):
                own_sources, rows = self._sources_and_rows(rule, weighted.relations)
                sources[own_sources] = True
                yield Cost(query, number, str(weighted.rule(query, number)), rows)
        self._counts.clear()
        for number in ordering:
            is_near = own is not None and own.rules[number].kind == "near"
            count = self.near_edges if is_near else self.edges_from
            rows = count(np.flatnonzero(sources))
            yield Cost(query, number, str(weighted.rule(query, number)), rows)

    def _sources_and_rows(self, rule: Rule, relations: Relations) -> tuple[Ids, int]:
        """Return the sources at which the body of a rule begins, or which it names, and the rule's rows."""
        body = body_ids(rule, relations)
        if rule.source is None:
            return self.operators.sources_of(body[0])[0], self.paths(body)
        ends = np.array([self.entities.find(name) for name in (rule.source, str(rule.body_start))])
        if ends.min() < 0:
            return ends[:0], 0
        (start,), (stop,) = self.operators.spans(ends[1:], body[0])
        return ends[:1] if stop > start else ends[:0], int(stop - start)

    def edges_from(self, sources: Ids) -> int:
        """Return how many edges of any relation leave sources."""
        return int(self.operators.degrees(sources).sum())

    @cached_property
    def _order(self) -> Ids:
        """A random order of entities: queries count the same sources, as far as they have them."""
        return np.random.default_rng(0).permutation(self.operators.num_entities)

    def near_edges(self, sources: Ids) -> int:
        """Return how many edges walks of nearness follow, about: as many as from some of the sources."""
        counted = sources[np.argsort(self._order[sources])[:SOURCES_COUNTED]].tolist()
        if not counted:
            return 0
        return round(sum(map(self._near_edges_from, counted)) * len(sources) / len(counted))

    def _near_edges_from(self, source: int) -> int:
        """Return how many edges the walks of nearness from one source follow."""
        if source not in self._near:
            graph = MaskedGraph(self._index, ask(0, np.array([source])), 0)
            self._near[source] = sum(len(edges) for edges, _ in near.walk(graph))
        return self._near[source]

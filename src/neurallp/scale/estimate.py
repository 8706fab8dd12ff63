"""What applying rules will take, before anything is run: rows, bytes and minutes of each rule."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Floats, group_rows
from ..graph.packed import PackedKnowledgeBase
from ..weighting.kinds import get_kind, is_dense
from ..weighting.weighted_rules import WeightedRules
from .queries import Body

#: Rows that DuckDB joins, groups, ranks and writes in a CPU second (measured on 10^6 facts: docs/scale.md).
ROWS_PER_SECOND = 500_000

#: Bytes that a row takes while it is grouped: source, entity, two sums, and its place in a hash table.
BYTES_PER_ROW = 48

#: Seconds that a statement takes however few rows it has.
SECONDS_PER_RULE = 0.02


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
    """Counts the paths along bodies without listing them: a walk backwards from the last step."""

    def __init__(self, kb: PackedKnowledgeBase) -> None:
        self.operators = kb.operators
        self._counts: dict[Body, Floats] = {}

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
        for number, candidate in enumerate(own.rules if own else ()):
            if is_dense(candidate):
                continue
            rule = get_kind(candidate.kind).rule(weighted.relations, query, candidate, False)
            body = tuple(map(weighted.relations.operator_id, rule.body))
            yield Cost(query, number, str(weighted.rule(query, number)), self.paths(body))
        self._counts.clear()

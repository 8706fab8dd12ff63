"""Relations: all of them in a table."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from fastapi import Query

from ..explorer import Explorer
from .parameters import PageNumber, Search, Slice, matches, slice_of

ROWS = 50

Order = Literal["facts", "name", "rules"]


@dataclass(frozen=True)
class RelationRow:
    """A relation in numbers."""

    name: str
    num_facts: int
    num_heads: int
    num_tails: int
    num_rules: int
    num_inverse_rules: int
    tails_per_head: float
    heads_per_tail: float


@dataclass(frozen=True)
class RelationsPage:
    """The relations that pass a search, one page of them."""

    search: str
    sort: Order
    relations: Slice[RelationRow]
    has_rule_counts: bool

    @property
    def rows(self) -> list[RelationRow]:
        """The rows of the table."""
        return self.relations.rows


_KEYS: dict[Order, Callable[[RelationRow], tuple[object, ...]]] = {
    "facts": lambda row: (-row.num_facts, row.name),
    "name": lambda row: (row.name.casefold(),),
    "rules": lambda row: (-row.num_rules - row.num_inverse_rules, row.name),
}


def relations(
    explorer: Explorer,
    search: Search = "",
    sort: Annotated[Order, Query(description="What comes first.")] = "facts",
    page: PageNumber = 1,
) -> RelationsPage:
    """All relations with their facts and rules."""
    rows = explorer.keep(("relations",), lambda: _rows(explorer))
    found = sorted((row for row in rows if matches(search, row.name)), key=_KEYS[sort])
    return RelationsPage(search, sort, slice_of(found, page, ROWS), not explorer.is_neural)


def _rows(explorer: Explorer) -> list[RelationRow]:
    kb = explorer.reasoner.kb
    return [describe_relation(explorer, relation) for relation in range(len(kb.relations))]


def describe_relation(explorer: Explorer, relation: int) -> RelationRow:
    """Return the counts of one relation; kept once counted."""
    return explorer.keep(("described", relation), lambda: _describe(explorer, relation))


def _describe(explorer: Explorer, relation: int) -> RelationRow:
    operators, relations = explorer.reasoner.operators, explorer.reasoner.relations
    edges = operators.edges_by_operator(relation)
    heads, tails = (len(np.unique(each(edges))) for each in (operators.sources_at, operators.targets_at))
    return RelationRow(
        relations[relation],
        len(edges),
        heads,
        tails,
        explorer.num_rules(relation),
        explorer.num_rules(relations.inverse(relation)),
        len(edges) / heads if heads else 0.0,
        len(edges) / tails if tails else 0.0,
    )

"""One relation: what it is in the data, its rules, and what changes when some of them are left out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from fastapi import Depends, Query

from ...graph.vocabulary import inverse_name
from ...rules.rule import Rule, atom
from ..changes import UNCHANGED, Changes
from ..explorer import Explorer
from ..sentences import as_sentence
from ..validation import Effect, measure_vetoes
from .parameters import Fact, Name, PageNumber, Search, Slice, World, matches, slice_of
from .relations import RelationRow, describe_relation

ROWS = 20
NUM_EXAMPLES = 6
NUM_DEGREES = 5

#: Rules of one query whose support is counted to sort by it; those of less weight follow as they are.
MAX_COUNTED = 100

Order = Literal["weight", "confidence", "support", "length"]
Side = Literal["all", "for", "against"]


@dataclass(frozen=True)
class RuleRow:
    """A rule of a query. `confidence` and `support` are counted on the facts; a prior has neither."""

    id: str
    logic: str
    sentence: str
    body: list[str]
    kind: str
    weight: float | None
    confidence: float | None
    pca_confidence: float | None
    support: int | None
    num_predictions: int | None
    length: int
    vetoed: bool


@dataclass(frozen=True)
class Degree:
    """An entity that many facts of a relation have as their source."""

    entity: str
    num_facts: int


@dataclass(frozen=True)
class RelationPage:
    """One query (a relation, or `~name` for its inverse) and one page of its rules."""

    query: str
    inverse: str
    asks: str
    counts: RelationRow
    examples: list[Fact]
    most: list[Degree]
    kinds: dict[str, int]
    search: str
    kind: str
    side: Side
    sort: Order
    rules: Slice[RuleRow]
    largest_weight: float
    largest_support: int
    can_veto: bool
    effect: Effect | None
    changes: Changes

    @property
    def kind_options(self) -> list[tuple[str, str]]:
        """The kinds to choose from, with how many rules each has."""
        return [(kind, f"{kind} ({num:,})") for kind, num in self.kinds.items()]

    @property
    def rows(self) -> list[RuleRow]:
        """The rules of the table."""
        return self.rules.rows


@dataclass(frozen=True)
class Wanted:
    """Which rules of a query are listed, and in which order."""

    search: str = ""
    kind: str = ""
    side: Side = "all"
    sort: Order = "weight"

    def keeps(self, rule: Rule) -> bool:
        """Return whether a rule is listed."""
        is_on_side = self.side == "all" or rule.is_against == (self.side == "against")
        return is_on_side and self.kind in ("", rule.kind) and matches(self.search, str(rule))


EVERY_RULE = Wanted()


def read_wanted(
    search: Search = "",
    kind: Annotated[str, Query(max_length=30, description="Only rules of this kind.")] = "",
    side: Annotated[Side, Query(description="Rules that raise scores, or that lower them.")] = "all",
    sort: Annotated[Order, Query(description="What comes first.")] = "weight",
) -> Wanted:
    """Return which rules an address asks for."""
    return Wanted(search, kind, side, sort)


def relation(
    explorer: Explorer,
    name: Name,
    wanted: Annotated[Wanted, Depends(read_wanted)] = EVERY_RULE,
    page: PageNumber = 1,
    changes: World = UNCHANGED,
) -> RelationPage:
    """One relation (`~name`: its inverse) with its rules; `veto` leaves some of them out."""
    relations = explorer.reasoner.relations
    query = relations.operator_id(name)
    rules = explorer.rules(query)
    passing = [number for number, rule in enumerate(rules) if wanted.keeps(rule)]
    found = slice_of(_sorted(explorer, query, passing, wanted.sort), page, ROWS)
    explorer.count(query, found.rows)
    rows = [as_rule_row(explorer, query, number, changes) for number in found.rows]
    shown = Slice(rows, found.number, found.num_pages, found.total)
    own = any(veto.rpartition(":")[0] == name for veto in changes.veto)
    return RelationPage(
        name,
        inverse_name(name),
        atom(name, "X", "?"),
        describe_relation(explorer, query % len(relations)),
        *explorer.keep(("examples", query), lambda: _examples(explorer, query)),
        _count_kinds(rules),
        wanted.search,
        wanted.kind,
        wanted.side,
        wanted.sort,
        shown,
        max((abs(rule.weight or rule.confidence) for rule in rules), default=1.0),
        max((row.support or 0 for row in rows), default=1),
        explorer.can_veto,
        measure_vetoes(explorer, query, changes.veto) if own else None,
        changes,
    )


def _sorted(explorer: Explorer, query: int, numbers: list[int], sort: Order) -> list[int]:
    """Return the numbers of rules in order; support is counted only for those with the largest weights."""
    rules = explorer.rules(query)

    def strength(number: int) -> float:
        weight = rules[number].weight
        return -abs(rules[number].confidence if weight is None else weight)

    by_weight = sorted(numbers, key=strength)
    if sort == "support":
        first, rest = by_weight[:MAX_COUNTED], by_weight[MAX_COUNTED:]
        explorer.count(query, first)
        return [*sorted(first, key=lambda n: -(explorer.counted(query, n).support or 0)), *rest]
    keys: dict[str, Callable[[int], float]] = {
        "confidence": lambda n: -rules[n].confidence,
        "length": lambda n: len(rules[n].body),
    }
    return sorted(by_weight, key=keys[sort]) if sort in keys else by_weight


def as_rule_row(explorer: Explorer, query: int, number: int, changes: Changes) -> RuleRow:
    """Return a rule as a page shows it, counted on the facts."""
    rule = explorer.counted(query, number)
    name = f"{rule.target}:{number}"
    return RuleRow(
        name,
        str(rule),
        as_sentence(rule),
        list(rule.body) if rule.is_path_rule else [],
        rule.kind,
        rule.weight,
        rule.measured_confidence,
        rule.pca_confidence,
        rule.support,
        rule.num_predictions,
        len(rule.body),
        name in changes.veto,
    )


def _count_kinds(rules: list[Rule]) -> dict[str, int]:
    kinds: dict[str, int] = {}
    for rule in rules:
        kinds[rule.kind] = kinds.get(rule.kind, 0) + 1
    return kinds


def _examples(explorer: Explorer, query: int) -> tuple[list[Fact], list[Degree]]:
    """Return some facts of a query, and the sources that have most."""
    reasoner = explorer.reasoner
    operators, names, relations = reasoner.operators, reasoner.kb.entities, reasoner.relations
    edges = operators.edges_by_operator(query)
    some = edges[:: max(1, len(edges) // NUM_EXAMPLES)][:NUM_EXAMPLES]
    sources, targets = operators.sources_at(some).tolist(), operators.targets_at(some).tolist()
    ends = [(names[source], names[target]) for source, target in zip(sources, targets, strict=True)]
    inverse = query >= len(relations)
    relation = relations[query % len(relations)]
    facts = [Fact(b, relation, a) if inverse else Fact(a, relation, b) for a, b in ends]
    having, counts = np.unique(operators.sources_at(edges), return_counts=True)
    order = np.argsort(-counts, kind="stable")[:NUM_DEGREES]
    most = [Degree(names[int(having[place])], int(counts[place])) for place in order]
    return facts, most

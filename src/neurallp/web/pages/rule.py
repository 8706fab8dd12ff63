"""One rule: the pairs that it predicts, right and wrong, each with the facts that it rests on."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Annotated, Literal

import numpy as np
from fastapi import Query

from ...graph.arrays import Ids
from ...rules.rule import Rule, facts_along
from ...rules.support import body_ids, find_named, predict_pairs, predicting_paths
from ..changes import UNCHANGED, Changes
from ..explorer import Explorer
from .parameters import Name, PageNumber, World
from .relation import RuleRow, as_rule_row

ROWS = 25
SOURCES_AT_ONCE = 64

#: Sources whose predictions are looked through for one page.
MAX_SOURCES = 5000

Which = Literal["all", "right", "wrong"]


@dataclass(frozen=True)
class Pair:
    """A pair that a rule predicts, whether it is a fact, and the facts along one path."""

    source: str
    answer: str
    right: bool
    because: list[str]


@dataclass(frozen=True)
class RulePage:
    """One rule and one page of the pairs that it predicts."""

    rule: RuleRow
    query: str
    which: Which
    pairs: list[Pair]
    page: int
    has_more: bool
    largest_weight: float
    can_veto: bool
    changes: Changes

    @property
    def rows(self) -> list[Pair]:
        """The pairs of the table."""
        return self.pairs


def rule(
    explorer: Explorer,
    name: Name,
    which: Annotated[Which, Query(description="Predictions that are facts, or that are not.")] = "all",
    page: PageNumber = 1,
    changes: World = UNCHANGED,
) -> RulePage:
    """One rule, given as `query:number`, with the pairs that it predicts."""
    query, number = explorer.rule_number(name)
    found = explorer.counted(query, number)
    pairs = _pairs(explorer, found, query, which)
    some = list(islice(pairs, (page - 1) * ROWS, page * ROWS + 1))
    told = [_tell(explorer, found, *each) for each in some[:ROWS]]
    row = as_rule_row(explorer, query, number, changes)
    largest = max(abs(each.weight or 1.0) for each in explorer.rules(query))
    can_veto = explorer.can_veto
    return RulePage(row, found.target, which, told, page, len(some) > ROWS, largest, can_veto, changes)


def _pairs(explorer: Explorer, found: Rule, query: int, which: Which) -> Iterator[tuple[int, int, bool]]:
    """Yield the pairs that a rule predicts and whether they are facts, by source."""
    operators = explorer.reasoner.operators
    if found.only_orders:
        return
    sources = _sources(explorer, found)
    for start in range(0, len(sources), SOURCES_AT_ONCE):
        some = sources[start : start + SOURCES_AT_ONCE]
        rows, answers = predict_pairs(found, explorer.reasoner.kb, operators, some)
        facts = np.stack([some[rows], np.full(len(rows), query), answers], axis=1)
        right = _are_facts(explorer, facts)
        for source, answer, is_right in zip(some[rows].tolist(), answers.tolist(), right, strict=True):
            if which == "all" or is_right == (which == "right"):
                yield source, answer, is_right


def _sources(explorer: Explorer, found: Rule) -> Ids:
    """Return the entities that a rule may predict answers for: its source, or all where its body starts."""
    reasoner = explorer.reasoner
    if found.source is not None:
        return find_named(found.source, reasoner.kb)
    body, operators = body_ids(found, reasoner.relations), reasoner.operators
    edges = operators.edges_by_operator(body[0]) if body else np.arange(operators.num_edges)
    return np.unique(operators.sources_at(edges))[:MAX_SOURCES]


def _are_facts(explorer: Explorer, links: Ids) -> list[bool]:
    """Return which (source, operator, target) are edges."""
    operators = explorer.reasoner.operators
    if not len(links):
        return []
    return [operators.has_edge(*link) for link in links.tolist()]


def _tell(explorer: Explorer, found: Rule, source: int, answer: int, right: bool) -> Pair:
    reasoner = explorer.reasoner
    names = reasoner.kb.entities
    path = next(predicting_paths(found, reasoner.kb, reasoner.operators, source, answer), ())
    because = facts_along(found, [names[entity] for entity in path])
    return Pair(names[source], names[answer], right, because)

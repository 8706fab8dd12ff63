"""Weighted rules: the result of weighting. A score is a sum over rules of weights times features."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..config import KINDS
from ..graph.arrays import Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.questions import KnownFacts, excludes_source
from ..graph.vocabulary import Relations
from ..rules.rule import Rule, RuleFilter, RuleSet
from ..rules.support import measure
from .kinds import get_kind
from .kinds.base import Candidate


@dataclass(frozen=True, eq=False)
class WeightedQuery:
    """The rules of one query with their weights, (rule, 3): for indicator, forward and backward feature.

    A rule's confidence is the share of right answers in what it predicted on the training questions.
    """

    rules: tuple[Candidate, ...]
    weights: Floats
    confidences: Floats

    def __len__(self) -> int:
        return len(self.rules)

    @property
    def totals(self) -> Floats:
        """The contribution of each rule where all its features are 1."""
        totals: Floats = self.weights.sum(axis=1)
        return totals


@dataclass(frozen=True, eq=False)
class WeightedRules:
    """Rules with weights. They apply to any facts of their relations; only constants name entities."""

    relations: Relations
    reflexive: Flags  # (relation,) whether the facts relate an entity to itself
    queries: Mapping[int, WeightedQuery]
    #: Whether entities that a known fact links to the source are no candidates.
    excludes_linked: bool = False
    #: Queries whose weights come from a cheap fit, as learning was stopped before they were refined.
    unrefined: tuple[int, ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self.queries.values()))

    @property
    def sentences(self) -> list[str]:
        """What holds for every query, in words."""
        linked = "No answer: an entity that a fact of another relation links to X already."
        return [linked] if self.excludes_linked else []

    @property
    def num_of_kinds(self) -> dict[str, int]:
        """The number of rules of each kind."""
        counts = Counter(rule.kind for each in self.queries.values() for rule in each.rules)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    @property
    def predicts(self) -> bool:
        """Whether any rule predicts answers, rather than order those of other rules."""
        return not all(KINDS[kind].only_orders for kind in self.num_of_kinds)

    def excludes_source(self, query: int) -> bool:
        """Return whether the source is no candidate answer of a query."""
        return bool(excludes_source(self.reflexive, query))

    @cached_property
    def max_depth(self) -> int:
        """The number of frontiers that the features of any rule need at once."""
        every = (rule for query in self.queries.values() for rule in query.rules)
        return max((get_kind(rule.kind).max_depth(rule) for rule in every), default=1)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, those of greatest weight first."""
        weighted = self.queries.get(query)
        rules = [self.rule(query, number) for number in range(len(weighted or ()))]
        largest = max((abs(rule.weight or 0.0) for rule in rules), default=1.0) or 1.0
        for rule in sorted(rules, key=lambda rule: -abs(rule.weight or 0.0)):
            yield replace(rule, normalized_confidence=abs(rule.weight or 0.0) / largest)

    def rule(self, query: int, number: int) -> Rule:
        """Return a rule of a query by its number."""
        weighted = self.queries[query]
        candidate = weighted.rules[number]
        exclude_source = self.excludes_source(query)
        rule = get_kind(candidate.kind).rule(self.relations, query, candidate, exclude_source)
        weight, confidence = float(weighted.totals[number]), float(weighted.confidences[number])
        return replace(rule, weight=weight, confidence=confidence)


class ExcludedCandidates:
    """Which entities are no candidates: scorers of weighted rules give them minus infinity."""

    def __init__(self, weighted: WeightedRules, operators: Operators) -> None:
        self.weighted, self.operators = weighted, operators
        self._known = KnownFacts(operators)

    def pairs(self, sources: Ids, query: int) -> tuple[Ids, Ids]:
        """Return pairs of row and entity: the row's source has that entity as no candidate.

        The source is none where no fact of the relation is reflexive. Where linked entities are excluded,
        those of other relations are: a known answer of the query itself stays an answer.
        """
        own = np.arange(len(sources)) if self.weighted.excludes_source(query) else np.zeros(0, np.int64)
        if not self.weighted.excludes_linked:
            return own, sources[own]
        rows, entities = self.operators.neighbours(sources)
        known = self._key(*self._known.pairs(sources, np.full(len(sources), query)))
        linked = ~np.isin(self._key(rows, entities), known)
        return np.concatenate([own, rows[linked]]), np.concatenate([sources[own], entities[linked]])

    def has(self, source: int, query: int, answer: int) -> bool:
        """Return whether one answer is no candidate."""
        return bool((self.pairs(np.array([source]), query)[1] == answer).any())

    def has_without(self, sources: Ids, query: int, answers: Ids) -> Flags:
        """Return which known answers would be no candidates if their fact were not known."""
        found = (sources == answers) & self.weighted.excludes_source(query)
        if self.weighted.excludes_linked:
            rows, entities = self.operators.neighbours(sources)
            num_links = np.bincount(rows[entities == answers[rows]], minlength=len(sources))
            found |= num_links > 1 + (sources == answers)
        return np.asarray(found)

    def _key(self, rows: Ids, entities: Ids) -> Ids:
        return rows * self.operators.num_entities + entities


def select_rules(
    weighted: WeightedRules, queries: list[int], wanted: RuleFilter, *, limit: int, kb: KnowledgeBase | None
) -> RuleSet:
    """Return the `limit` weightiest rules of each query among those that `wanted` keeps, measured on `kb`."""
    found = [rule for query in queries for rule in list(filter(wanted.keeps, weighted.rules(query)))[:limit]]
    return RuleSet(found) if kb is None else measure(found, kb.with_relations(weighted.relations))

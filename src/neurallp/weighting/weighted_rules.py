"""Weighted rules: what a user asks and proves with after weighting. A score is a sum over rules."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..config import KINDS
from ..graph.arrays import Body, Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import Relations
from ..rules.rule import Rule, RuleFilter, RuleSet
from ..rules.support import measure
from .features import Clue


@dataclass(frozen=True, eq=False)
class WeightedQuery:
    """The rules of one query with their weights, (rule, 3): for firing, for the walk there, and back.

    Chains come first, then clues; those have the largest share over all D and the noisy-or for walks.
    A rule's confidence is the share of right answers in what it said on the questions learned from.
    """

    bodies: tuple[Body, ...]
    weights: Floats
    confidences: Floats
    prior: float = 0.0  # of log(1 + how often an entity is an answer)
    clues: tuple[Clue, ...] = ()

    def __len__(self) -> int:
        return len(self.bodies) + len(self.clues)

    @property
    def totals(self) -> Floats:
        """What each rule adds where every walk along it arrives, and comes back."""
        totals: Floats = self.weights.sum(axis=1)
        return totals


@dataclass(frozen=True, eq=False)
class WeightedRules:
    """Rules with weights, which hold on any facts of their relations: only unary ones mention an entity."""

    relations: Relations
    reflexive: Flags  # (relation,) whether the facts have an entity in relation to itself
    queries: Mapping[int, WeightedQuery]

    def __len__(self) -> int:
        return sum(map(len, self.queries.values()))

    @property
    def num_of_kinds(self) -> dict[str, int]:
        """How many rules there are of each kind, priors among them."""
        every = self.queries.values()
        counts = Counter[str](clue.kind for each in every for clue in each.clues)
        counts["chain"] = sum(len(each.bodies) for each in every)
        counts["prior"] = sum(bool(each.prior) for each in every)
        return {kind: counts[kind] for kind in KINDS if counts[kind]}

    def excludes_source(self, query: int) -> bool:
        """Return whether the source is no candidate answer, as no fact of the relation is reflexive."""
        return not self.reflexive[query % len(self.relations)]

    @property
    def max_length(self) -> int:
        """The length of the longest body."""
        return max((len(body) for query in self.queries.values() for body in query.bodies), default=1)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the prior's among them, those of greatest weight first."""
        weighted = self.queries.get(query)
        if weighted is None:
            return
        rules = [self.rule(query, weighted, number) for number in range(len(weighted))]
        if weighted.prior:
            rules.append(self.prior_rule(query, weighted.prior))
        largest = max((abs(rule.weight or 0.0) for rule in rules), default=1.0) or 1.0
        for rule in sorted(rules, key=lambda rule: -abs(rule.weight or 0.0)):
            yield replace(rule, normalized_confidence=abs(rule.weight or 0.0) / largest)

    def rule(self, query: int, weighted: WeightedQuery, number: int) -> Rule:
        """Return a rule by its number: a chain, or a clue."""
        num = len(weighted.bodies)
        rule = (
            self._chain(query, weighted.bodies[number])
            if number < num
            else self._clue(query, weighted.clues[number - num])
        )
        weight, confidence = float(weighted.totals[number]), float(weighted.confidences[number])
        return replace(rule, weight=weight, confidence=confidence)

    def _chain(self, query: int, body: Body) -> Rule:
        name = self.relations.operator_name
        return Rule(name(query), tuple(map(name, body)), 0.0, distinct_ends=self.excludes_source(query))

    def _clue(self, query: int, clue: Clue) -> Rule:
        """Return a clue as a rule; one that is anchored never comes back to the source."""
        if clue.kind == "unary":
            return replace(self._chain(query, (clue.operator,)), kind="unary", answer=clue.answer)
        there_and_back = clue.operator, self.relations.inverse(clue.operator)
        anchored = clue.kind == "anchored"
        rule = self._chain(query, (*there_and_back, query) if anchored else (query, *there_and_back))
        inequalities = ((0, 1), (0, 2), *(() if anchored else ((1, 3),)))
        return replace(rule, kind=clue.kind, inequalities=inequalities, distinct_ends=True)

    def prior_rule(self, query: int, weight: float) -> Rule:
        """Return the rule that says: who is often an answer is one again."""
        name = self.relations.operator_name(query)
        return Rule(name, (name,), confidence=0.0, weight=weight, kind="prior")


def as_candidate(rule: Rule, relations: Relations) -> Body | Clue:
    """Return what a rule looks for, as it is weighted: a chain's body, or a clue."""
    body = tuple(map(relations.operator_id, rule.body))
    if rule.kind == "unary":
        return Clue("unary", body[0], str(rule.answer))
    if rule.kind == "anchored" or rule.kind == "mirrored":
        return Clue(rule.kind, body[0 if rule.kind == "anchored" else 1])
    return body


def select_rules(
    weighted: WeightedRules, queries: list[int], wanted: RuleFilter, *, limit: int, kb: KnowledgeBase | None
) -> RuleSet:
    """Return the `limit` weightiest rules of each query among those that `wanted` keeps, measured on `kb`."""
    found = [rule for query in queries for rule in list(filter(wanted.keeps, weighted.rules(query)))[:limit]]
    return RuleSet(found) if kb is None else measure(found, kb.with_relations(weighted.relations))


def log_frequencies(facts: Ids, query: int, num_relations: int, num_entities: int) -> Floats:
    """Return log(1 + the number of facts that have each entity as an answer of `query`)."""
    of_query = facts[facts[:, 1] == query % num_relations]
    answers = of_query[:, 2] if query < num_relations else of_query[:, 0]
    return np.log1p(np.bincount(answers, minlength=num_entities).astype(np.float64))

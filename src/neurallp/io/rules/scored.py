"""Weighted rules as other programs need them to compute the same scores: by name, with all three weights.

A scored export holds every kind of rule and everything else that decides a score: which relations are
reflexive, and whether linked entities are candidates. Its languages compute features as `weighting.kinds`
does, so what they define must be changed together with the kinds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...config import KINDS
from ...errors import FormatError, quoted
from ...graph.vocabulary import Relations
from ...weighting.kinds import get_kind
from ...weighting.kinds.base import Candidate
from ...weighting.weighted_rules import WeightedQuery, WeightedRules

#: Kinds whose features are walk probabilities along a body.
CHAINS = ("chain", "against")

#: Kinds whose rules have one operator.
SINGLE = ("prior", "unary", "sourced", "anchored", "mirrored")

#: Kinds whose rules have no operator.
BODILESS = ("near", "linked")

#: The kinds that the scored exports define.
SCORED_KINDS = (*CHAINS, *SINGLE, *BODILESS)


class ScoredRule(NamedTuple):
    """A rule by name, with its weights for indicator, forward and backward feature."""

    query: str
    kind: str
    operators: tuple[str, ...]
    answer: str | None
    end: str | None
    source: str | None
    start: str | None
    weights: tuple[float, float, float]
    confidence: float
    text: str


def scored_rules(weighted: WeightedRules) -> Iterator[ScoredRule]:
    """Yield the rules of all queries that have a weight; raise for a kind that no export defines."""
    name = weighted.relations.operator_name
    for query, own in weighted.queries.items():
        for number, candidate in enumerate(own.rules):
            if candidate.kind not in SCORED_KINDS:
                raise FormatError(f"No scored export defines rules of the kind {quoted(candidate.kind)}.")
            weights = own.weights[number].tolist()
            named, none = (candidate.constant, candidate.end), (None, None)
            at_answer, at_source = (none, named) if KINDS[candidate.kind].names_source else (named, none)
            if any(weights):
                yield ScoredRule(
                    name(query),
                    candidate.kind,
                    tuple(map(name, candidate.operators)),
                    *at_answer,
                    *at_source,
                    (weights[0], weights[1], weights[2]),
                    float(own.confidences[number]),
                    str(weighted.rule(query, number)),
                )


@dataclass(frozen=True)
class DescribedRule:
    """A rule in a file of scored rules."""

    query: str
    kind: str
    operators: tuple[str, ...]
    answer: str | None
    weights: tuple[float, float, float]
    confidence: float
    end: str | None = None
    source: str | None = None
    start: str | None = None


@dataclass(frozen=True)
class Described:
    """What a file of scored rules holds, as far as it is read."""

    relations: tuple[str, ...]
    reflexive: frozenset[str]
    excludes_linked: bool
    calibration: dict[str, Any] | None
    rules: tuple[DescribedRule, ...]


def from_scored(described: Described) -> WeightedRules:
    """Return the weighted rules of a description; raise one of our errors if a name or kind is unknown."""
    relations = Relations(described.relations)
    reflexive = np.array([name in described.reflexive for name in relations], dtype=bool)
    found: dict[int, list[tuple[Candidate, tuple[float, ...], float]]] = {}
    for rule in described.rules:
        get_kind(rule.kind)
        row = _described_candidate(rule, relations), rule.weights, rule.confidence
        found.setdefault(relations.operator_id(rule.query), []).append(row)
    queries = {query: _weighted_query(rows) for query, rows in found.items()}
    return WeightedRules(relations, reflexive, queries, excludes_linked=described.excludes_linked)


def _described_candidate(rule: DescribedRule, relations: Relations) -> Candidate:
    """Return the candidate of a described rule; raise ValueError where its kind has other parts."""
    names_source = KINDS[rule.kind].names_source
    named, others = (rule.answer, rule.end), (rule.source, rule.start)
    if names_source:
        named, others = others, named
    if others != (None, None):
        what = "answer and no end" if names_source else "source and no start"
        raise ValueError(f"a rule of the kind {rule.kind} names no {what} of its body")
    return make_candidate(rule.kind, tuple(map(relations.operator_id, rule.operators)), *named)


def make_candidate(
    kind: str, operators: tuple[int, ...], constant: str | None, end: str | None = None
) -> Candidate:
    """Return a candidate that was read; raise ValueError where its kind has other parts."""
    if kind in SINGLE and len(operators) != 1:
        raise ValueError(f"a rule of the kind {kind} has one operator, got {len(operators)}")
    if kind in BODILESS and (operators or constant is not None):
        raise ValueError(f"a rule of the kind {kind} has no operators and names no answer")
    if KINDS[kind].names_answer and constant is None:
        raise ValueError(f"a rule of the kind {kind} names its answer")
    if KINDS[kind].names_source and (constant is None or end is None):
        raise ValueError(f"a rule of the kind {kind} names its source and the start of its body")
    if end is not None and not (KINDS[kind].names_answer or KINDS[kind].names_source):
        raise ValueError(f"a rule of the kind {kind} names no end of its body")
    return Candidate(kind, operators, constant, end)


def require_one_of_a_kind(rules: Sequence[Candidate]) -> None:
    """Raise ValueError where a query has several rules of a kind whose rules are all equal."""
    for kind in BODILESS:
        if (num := sum(rule.kind == kind for rule in rules)) > 1:
            raise ValueError(f"a query has one rule of the kind {kind}, got {num}")


def _weighted_query(rows: list[tuple[Candidate, tuple[float, ...], float]]) -> WeightedQuery:
    candidates, weights, confidences = zip(*rows, strict=True)
    require_one_of_a_kind(candidates)
    return WeightedQuery(tuple(candidates), np.array(weights), np.array(confidences))

"""Proof: why an answer has its score, or what is missing for it to follow."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import Field

from ...reasoning.answers import Proof, Reason, WhyNot
from ...rules.rule import atom
from ..changes import UNCHANGED, Changes
from ..explorer import Explorer
from ..sentences import as_sentence
from .parameters import Fact, Name, World


@dataclass(frozen=True)
class ReasonRow:
    """What one rule, or several that predict the same, add to a score, and the facts it rests on."""

    rule: str
    sentence: str
    kind: str
    contribution: float
    because: str
    facts: list[Fact]
    num_paths: int
    num_similar: int


@dataclass(frozen=True)
class MissingRow:
    """A rule that one fact is missing for."""

    rule: str
    missing: Fact
    known: list[str]
    num_ways: int


@dataclass(frozen=True)
class ProofPage:
    """The reasons for and against a fact, which add up to its score with what is not shown."""

    fact: Fact
    text: str
    known: bool
    probability: float | None
    probability_if_unknown: float | None
    score: float
    rank: float
    num_candidates: int
    reasons: list[ReasonRow]
    against: list[ReasonRow]
    rest_for: float
    rest_against: float
    num_more: int
    follows: bool
    missing: list[MissingRow]
    drawing: Annotated[str, Field(exclude=True)]
    changes: Changes

    @property
    def rows(self) -> list[ReasonRow]:
        """The reasons of the table."""
        return [*self.reasons, *self.against]

    @property
    def largest(self) -> float:
        """The largest contribution, for the length of bars."""
        shown = [row.contribution for row in self.rows] + [self.rest_for, self.rest_against]
        return max(map(abs, shown), default=1.0) or 1.0


def proof(
    explorer: Explorer,
    head: Name,
    relation: Name,
    tail: Name,
    k: Annotated[int, Query(ge=1, le=50, description="Reasons for and against, at most.")] = 8,
    changes: World = UNCHANGED,
) -> ProofPage:
    """Why a fact has its score; where it does not follow, which facts are missing."""
    reasoner = explorer.world(changes)
    found = reasoner.explain(head, relation, tail, k)
    why_not = reasoner.why_not(head, relation, tail, k)
    answer, (rest_for, rest_against) = found.answer, found.rests
    return ProofPage(
        Fact(head, relation, tail),
        atom(relation, head, tail),
        answer.is_known,
        answer.probability,
        reasoner.verify(head, relation, tail, 1).probability if answer.is_known else None,
        answer.score,
        answer.rank,
        answer.num_candidates,
        [as_reason(each) for each in found.reasons],
        [as_reason(each) for each in found.against],
        rest_for.contribution,
        rest_against.contribution,
        (rest_for.num or 0) + (rest_against.num or 0),
        why_not.follows,
        _missing(why_not),
        _draw(found),
        changes,
    )


def as_reason(reason: Reason) -> ReasonRow:
    """Return a reason as a page shows it."""
    rule = reason.rules[0]
    return ReasonRow(
        str(rule),
        as_sentence(rule),
        rule.kind,
        reason.contribution,
        reason.facts,
        [] if rule.ignores_source else path_facts(rule.body, reason.path),
        reason.num_paths,
        len(reason.rules) - 1,
    )


def path_facts(body: tuple[str, ...], path: tuple[str, ...]) -> list[Fact]:
    """Return the facts along a path, each from its head to its tail."""
    links = zip(body, path, path[1:], strict=False)
    return [
        Fact(end, operator[1:], start) if operator.startswith("~") else Fact(start, operator, end)
        for operator, start, end in links
    ]


def _missing(found: WhyNot) -> list[MissingRow]:
    return [
        MissingRow(
            str(each.rule),
            path_facts(each.rule.body, each.path)[each.position],
            each.known,
            each.num_ways,
        )
        for each in found.missing_facts
    ]


def _draw(found: Proof) -> str:
    return found.svg() if found.reasons or found.against else ""

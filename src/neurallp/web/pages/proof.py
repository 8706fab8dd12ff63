"""Proof: why an answer has its score, or what is missing for it to follow."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query
from pydantic import Field, SkipValidation

from ...reasoning.answers import Proof, WhyNot
from ...reasoning.audit import probability_if_unknown
from ...reasoning.reasons import Reason
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
    """The reasons for and against a fact, which add up to its score with what is not shown.

    Score, rank and reasons of a known fact are those that it has if it alone is not known.
    It follows where it is known or where rules conclude it; where not, a fact may be missing.
    """

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
    changes: Changes
    proof: Annotated[SkipValidation[Proof], Field(exclude=True)]

    @property
    def rows(self) -> list[ReasonRow]:
        """The reasons of the table."""
        return [*self.reasons, *self.against]

    @property
    def has_drawing(self) -> bool:
        """Whether there are paths of facts to draw."""
        return any(each.rules[0].is_path_rule for each in (*self.proof.reasons, *self.proof.against))

    @property
    def drawing(self) -> str:
        """The paths as SVG with the fact above them."""
        return self.proof.svg()

    @property
    def drawing_without_title(self) -> str:
        """The paths as SVG, for a page that has the fact as its own title."""
        return self.proof.svg(titled=False)

    @property
    def largest(self) -> float:
        """The largest contribution of one reason, for the length of bars."""
        return max((abs(row.contribution) for row in self.rows), default=1.0) or 1.0


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
    found = reasoner.explain(head, relation, tail, k, with_terms=False, without_itself=True)
    answer, (rest_for, rest_against) = found.answer, found.rests
    why_not = None if answer.is_known else reasoner.why_not(head, relation, tail, k)
    return ProofPage(
        Fact(head, relation, tail),
        atom(relation, head, tail),
        answer.is_known,
        None if answer.is_known else answer.probability,
        probability_if_unknown(reasoner, (head, relation, tail)) if answer.is_known else None,
        answer.score,
        answer.rank,
        answer.num_candidates,
        [as_reason(each) for each in found.reasons],
        [as_reason(each) for each in found.against],
        rest_for.contribution,
        rest_against.contribution,
        (rest_for.num or 0) + (rest_against.num or 0),
        why_not is None or why_not.follows,
        [] if why_not is None else _missing(why_not),
        changes,
        found,
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

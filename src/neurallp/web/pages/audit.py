"""Audit: the facts that the rules find least likely, for a person to accept or to doubt."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from fastapi import Query
from pydantic import StringConstraints

from ...reasoning.audit import Doubt
from ..changes import SEPARATOR
from ..explorer import Explorer
from .parameters import Fact, Name
from .proof import ReasonRow, as_reason

#: Facts on one page: each proof needs a graph without its fact.
ROWS = 20
NUM_REASONS = 2

#: Marks that one address carries.
MAX_MARKS = 200

Mark = Annotated[
    str, StringConstraints(max_length=1600, pattern="^((accept|doubt)\t[^\t]+\t[^\t]+\t[^\t]+)?$")
]
Marks = Annotated[
    list[Mark],
    Query(max_length=MAX_MARKS, description="Judgements: accept or doubt, head, relation, tail, with tabs."),
]


@dataclass(frozen=True)
class DoubtRow:
    """A fact, how likely it would be if it were not known, and the reasons for and against it."""

    head: str
    relation: str
    tail: str
    probability: float | None
    score: float
    mark: str
    because: list[ReasonRow]
    although: list[ReasonRow]

    @property
    def fact(self) -> Fact:
        """The fact alone."""
        return Fact(self.head, self.relation, self.tail)

    @property
    def text(self) -> str:
        """The fact as a mark names it."""
        return SEPARATOR.join((self.head, self.relation, self.tail))


@dataclass(frozen=True)
class AuditPage:
    """The least likely facts of one relation or of all, and the marks that were made."""

    relation: str
    scope: str
    doubts: list[DoubtRow]
    marks: list[str]
    relations: list[str] = field(repr=False)

    @property
    def rows(self) -> list[DoubtRow]:
        """The facts of the table."""
        return self.doubts

    @property
    def others(self) -> list[str]:
        """The marks of facts that this page does not show."""
        shown = {row.text for row in self.doubts}
        return [mark for mark in self.marks if mark.partition(SEPARATOR)[2] not in shown]


def audit(
    explorer: Explorer,
    relation: Name = "",
    sample: Annotated[int, Query(ge=1, le=10_000, description="Facts to look at, drawn at random.")] = 1000,
    mark: Marks = [],  # noqa: B006
) -> AuditPage:
    """The facts that the rules find least likely, each judged as if it alone were not known."""
    num = sample if explorer.has_weights else min(sample, 100)
    found = explorer.keep(
        ("audit", relation, num),
        lambda: explorer.reasoner.audit(relation or None, limit=ROWS, k=NUM_REASONS, sample=num),
    )
    marks = list(dict.fromkeys(filter(None, mark)))
    judged = {each.partition(SEPARATOR)[2]: each.partition(SEPARATOR)[0] for each in marks}
    rows = [_row(doubt, judged) for doubt in found.doubts]
    return AuditPage(relation, found.scope, rows, marks, list(explorer.reasoner.relations))


def _row(doubt: Doubt, judged: dict[str, str]) -> DoubtRow:
    text = SEPARATOR.join((doubt.head, doubt.relation, doubt.tail))
    sides = ([as_reason(each) for each in side] for side in (doubt.proof.reasons, doubt.proof.against))
    because, although = sides
    return DoubtRow(
        doubt.head,
        doubt.relation,
        doubt.tail,
        doubt.probability,
        doubt.proof.answer.score,
        judged.get(text, ""),
        because,
        although,
    )


@dataclass(frozen=True)
class MarkRow:
    """A judgement of a person on a fact."""

    judgement: Literal["accept", "doubt"]
    head: str
    relation: str
    tail: str


@dataclass(frozen=True)
class MarksPage:
    """The marks that an address carries, as a list to download."""

    rows: list[MarkRow]


def marks(explorer: Explorer, mark: Marks = []) -> MarksPage:  # noqa: B006
    """The marks of an audit, as a table: `format=csv` or `format=json` downloads them."""
    return MarksPage([MarkRow(*each.split(SEPARATOR)) for each in dict.fromkeys(filter(None, mark))])  # type: ignore[arg-type]

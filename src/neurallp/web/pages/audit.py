"""Audit: the facts that the rules find least likely, for a person to accept or to doubt."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Literal

from fastapi import Query
from pydantic import StringConstraints

from ...graph.compilation import num_cores
from ...reasoning.audit import Auditor, Doubt, describe_scope, probabilities_if_unknown
from ...reasoning.reasoner import Reasoner
from ..changes import SEPARATOR
from ..explorer import Explorer
from .parameters import Fact, Name, PageNumber, Slice, slice_of
from .proof import ReasonRow, as_reason

#: Facts on one page: each proof needs a graph without its fact,
ROWS = 20
NUM_REASONS = 2

#: so on graphs of more edges the facts are listed without.
MAX_EDGES = 600_000

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
    """A fact, how likely it would be if it were not known, and the reasons for and against it.

    On a large graph the reasons are left to the page of its proof.
    """

    head: str
    relation: str
    tail: str
    probability: float | None
    mark: str
    has_reasons: bool
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
    """The least likely facts of one relation or of all, one page of them, and the marks that were made."""

    relation: str
    sample: int
    scope: str
    doubts: Slice[DoubtRow]
    marks: list[str]
    relations: list[str] = field(repr=False)

    @property
    def rows(self) -> list[DoubtRow]:
        """The facts of the table."""
        return self.doubts.rows

    @property
    def others(self) -> list[str]:
        """The marks of facts that this page does not show."""
        shown = {row.text for row in self.rows}
        return [mark for mark in self.marks if mark.partition(SEPARATOR)[2] not in shown]


@dataclass(frozen=True)
class Audited:
    """The facts that were looked at, the least likely first."""

    auditor: Auditor
    order: list[int]

    @classmethod
    def of(cls, reasoner: Reasoner, relation: str, sample: int) -> "Audited":
        """Return the facts of a relation, or of all, in order."""
        auditor = Auditor(reasoner, relation or None, sample=sample)
        return cls(auditor, auditor.least_likely(max(1, len(auditor.facts))).tolist())

    def judge(self, rows: list[int]) -> list[DoubtRow]:
        """Return some of the facts as a page shows them, without marks."""
        auditor = self.auditor
        if auditor.reasoner.operators.num_edges <= MAX_EDGES:
            with ThreadPoolExecutor(num_cores()) as pool:
                return [_explained(each) for each in pool.map(partial(auditor.doubt, k=NUM_REASONS), rows)]
        facts, reasoner = auditor.facts[rows], auditor.reasoner
        has_chances = reasoner.calibration is not None
        chances = probabilities_if_unknown(reasoner, facts).tolist() if has_chances else [None] * len(facts)
        return [
            DoubtRow(*auditor.judge.name(fact), chance, "", False, [], [])
            for fact, chance in zip(facts, chances, strict=True)
        ]


def audit(
    explorer: Explorer,
    relation: Name = "",
    sample: Annotated[int, Query(ge=1, le=10_000, description="Facts to look at, drawn at random.")] = 1000,
    page: PageNumber = 1,
    mark: Marks = [],  # noqa: B006
) -> AuditPage:
    """The facts that the rules find least likely, each judged as if it alone were not known."""
    num = sample if explorer.has_weights else min(sample, 100)
    looked_at = relation, num
    found = explorer.keep(("audited", *looked_at), lambda: Audited.of(explorer.reasoner, relation, num))
    part = slice_of(found.order, page, ROWS)
    rows = explorer.keep(("audit", *looked_at, part.number), lambda: found.judge(part.rows))
    marks = list(dict.fromkeys(filter(None, mark)))
    judged = {each.partition(SEPARATOR)[2]: each.partition(SEPARATOR)[0] for each in marks}
    shown = [replace(row, mark=judged.get(row.text, "")) for row in rows]
    return AuditPage(
        relation,
        sample,
        describe_scope(len(found.order), found.auditor.num_facts),
        Slice(shown, part.number, part.num_pages, part.total),
        marks,
        list(explorer.reasoner.relations),
    )


def _explained(doubt: Doubt) -> DoubtRow:
    sides = ([as_reason(each) for each in side] for side in (doubt.proof.reasons, doubt.proof.against))
    because, although = sides
    return DoubtRow(doubt.head, doubt.relation, doubt.tail, doubt.probability, "", True, because, although)


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

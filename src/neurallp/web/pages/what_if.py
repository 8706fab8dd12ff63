"""What if: the answers to a question before and after some facts are added or removed."""

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Query

from ...reasoning.answers import Answer
from ...reasoning.reasoner import Reasoner
from ..changes import SEPARATOR, UNCHANGED, Changes
from ..explorer import Explorer
from .ask import Question, find_answers
from .parameters import Asked, Fact, Name, World
from .proof import ReasonRow, as_reason

NUM_ANSWERS = 10
NUM_REASONS = 6


@dataclass(frozen=True)
class State:
    """An answer in one graph; None where it has no score there."""

    probability: float | None
    known: bool
    score: float
    rank: float


@dataclass(frozen=True)
class Comparison:
    """An answer before and after the changes."""

    entity: str
    before: State
    after: State

    @property
    def change(self) -> float:
        """How much the score grows."""
        return self.after.score - self.before.score


@dataclass(frozen=True)
class Told:
    """The reasons for and against an answer in one graph."""

    score: float
    reasons: list[ReasonRow]


@dataclass(frozen=True)
class WhatIfPage:
    """A question before and after some changes, and the proof of one answer in both graphs."""

    question: Question
    answers: list[Comparison]
    answer: str
    before: Told | None
    after: Told | None
    facts: list[Fact]
    changes: Changes
    relations: list[str] = field(repr=False)

    @property
    def rows(self) -> list[Comparison]:
        """The answers of the table."""
        return self.answers

    @property
    def largest(self) -> float:
        """The largest contribution in either graph, for the length of bars."""
        told = [row for each in (self.before, self.after) if each for row in each.reasons]
        return max((abs(row.contribution) for row in told), default=1.0)


def what_if(
    explorer: Explorer,
    entity: Name = "",
    relation: Name = "",
    asked: Asked = "tail",
    answer: Annotated[str, Query(max_length=500, description="The answer whose proof is shown.")] = "",
    changes: World = UNCHANGED,
) -> WhatIfPage:
    """A question on the graph as it is and on the changed one, side by side."""
    question = Question(entity, relation, asked)
    worlds = explorer.reasoner, explorer.world(changes)
    found = [find_answers(world, question, NUM_ANSWERS) for world in worlds]
    rows = _compare(worlds, question, found)
    if not answer and rows:
        answer = max(rows, key=lambda row: (abs(row.change), row.after.score)).entity
    told = (
        [_tell(world, question, answer) for world in worlds]
        if answer and question.is_complete
        else [None] * 2
    )
    facts = list(dict.fromkeys(fact for each in told if each for row in each.reasons for fact in row.facts))
    known = [
        fact for fact in facts if SEPARATOR.join((fact.head, fact.relation, fact.tail)) not in changes.add
    ]
    return WhatIfPage(
        question, rows, answer, told[0], told[1], known, changes, list(explorer.reasoner.relations)
    )


def _compare(
    worlds: tuple[Reasoner, Reasoner], question: Question, found: list[list[Answer]]
) -> list[Comparison]:
    """Return the best answers of either graph with their state in both."""
    names = dict.fromkeys(answer.entity for answers in (found[1], found[0]) for answer in answers)
    listed = [{answer.entity: answer for answer in answers} for answers in found]
    rows = []
    for name in names:
        states = [
            _state(own[name] if name in own else _answer(world, question, name))
            for own, world in zip(listed, worlds, strict=True)
        ]
        rows.append(Comparison(name, *states))
    return sorted(rows, key=lambda row: row.after.rank)[: NUM_ANSWERS + 5]


def _answer(world: Reasoner, question: Question, name: str) -> Answer:
    fact = question.fact(name)
    return world.explain(fact.head, fact.relation, fact.tail, 1, with_terms=False).answer


def _state(answer: Answer) -> State:
    return State(answer.probability, answer.is_known, answer.score, answer.rank)


def _tell(world: Reasoner, question: Question, answer: str) -> Told:
    fact = question.fact(answer)
    proof = world.explain(fact.head, fact.relation, fact.tail, NUM_REASONS, with_terms=False)
    return Told(proof.answer.score, [as_reason(each) for each in (*proof.reasons, *proof.against)])

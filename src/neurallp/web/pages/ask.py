"""Ask: the answers to a question, with how likely each is."""

from dataclasses import dataclass, field

from ...reasoning.answers import Answer
from ...reasoning.reasoner import Reasoner
from ..changes import UNCHANGED, Changes
from ..explorer import Explorer
from .parameters import Asked, Fact, Name, NumAnswers, World


@dataclass(frozen=True)
class AnswerRow:
    """An answer, and the fact that it states. A known fact has no probability."""

    entity: str
    probability: float | None
    known: bool
    score: float
    rank: float
    fact: Fact


@dataclass(frozen=True)
class Question:
    """The question (entity, relation, ?), or with `asked` = head (?, relation, entity)."""

    entity: str
    relation: str
    asked: Asked

    @property
    def is_complete(self) -> bool:
        """Whether there is something to answer."""
        return bool(self.entity and self.relation)

    def fact(self, answer: str) -> Fact:
        """Return the fact that an answer states."""
        ends = (self.entity, answer) if self.asked == "tail" else (answer, self.entity)
        return Fact(ends[0], self.relation, ends[1])


@dataclass(frozen=True)
class AskPage:
    """A question and its answers; without entity or relation, none."""

    question: Question
    answers: list[AnswerRow]
    num_candidates: int
    reads_words: bool
    changes: Changes
    relations: list[str] = field(repr=False)

    @property
    def rows(self) -> list[AnswerRow]:
        """The answers of the table."""
        return self.answers


def ask(
    explorer: Explorer,
    entity: Name = "",
    relation: Name = "",
    asked: Asked = "tail",
    k: NumAnswers = 10,
    changes: World = UNCHANGED,
) -> AskPage:
    """The best answers to a question about an entity."""
    question = Question(entity, relation, asked)
    answers = find_answers(explorer.world(changes), question, k)
    rows = [as_row(question, each) for each in answers]
    num_candidates = answers[0].num_candidates if answers else 0
    reads_words = explorer.reader is not None
    relations = list(explorer.reasoner.relations)
    return AskPage(question, rows, num_candidates, reads_words, changes, relations)


def find_answers(reasoner: Reasoner, question: Question, k: int) -> list[Answer]:
    """Return the best answers to a question; none to half a question."""
    if not question.is_complete:
        return []
    if question.asked == "tail":
        return reasoner.ask(head=question.entity, relation=question.relation, k=k)
    return reasoner.ask(tail=question.entity, relation=question.relation, k=k)


def as_row(question: Question, answer: Answer) -> AnswerRow:
    """Return an answer as a page shows it."""
    fact = question.fact(answer.entity)
    return AnswerRow(answer.entity, answer.probability, answer.is_known, answer.score, answer.rank, fact)

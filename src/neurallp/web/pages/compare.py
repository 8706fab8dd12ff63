"""Compare: two models side by side, on the measures and on one question."""

from dataclasses import dataclass, field

from ...reasoning.answers import Answer
from ...reasoning.reasons import strongest
from ..explorer import Explorer
from .ask import Question, find_answers
from .overview import Measure, list_measures
from .parameters import Asked, Name, NumAnswers

#: Reasons that the one to show is chosen from.
NUM_REASONS = 3


@dataclass(frozen=True)
class Judgement:
    """What one model says of an answer; None where it is not among its best."""

    rank: float
    probability: float | None
    score: float
    because: str


@dataclass(frozen=True)
class ComparedAnswer:
    """An answer, and what each model says of it."""

    entity: str
    known: bool
    first: Judgement | None
    second: Judgement | None


@dataclass(frozen=True)
class ComparePage:
    """Two models: their measures, and their answers to one question. Without a second model, nothing."""

    first: str
    second: str | None
    first_measures: list[Measure]
    second_measures: list[Measure]
    question: Question
    answers: list[ComparedAnswer]
    relations: list[str] = field(repr=False)

    @property
    def rows(self) -> list[ComparedAnswer]:
        """The answers of the table."""
        return self.answers


def compare(
    explorer: Explorer, entity: Name = "", relation: Name = "", asked: Asked = "tail", k: NumAnswers = 10
) -> ComparePage:
    """The model beside the one that `neurallp serve --compare` names."""
    question, other = Question(entity, relation, asked), explorer.other
    answers = [] if other is None else _compare(explorer, other, question, k)
    return ComparePage(
        explorer.name,
        None if other is None else other.name,
        list_measures(explorer),
        [] if other is None else list_measures(other),
        question,
        answers,
        list(explorer.reasoner.relations),
    )


def _compare(one: Explorer, other: Explorer, question: Question, k: int) -> list[ComparedAnswer]:
    found = [
        {answer.entity: answer for answer in find_answers(each.reasoner, question, k)}
        for each in (one, other)
    ]
    names = dict.fromkeys([*found[0], *found[1]])
    rows = []
    for name in names:
        judged = [
            _judge(explorer, question, own[name]) if name in own else None
            for own, explorer in zip(found, (one, other), strict=True)
        ]
        known = any(own[name].is_known for own in found if name in own)
        rows.append(ComparedAnswer(name, known, *judged))
    return rows


def _judge(explorer: Explorer, question: Question, answer: Answer) -> Judgement:
    fact = question.fact(answer.entity)
    proof = explorer.reasoner.explain(fact.head, fact.relation, fact.tail, NUM_REASONS, with_terms=False)
    because = strongest(proof.reasons).facts if proof.reasons else ""
    return Judgement(answer.rank, answer.probability, answer.score, because)

"""A question in words: what was understood, the answers with their facts, and similar questions."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Query

from ...errors import QuestionError
from ..explorer import Explorer
from .parameters import Fact, NumAnswers
from .proof import path_facts

if TYPE_CHECKING:
    from ...qa.answers import WordAnswer, WordAnswers

#: Answers that are less likely right are shown with a warning.
MIN_PROBABILITY = 0.5

Text = Annotated[str, Query(max_length=1000, description="The question; [name] marks the entity.")]


@dataclass(frozen=True)
class WordAnswerRow:
    """An answer to a question in words, with the rule that leads to it and the facts along one path."""

    entity: str
    probability: float | None
    score: float
    rule: str
    in_words: str
    because: str
    facts: list[Fact]
    num_paths: int


@dataclass(frozen=True)
class QuestionPage:
    """A question in words, how it was understood, and its answers; `problem` says why there are none."""

    text: str
    has_model: bool
    problem: str
    about: list[str]
    note: str
    claimed: str | None
    is_claim_true: bool | None
    is_sure: bool
    answers: list[WordAnswerRow]
    similar: list[str]
    examples: list[str]

    @property
    def rows(self) -> list[WordAnswerRow]:
        """The answers of the table."""
        return self.answers

    @property
    def readings(self) -> list[str]:
        """The rules that were followed, each in words."""
        return list(dict.fromkeys(row.in_words for row in self.answers))


def question(explorer: Explorer, text: Text = "", k: NumAnswers = 10) -> QuestionPage:
    """The answers to a question in plain words, where a question model is served."""
    reader = explorer.reader
    if reader is None:
        return _page(text, has_model=False)
    if not text.strip():
        return _page(text, examples=reader.examples())
    try:
        found = reader.ask(text, k)
    except QuestionError as error:
        return _page(text, str(error), similar=reader.similar(text), examples=reader.examples())
    return _page(text, found=found, similar=[each for each in reader.similar(text) if each != text])


def _page(
    text: str,
    problem: str = "",
    *,
    has_model: bool = True,
    found: "WordAnswers | None" = None,
    similar: list[str] | None = None,
    examples: list[str] | None = None,
) -> QuestionPage:
    """Return the page of a question, with answers where some were found."""
    answers = [] if found is None else [_row(each) for each in found.answers]
    best = answers[0].probability if answers else None
    return QuestionPage(
        text,
        has_model,
        problem,
        [] if found is None else [found.source, *found.joined],
        "" if found is None else found.note,
        None if found is None else found.claimed,
        None if found is None else found.yes,
        best is None or best >= MIN_PROBABILITY,
        answers,
        similar or [],
        examples or [],
    )


def _row(answer: "WordAnswer") -> WordAnswerRow:
    from ...qa.answers import rule_in_words  # imports torch, as the model has by now

    return WordAnswerRow(
        answer.entity,
        answer.probability,
        answer.score,
        str(answer.rule),
        rule_in_words(answer.rule, answer.path[0]),
        answer.because,
        path_facts(answer.rule.body, answer.path),
        answer.num_paths,
    )

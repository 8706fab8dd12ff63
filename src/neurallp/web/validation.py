"""Vetoes measured: the ranks of validation answers with and without some rules."""

from dataclasses import dataclass

import numpy as np

from ..evaluation import Evaluation, Ranks, rank_questions
from ..graph.knowledge_base import Split
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from ..reasoning.reasoner import Reasoner
from .explorer import Explorer

#: Validation questions of one query on which a veto is measured.
MAX_QUESTIONS = 200

#: Answers that are shown as moved.
MAX_MOVED = 8


@dataclass(frozen=True)
class MovedAnswer:
    """The answer of a validation question whose rank changes."""

    source: str
    answer: str
    rank_before: float
    rank_after: float


@dataclass(frozen=True)
class Effect:
    """What the vetoes of a query do to the ranks of its validation answers (realistic, filtered)."""

    num_questions: int
    mrr_before: float
    mrr_after: float
    num_better: int
    num_worse: int
    moved: list[MovedAnswer]


def measure_vetoes(explorer: Explorer, query: int, vetoes: tuple[str, ...]) -> Effect | None:
    """Return the effect of vetoes on one query; None where there is nothing to validate on."""
    questions = explorer.keep(("questions", query), lambda: _questions(explorer, query))
    if not len(questions):
        return None
    before, after = (
        explorer.keep(("ranks", query, each), lambda each=each: _ranks(explorer, questions, each))  # type: ignore[misc]
        for each in ((), vetoes)
    )
    better = 1 / after.realistic - 1 / before.realistic
    order = np.argsort(-np.abs(better), kind="stable")
    names = explorer.split.entities
    moved = [
        MovedAnswer(
            names[int(questions.sources[row])],
            names[int(questions.answers[row])],
            float(before.realistic[row]),
            float(after.realistic[row]),
        )
        for row in order[:MAX_MOVED].tolist()
        if better[row]
    ]
    mrr_before, mrr_after = (Evaluation.of(each).mrr for each in (before, after))
    return Effect(
        len(questions), mrr_before, mrr_after, int((better > 0).sum()), int((better < 0).sum()), moved
    )


def _ranks(explorer: Explorer, questions: Questions, vetoes: tuple[str, ...]) -> Ranks:
    """Return the ranks of answers by a reasoner that does not know them."""
    split = _parts(explorer)
    known = explorer.keep(("known",), lambda: KnownAnswers(split.given.facts, len(split.relations)))
    whole = explorer.keep(("blind",), lambda: Reasoner(explorer.split.known, explorer.program.basis))
    return rank_questions(explorer.with_vetoes(whole, vetoes), questions, known)


def _questions(explorer: Explorer, query: int) -> Questions:
    """Return some validation questions of one query."""
    split = _parts(explorer)
    num_relations = len(split.relations)
    facts = split.valid[split.valid[:, 1] == query % num_relations]
    step = max(1, len(facts) // MAX_QUESTIONS)
    questions = ask_both_ways(facts[::step][:MAX_QUESTIONS], num_relations)
    return questions[np.flatnonzero(questions.queries == query)]


def _parts(explorer: Explorer) -> Split:
    """Return the split with relations numbered as in the model."""
    return explorer.keep(("parts",), lambda: explorer.split.with_relations(explorer.reasoner.relations))

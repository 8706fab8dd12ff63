"""Evaluation of answer sets: the paper's accuracy, Hits@1, and F1 above a threshold."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.base import Engine
from ..graph.arrays import Floats
from ..neural.training import one_torch_thread
from .examples import QuestionExamples
from .model import QuestionModel

#: Questions scored at a time: bounds memory to this many rows of scores.
QUESTIONS_AT_ONCE = 256

#: Thresholds to choose from, as shares of a question's largest score.
THRESHOLDS = tuple(float(f"{share:.2g}") for share in np.geomspace(0.001, 1.0, 25))

#: How ties are ordered: the mean over all orders, the right answers first, the right answers last.
TIE_ORDERS = ("realistic", "optimistic", "pessimistic")


@dataclass(frozen=True, eq=False)
class QuestionResults:
    """The measures of each question, one row each, under every order of `TIE_ORDERS`."""

    accuracy: Floats  # (question, tie order): all right answers score above 0 and above all wrong ones
    hits_at_1: Floats  # (question, tie order): the best answer is right
    f1: Floats  # (question, threshold)

    @classmethod
    def of(cls, rows: "list[QuestionResult]") -> "QuestionResults":
        """Return the results of single questions as rows."""
        orders, thresholds = len(TIE_ORDERS), len(THRESHOLDS)
        return cls(
            np.array([row.accuracy for row in rows]).reshape(-1, orders),
            np.array([row.hits_at_1 for row in rows]).reshape(-1, orders),
            np.array([row.f1 for row in rows]).reshape(-1, thresholds),
        )

    def __len__(self) -> int:
        return len(self.accuracy)

    def __getitem__(self, rows: NDArray[np.bool_]) -> "QuestionResults":
        return QuestionResults(self.accuracy[rows], self.hits_at_1[rows], self.f1[rows])

    def best_threshold(self) -> float:
        """Return the largest threshold with the best mean F1; 1 without questions."""
        means = self.f1.mean(axis=0) if len(self) else np.ones(len(THRESHOLDS))
        return THRESHOLDS[int(np.flatnonzero(means == means.max())[-1])]


@dataclass(frozen=True)
class QuestionResult:
    """The measures of one question; by default those of a question without answers."""

    accuracy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    hits_at_1: tuple[float, float, float] = (0.0, 0.0, 0.0)
    f1: tuple[float, ...] = (0.0,) * len(THRESHOLDS)

    @classmethod
    def of(cls, values: NDArray[np.floating], right: NDArray[np.bool_], num_right: int) -> "QuestionResult":
        """Return the measures of scores above 0, of which `right` flags the right answers.

        `num_right` counts all right answers: those that score 0 are missing from `values` and count as wrong.
        """
        if not right.any():
            return cls()
        largest = values.max()
        chosen = values >= np.array(THRESHOLDS)[:, None] * largest
        f1 = 2 * (chosen & right).sum(1) / (chosen.sum(1) + num_right)
        return cls(_accuracy(values, right, num_right), _first(right[values == largest]), tuple(f1.tolist()))


def _accuracy(
    values: NDArray[np.floating], right: NDArray[np.bool_], num_right: int
) -> tuple[float, float, float]:
    lowest = values[right].min()
    if right.sum() < num_right or values[~right].max(initial=0.0) > lowest:
        return 0.0, 0.0, 0.0
    level = right[values == lowest]
    return 1 / comb(len(level), int(level.sum())), 1.0, float(level.all())


def _first(tied: NDArray[np.bool_]) -> tuple[float, float, float]:
    return float(tied.mean()), float(tied.any()), float(tied.all())


@dataclass(frozen=True)
class QuestionMeasures:
    """Means over questions: ties in the mean over all orders, and the bounds of the two other orders."""

    accuracy: float
    hits_at_1: float
    f1: float
    num_questions: int
    optimistic: tuple[float, float]  # accuracy, Hits@1
    pessimistic: tuple[float, float]

    @classmethod
    def of(cls, results: QuestionResults, threshold: float) -> "QuestionMeasures":
        """Return the means, F1 at a threshold; all 0 without questions."""
        if not len(results):
            return cls(0.0, 0.0, 0.0, 0, (0.0, 0.0), (0.0, 0.0))
        accuracy, hits = (each.mean(axis=0).tolist() for each in (results.accuracy, results.hits_at_1))
        f1 = float(results.f1[:, THRESHOLDS.index(threshold)].mean())
        (first, second), optimistic, pessimistic = zip(accuracy, hits, strict=True)
        return cls(first, second, f1, len(results), optimistic, pessimistic)

    def as_dict(self) -> dict[str, Any]:
        """Return the measures under their usual names."""
        names = ("accuracy", "hits@1")
        return {
            "accuracy": self.accuracy,
            "hits@1": self.hits_at_1,
            "f1": self.f1,
            "questions": self.num_questions,
            "optimistic": dict(zip(names, self.optimistic, strict=True)),
            "pessimistic": dict(zip(names, self.pessimistic, strict=True)),
        }


def evaluate_questions(
    model: QuestionModel, engine: Engine, examples: QuestionExamples, num_failed: int = 0
) -> QuestionResults:
    """Return the results of the model's answers; `num_failed` questions without an entity count as wrong."""
    with one_torch_thread():
        return QuestionResults.of([*_results(model, engine, examples), *[QuestionResult()] * num_failed])


def _results(model: QuestionModel, engine: Engine, examples: QuestionExamples) -> Iterator[QuestionResult]:
    for start in range(0, len(examples), QUESTIONS_AT_ONCE):
        part = examples[np.arange(start, min(start + QUESTIONS_AT_ONCE, len(examples)))]
        scores = model.scores(engine, part.sources, part.phrases)
        for row in range(len(part)):
            entities, values = scores.row(row)
            positive = values > 0
            right = np.isin(entities[positive], part.answers_of(row))
            yield QuestionResult.of(values[positive], right, int(part.num_right[row]))

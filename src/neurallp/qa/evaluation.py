"""How right the answers are: the paper's accuracy, Hits@1, and F1 of the whole answer set."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..engines.base import Engine
from ..graph.arrays import Floats
from ..neural.training import one_torch_thread
from .examples import Lessons
from .model import QuestionModel

#: Questions scored at a time: bounds memory to this many rows of scores.
QUESTIONS_AT_ONCE = 256

#: Thresholds tried, as shares of a question's largest score.
THRESHOLDS = tuple(float(f"{share:.2g}") for share in np.geomspace(0.001, 1.0, 25))

#: Readings of a tie: in the mean over all orders, with the right answers first, with them last.
READINGS = ("realistic", "optimistic", "pessimistic")


@dataclass(frozen=True, eq=False)
class Verdicts:
    """What was right, one row a question; ties under each of `READINGS`."""

    accuracy: Floats  # (question, reading): all right answers are reached, and no wrong one stands above
    hits_at_1: Floats  # (question, reading): a right answer comes first
    f1: Floats  # (question, threshold)

    @classmethod
    def of(cls, rows: "list[Verdict]") -> "Verdicts":
        """Return the verdicts of single questions together."""
        readings, thresholds = len(READINGS), len(THRESHOLDS)
        return cls(
            np.array([row.accuracy for row in rows]).reshape(-1, readings),
            np.array([row.hits_at_1 for row in rows]).reshape(-1, readings),
            np.array([row.f1 for row in rows]).reshape(-1, thresholds),
        )

    def __len__(self) -> int:
        return len(self.accuracy)

    def __getitem__(self, rows: NDArray[np.bool_]) -> "Verdicts":
        return Verdicts(self.accuracy[rows], self.hits_at_1[rows], self.f1[rows])

    def best_threshold(self) -> float:
        """Return the threshold with the best mean F1, the largest such; 1 for no question."""
        means = self.f1.mean(axis=0) if len(self) else np.ones(len(THRESHOLDS))
        return THRESHOLDS[int(np.flatnonzero(means == means.max())[-1])]


@dataclass(frozen=True)
class Verdict:
    """What was right about one question."""

    accuracy: tuple[float, float, float] = (0.0, 0.0, 0.0)
    hits_at_1: tuple[float, float, float] = (0.0, 0.0, 0.0)
    f1: tuple[float, ...] = (0.0,) * len(THRESHOLDS)

    @classmethod
    def of(cls, values: NDArray[np.floating], right: NDArray[np.bool_], num_right: int) -> "Verdict":
        """Return the verdict on scores above 0, which of them are right, and how many ought to be there.

        A right answer that is not reached scores 0 and never counts as found: who says nothing gains nothing.
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
    """Means over questions; ties count in the mean over all orders, the other readings beside it."""

    accuracy: float
    hits_at_1: float
    f1: float
    num_questions: int
    optimistic: tuple[float, float]  # accuracy, Hits@1
    pessimistic: tuple[float, float]

    @classmethod
    def of(cls, verdicts: Verdicts, threshold: float) -> "QuestionMeasures":
        """Return the means; all 0 for no question."""
        if not len(verdicts):
            return cls(0.0, 0.0, 0.0, 0, (0.0, 0.0), (0.0, 0.0))
        accuracy, hits = (each.mean(axis=0).tolist() for each in (verdicts.accuracy, verdicts.hits_at_1))
        f1 = float(verdicts.f1[:, THRESHOLDS.index(threshold)].mean())
        readings = zip(accuracy, hits, strict=True)
        (first, second), optimistic, pessimistic = readings
        return cls(first, second, f1, len(verdicts), optimistic, pessimistic)

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


def judge(model: QuestionModel, engine: Engine, lessons: Lessons, num_unread: int = 0) -> Verdicts:
    """Return how right the model's answers are; questions that could not be read come last, all wrong."""
    with one_torch_thread():
        return Verdicts.of([*_verdicts(model, engine, lessons), *[Verdict()] * num_unread])


def _verdicts(model: QuestionModel, engine: Engine, lessons: Lessons) -> Iterator[Verdict]:
    for start in range(0, len(lessons), QUESTIONS_AT_ONCE):
        part = lessons[np.arange(start, min(start + QUESTIONS_AT_ONCE, len(lessons)))]
        scores = model.scores(engine, part.sources, part.phrases)
        for row in range(len(part)):
            entities, values = scores.row(row)
            positive = values > 0
            right = np.isin(entities[positive], part.answers_of(row))
            yield Verdict.of(values[positive], right, int(part.num_right[row]))

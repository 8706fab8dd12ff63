"""Calibration: the probability that an answer is right, fitted on validation questions.

Scores of different questions are not comparable; normalised scores are. An answer's normalised score is its
fraction of the total score of all candidates of its question. Entities that are known answers are no
candidates.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from ..errors import DataError, import_extra, require_choice
from ..evaluation import QUESTIONS_AT_ONCE, Scorer, best_places
from ..graph.arrays import Flags, Floats, Ids
from ..graph.questions import KnownAnswers, Questions

#: The best answers of a question that enter the sample: as many as `ask` shows by default.
NUM_SHOWN = 10

#: Bins of equal width over which reliability is measured.
NUM_BINS = 10

#: Normalised scores are clipped this far from 0 and 1, where log odds are infinite.
CLIP = 1e-9


def normalized_scores(scores: Floats, logarithmic: bool) -> Floats:
    """Return the scores of one question's candidates divided by their sum; -inf marks non-candidates.

    `logarithmic` scores (of weighted rules, which are fitted by softmax) are exponentiated first.
    """
    weights = np.exp(scores - scores.max(initial=0.0)) if logarithmic else np.maximum(scores, 0.0)
    return np.asarray(weights / (weights.sum() or 1.0))


# The sample to fit


@dataclass(frozen=True, eq=False)
class Sample:
    """The best answers to questions: normalised scores, which are right, and the question of each."""

    normalized_scores: Floats
    right: Flags
    questions: Ids

    def __len__(self) -> int:
        return len(self.normalized_scores)

    def __getitem__(self, rows: Flags) -> "Sample":
        return Sample(self.normalized_scores[rows], self.right[rows], self.questions[rows])


def draw_sample(
    scorer: Scorer,
    questions: Questions,
    known: KnownAnswers,
    *,
    logarithmic: bool,
    on_done: Callable[[int], None] = lambda num: None,
) -> Sample:
    """Return the `NUM_SHOWN` best answers to each question among those that score above 0.

    The answers of `questions` are right and the other `known` answers are no candidates, as in ranking; every
    other entity is wrong. Calls `on_done` with the number of questions of each finished batch.
    """
    asked, number = np.unique(
        np.stack([questions.sources, questions.queries], axis=1), axis=0, return_inverse=True
    )
    number = number.reshape(-1)
    found: list[tuple[Floats, Flags]] = []
    for start in range(0, len(asked), QUESTIONS_AT_ONCE):
        sources, queries = asked[start : start + QUESTIONS_AT_ONCE].T
        own = (number >= start) & (number < start + len(sources))
        sought = number[own] - start, questions.answers[own]
        for row, right in _candidates(scorer, sources, queries, sought, known):
            best = best_places(row, NUM_SHOWN)
            found.append((normalized_scores(row, logarithmic)[best], right[best]))
        on_done(len(sources))
    normalized, is_right = (np.concatenate(each) for each in zip(*found, strict=True))
    lengths = [len(scores) for scores, _ in found]
    return Sample(normalized, is_right.astype(bool), np.repeat(np.arange(len(found)), lengths))


def _candidates(
    scorer: Scorer, sources: Ids, queries: Ids, sought: tuple[Ids, Ids], known: KnownAnswers
) -> Iterator[tuple[Floats, Flags]]:
    """Yield for each question the scores of all entities, and which of them are right answers."""
    scores = scorer.scores(sources, queries).dense().astype(np.float64)
    right = np.zeros(scores.shape, dtype=bool)
    right[sought] = True
    filtered = np.zeros(scores.shape, dtype=bool)
    filtered[known.pairs(sources, queries)] = True
    scores[filtered & ~right] = -np.inf
    return zip(scores, right, strict=True)


# Calibration methods


@dataclass(frozen=True)
class Isotonic:
    """Isotonic regression: the probability rises with the normalised score, linear between thresholds."""

    method: ClassVar[str] = "isotonic"
    thresholds: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def fit(cls, sample: Sample) -> "Isotonic":
        """Fit a sample; probabilities stay away from 0 and 1, for which a finite sample is no evidence."""
        least = 1 / (len(sample) + 2)
        model = import_extra("sklearn.isotonic", "calibration").IsotonicRegression(
            y_min=least, y_max=1 - least
        )
        model.fit(sample.normalized_scores, sample.right)
        return cls(tuple(model.X_thresholds_.tolist()), tuple(model.y_thresholds_.tolist()))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability that answers with these normalised scores are right."""
        return np.interp(scores, self.thresholds, self.values)


@dataclass(frozen=True)
class Platt:
    """Platt scaling: log odds linear in those of the normalised score; two numbers, for little validation."""

    method: ClassVar[str] = "platt"
    slope: float
    intercept: float

    @classmethod
    def fit(cls, sample: Sample) -> "Platt":
        """Fit a sample by logistic regression with a negligible penalty."""
        model = import_extra("sklearn.linear_model", "calibration").LogisticRegression(C=1e6)
        model.fit(_log_odds(sample.normalized_scores)[:, None], sample.right)
        return cls(float(model.coef_[0, 0]), float(model.intercept_[0]))

    def probabilities(self, scores: Floats) -> Floats:
        """Return the probability that answers with these normalised scores are right."""
        return np.asarray(1 / (1 + np.exp(-self.slope * _log_odds(scores) - self.intercept)))


def _log_odds(scores: Floats) -> Floats:
    inner = np.clip(scores, CLIP, 1 - CLIP)
    return np.asarray(np.log(inner / (1 - inner)))


Calibration = Isotonic | Platt

METHODS: Mapping[str, type[Isotonic] | type[Platt]] = MappingProxyType(
    {kind.method: kind for kind in (Isotonic, Platt)}
)


def fit_calibration(sample: Sample, method: str = "isotonic") -> Calibration:
    """Return a calibration fitted to a sample, which must hold right and wrong answers."""
    require_choice("method", method, list(METHODS))
    if sample.right.all() or not sample.right.any():
        raise DataError(
            f"Calibration needs right and wrong answers; validation shows {int(sample.right.sum()):,} right "
            f"of {len(sample):,}. Give more validation questions, or a model that answers them."
        )
    return METHODS[method].fit(sample)


def cross_fit(sample: Sample, method: str) -> Floats:
    """Return the probability of each answer by a calibration fitted on the other half of the questions."""
    odd = sample.questions % 2 == 1
    found = np.zeros(len(sample))
    for half in (odd, ~odd):
        calibration = fit_calibration(sample[~half], method)
        found[half] = calibration.probabilities(sample.normalized_scores[half])
    return found


# Reliability


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted probability against observed frequency, in bins of equal width; empty bins are left out."""

    counts: Ids  # (bin,) answers
    predicted: Floats  # (bin,) the mean predicted probability
    observed: Floats  # (bin,) the fraction of answers that are right
    brier: float  # the mean squared error over all answers

    @classmethod
    def of(cls, probabilities: Floats, right: Flags) -> "Reliability":
        """Return the reliability of predicted probabilities, given which answers are right."""
        bins = np.minimum((probabilities * NUM_BINS).astype(np.int64), NUM_BINS - 1)
        counts = np.bincount(bins, minlength=NUM_BINS)
        used = counts > 0
        predicted, observed = (np.bincount(bins, of, NUM_BINS)[used] for of in (probabilities, right))
        brier = float(np.mean((probabilities - right) ** 2))
        return cls(counts[used], predicted / counts[used], observed / counts[used], brier)

    @property
    def num_right(self) -> int:
        """The number of right answers."""
        return round(float(self.counts @ self.observed))

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean over answers of |predicted - observed| in their bin."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    def as_dict(self) -> dict[str, float]:
        """Return the measures as one JSON object."""
        answers = {"answers": int(self.counts.sum()), "right": self.num_right}
        return {"ece": self.ece, "brier": self.brier, **answers}


def measure_reliability(part: str, sample: Sample, calibration: Calibration) -> dict[str, Reliability]:
    """Return the reliability of a part's normalised scores taken as probabilities, and of its probabilities.

    On validation, where the calibration was fitted, the probabilities are cross-fitted: those of each half of
    the questions come from a calibration fitted on the other half.
    """
    if part == "valid":
        probabilities = cross_fit(sample, calibration.method)
    else:
        probabilities = calibration.probabilities(sample.normalized_scores)
    return {
        "normalized_score": Reliability.of(sample.normalized_scores, sample.right),
        "probability": Reliability.of(probabilities, sample.right),
    }

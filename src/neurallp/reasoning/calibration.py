"""Probabilities for answers, fitted on validation: how often an answer with such a share is right.

Scores of different questions cannot be compared; shares can. An answer's share is its part of what all
candidates of its question score together, candidates being the entities not known to be answers already.
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

#: Answers of a question that are looked at: as many as are shown when it is asked.
NUM_SHOWN = 10

#: Bins of equal width that probabilities are judged in.
NUM_BINS = 10

#: Shares are kept this far from 0 and 1, where their log odds end.
SMALLEST_SHARE = 1e-9


def shares(scores: Floats, logarithmic: bool) -> Floats:
    """Return each candidate's share of one question's scores; -inf marks those that are none.

    Logarithmic scores are those of weighted rules, which are learned by softmax; others are added up as
    they are.
    """
    weights = np.exp(scores - scores.max(initial=0.0)) if logarithmic else np.maximum(scores, 0.0)
    return np.asarray(weights / (weights.sum() or 1.0))


# What is fitted


@dataclass(frozen=True, eq=False)
class Sample:
    """Answers as they are shown: their shares, whether they are right, and which question each is for."""

    shares: Floats
    right: Flags
    questions: Ids

    def __len__(self) -> int:
        return len(self.shares)

    def __getitem__(self, rows: Flags) -> "Sample":
        return Sample(self.shares[rows], self.right[rows], self.questions[rows])


def draw_sample(
    scorer: Scorer,
    questions: Questions,
    known: KnownAnswers,
    *,
    logarithmic: bool,
    on_done: Callable[[int], None] = lambda num: None,
) -> Sample:
    """Return the best answers to each question, of those that score above 0.

    The answers sought are right. Others that are `known` are no candidates, as in ranking; all the rest is
    wrong. Nearly every entity is a wrong answer that nobody would show, so only `NUM_SHOWN` are taken.
    `on_done` is told how many questions are done.
    """
    asked, number = np.unique(
        np.stack([questions.sources, questions.queries], axis=1), axis=0, return_inverse=True
    )
    number = number.reshape(-1)
    found: list[tuple[Floats, Flags, int]] = []
    for start in range(0, len(asked), QUESTIONS_AT_ONCE):
        sources, queries = asked[start : start + QUESTIONS_AT_ONCE].T
        own = (number >= start) & (number < start + len(sources))
        sought = number[own] - start, questions.answers[own]
        for row, right in _candidates(scorer, sources, queries, sought, known):
            best = best_places(row, NUM_SHOWN)
            found.append((shares(row, logarithmic)[best], right[best], len(best)))
        on_done(len(sources))
    parts = [np.concatenate([each[column] for each in found]) for column in (0, 1)]
    lengths = [length for _, _, length in found]
    return Sample(parts[0], parts[1].astype(bool), np.repeat(np.arange(len(found)), lengths))


def _candidates(
    scorer: Scorer, sources: Ids, queries: Ids, sought: tuple[Ids, Ids], known: KnownAnswers
) -> Iterator[tuple[Floats, Flags]]:
    """Yield for each question the scores of all entities, and which of them are sought."""
    scores = scorer.scores(sources, queries).dense().astype(np.float64)
    right = np.zeros(scores.shape, dtype=bool)
    right[sought] = True
    filtered = np.zeros(scores.shape, dtype=bool)
    filtered[known.pairs(sources, queries)] = True
    scores[filtered & ~right] = -np.inf
    return zip(scores, right, strict=True)


# How it is fitted


@dataclass(frozen=True)
class Isotonic:
    """A probability that never falls as the share grows: straight lines between thresholds."""

    method: ClassVar[str] = "isotonic"
    thresholds: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def fit(cls, sample: Sample) -> "Isotonic":
        """Return what fits best; a finite sample makes nothing certain, so neither 0 nor 1 is said."""
        least = 1 / (len(sample) + 2)
        model = import_extra("sklearn.isotonic", "calibration").IsotonicRegression(
            y_min=least, y_max=1 - least
        )
        model.fit(sample.shares, sample.right)
        return cls(tuple(model.X_thresholds_.tolist()), tuple(model.y_thresholds_.tolist()))

    def probabilities(self, shares: Floats) -> Floats:
        """Return the probability that answers with such shares are right."""
        return np.interp(shares, self.thresholds, self.values)


@dataclass(frozen=True)
class Platt:
    """A probability whose log odds are a line over those of the share: two numbers, for little validation."""

    method: ClassVar[str] = "platt"
    slope: float
    intercept: float

    @classmethod
    def fit(cls, sample: Sample) -> "Platt":
        """Return what fits best by logistic regression, hardly penalised."""
        model = import_extra("sklearn.linear_model", "calibration").LogisticRegression(C=1e6)
        model.fit(_log_odds(sample.shares)[:, None], sample.right)
        return cls(float(model.coef_[0, 0]), float(model.intercept_[0]))

    def probabilities(self, shares: Floats) -> Floats:
        """Return the probability that answers with such shares are right."""
        return np.asarray(1 / (1 + np.exp(-self.slope * _log_odds(shares) - self.intercept)))


def _log_odds(shares: Floats) -> Floats:
    inner = np.clip(shares, SMALLEST_SHARE, 1 - SMALLEST_SHARE)
    return np.asarray(np.log(inner / (1 - inner)))


Calibration = Isotonic | Platt

METHODS: Mapping[str, type[Isotonic] | type[Platt]] = MappingProxyType(
    {kind.method: kind for kind in (Isotonic, Platt)}
)


def fit_calibration(sample: Sample, method: str = "isotonic") -> Calibration:
    """Return what turns shares into probabilities, fitted to a sample with right and wrong answers."""
    require_choice("method", method, list(METHODS))
    if sample.right.all() or not sample.right.any():
        raise DataError(
            f"Calibration needs right and wrong answers; validation shows {int(sample.right.sum()):,} right "
            f"of {len(sample):,}. Give more validation questions, or a model that answers them."
        )
    return METHODS[method].fit(sample)


def cross_fit(sample: Sample, method: str) -> Floats:
    """Return the probability of each answer, fitted on the other half of the questions."""
    odd = sample.questions % 2 == 1
    found = np.zeros(len(sample))
    for half in (odd, ~odd):
        found[half] = fit_calibration(sample[~half], method).probabilities(sample.shares[half])
    return found


# How it is judged


@dataclass(frozen=True, eq=False)
class Reliability:
    """What was said against what came true, in bins of equal width; empty ones are left out."""

    counts: Ids
    said: Floats  # the mean probability of a bin
    came_true: Floats  # the share of a bin's answers that are right
    brier: float  # the mean squared error of all

    @classmethod
    def of(cls, probabilities: Floats, right: Flags) -> "Reliability":
        """Return how reliable probabilities are."""
        bins = np.minimum((probabilities * NUM_BINS).astype(np.int64), NUM_BINS - 1)
        counts = np.bincount(bins, minlength=NUM_BINS)
        used = counts > 0
        said, came_true = (np.bincount(bins, of, NUM_BINS)[used] for of in (probabilities, right))
        brier = float(np.mean((probabilities - right) ** 2))
        return cls(counts[used], said / counts[used], came_true / counts[used], brier)

    @property
    def num_right(self) -> int:
        """How many of all answers are right."""
        return round(float(self.counts @ self.came_true))

    @property
    def ece(self) -> float:
        """The expected calibration error: how far said and true are apart, in the mean over answers."""
        return float(np.average(np.abs(self.said - self.came_true), weights=self.counts))

    def as_dict(self) -> dict[str, float]:
        """Return the measures as one JSON object."""
        answers = {"answers": int(self.counts.sum()), "right": self.num_right}
        return {"ece": self.ece, "brier": self.brier, **answers}


def judge(part: str, sample: Sample, calibration: Calibration) -> dict[str, Reliability]:
    """Return how reliable a part's shares are when taken for probabilities, and how the probabilities are.

    On validation, which the calibration has seen, each half is judged by one fitted on the other.
    """
    seen = part == "valid"
    said = cross_fit(sample, calibration.method) if seen else calibration.probabilities(sample.shares)
    return {
        "share": Reliability.of(sample.shares, sample.right),
        "probability": Reliability.of(said, sample.right),
    }

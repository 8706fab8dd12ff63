"""Reliability: predicted probabilities against how often answers are right, and the calibration error."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.vocabulary import Relations
from .calibration import Calibration
from .calibration_sample import Sample

#: Bins of equal width over which reliability is measured.
NUM_BINS = 10

#: Answers of this probability or more are measured separately: most are far below, where being right is easy.
LIKELY = 0.05


@dataclass(frozen=True, eq=False)
class Reliability:
    """Predicted probability against observed frequency, in bins of equal width; empty bins are left out."""

    counts: Ids  # (bin,) answers
    sizes: Floats  # (bin,) their weights: the answers of all sources that they stand for
    predicted: Floats  # (bin,) the mean predicted probability
    observed: Floats  # (bin,) the fraction of answers that are right
    num_right: int
    brier: float  # the mean squared error over all answers
    chance: float  # the expected calibration error that the true probabilities would have, by chance

    @classmethod
    def of(cls, probabilities: Floats, right: Flags, weights: Floats | None = None) -> "Reliability":
        """Return the reliability of predicted probabilities, given which answers are right."""
        weights = np.ones(len(right)) if weights is None else weights
        bins = np.minimum((probabilities * NUM_BINS).astype(np.int64), NUM_BINS - 1)
        counts = np.bincount(bins, minlength=NUM_BINS)
        sizes = np.bincount(bins, weights, NUM_BINS).astype(np.float64)
        used = counts > 0
        predicted, observed = (
            np.bincount(bins, weights * each, NUM_BINS)[used] / sizes[used] for each in (probabilities, right)
        )
        total = float(weights.sum()) or 1.0
        brier = weights @ (probabilities - right) ** 2 / total
        variances = np.bincount(bins, weights**2 * probabilities * (1 - probabilities), NUM_BINS)
        chance = np.sqrt(2 / np.pi * variances).sum() / total  # the mean absolute value of normal errors
        measures = int(right.sum()), float(brier), float(chance)
        return cls(counts[used], sizes[used], predicted, observed, *measures)

    @property
    def ece(self) -> float:
        """The expected calibration error: the mean over answers of |predicted - observed| in their bin."""
        if not len(self.sizes):
            return 0.0
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.sizes))

    def as_dict(self) -> dict[str, float]:
        """Return the measures as one JSON object."""
        answers = {"answers": int(self.counts.sum()), "right": self.num_right}
        return {"ece": self.ece, "chance": self.chance, "brier": self.brier, **answers}


def measure_reliability(
    sample: Sample, calibration: Calibration, relations: Relations
) -> Mapping[str, Mapping[str, Reliability]]:
    """Return the reliability of sources with and without known answers, for several choices of answers.

    `shown`: the ten best answers to questions about any source. `best`: only the best. `likely`: of those
    shown, those with a probability of `LIKELY` or more. `test questions`: the ten best answers to questions
    with an answer in test, which a user does not know: the probability does not assume it.
    """
    probabilities = calibration.probabilities(sample.evidence, relations)
    best = sample.ranks == 0
    choices = {
        "shown": best | ~best,
        "best": best,
        "likely": probabilities >= LIKELY,
        "test questions": sample.sought,
    }
    has_known = sample.evidence.num_known > 0
    return {
        name: {
            choice: Reliability.of(
                probabilities[rows & of], sample.right[rows & of], sample.weights[rows & of]
            )
            for choice, rows in choices.items()
        }
        for name, of in (("no known answer", ~has_known), ("known answers", has_known))
    }

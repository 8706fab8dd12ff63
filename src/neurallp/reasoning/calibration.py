"""Calibration: how likely an answer is true, given all that is known.

The log odds of an answer are a sum of three parts: a piecewise linear function of the log odds of its
normalised score, which never falls; what is known of the source (how much of the scores its known answers
take, and without known answers whether its relations are those of sources that have some); and an intercept
for each query and number of known answers. So within one question a greater score never has a smaller
probability, and a second father is unlikely whatever the score.

Answers to a functional query (one answer a source at most, counted on facts) exclude each other. None is more
likely than its normalised score, where scores are first multiplied by a sharpness of the query. Normalised
scores add up to 1, hence these probabilities to no more than 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from ..graph.arrays import Floats, Ids
from ..graph.vocabulary import Relations
from .calibration_sample import NUM_CASES, SHARPNESS, Evidence

#: Log odds are clipped here, so that no probability is 0 or 1.
MAX_LOG_ODDS = 14.0

#: Features that are equal for all answers of a question, so that their coefficients may have any sign.
NUM_FREE = NUM_CASES - 1


class Piece(NamedTuple):
    """A piece of the piecewise linear function of log odds: slope * (odds between low and high - knot)."""

    has_known: bool  # of sources with known answers, or without
    low: float
    high: float
    knot: float
    slope: float


@dataclass(frozen=True)
class Calibration:
    """The coefficients of the features, and an intercept for each query and number of known answers."""

    knots: tuple[float, ...]
    coefficients: tuple[float, ...]
    intercepts: Mapping[str, tuple[float, ...]]  # query -> intercept of each case
    others: tuple[float, ...]  # those of a query that had no facts
    highest: float = MAX_LOG_ODDS  # the log odds beyond which the sample is no evidence
    functional: Mapping[str, float] = field(default_factory=dict)  # query -> its sharpness

    @property
    def pieces(self) -> list[Piece]:
        """The pieces of the two functions of log odds."""
        knots = self.knots
        lows, highs = (float("-inf"), *knots[1:-1]), (*knots[1:-1], float("inf"))
        ends = [(known, *each) for known in (False, True) for each in zip(lows, highs, knots, strict=False)]
        return [Piece(*each, slope) for each, slope in zip(ends, self.coefficients, strict=False)]

    @property
    def domain_slope(self) -> float:
        """The coefficient of the domain, for sources without known answers."""
        return self.coefficients[-NUM_FREE - 1]

    @property
    def left_slopes(self) -> tuple[float, ...]:
        """The coefficients of what is left to unknown answers where one answer is known, and more."""
        return self.coefficients[-NUM_FREE:]

    def probabilities(self, evidence: Evidence, relations: Relations) -> Floats:
        """Return how likely answers are true; their queries are numbered as in `relations`."""
        return sigmoid(self.log_odds(evidence, relations))

    def log_odds(self, evidence: Evidence, relations: Relations) -> Floats:
        """Return the same as log odds, which also order answers whose probabilities are nearly 0."""
        queries, rows = np.unique(evidence.queries, return_inverse=True)
        rows = rows.reshape(-1)
        names = list(map(relations.operator_name, queries.tolist()))
        intercepts = np.array([self.intercepts.get(name, self.others) for name in names])
        features = compute_features(evidence, np.array(self.knots))
        own = intercepts.reshape(-1, NUM_CASES)[rows, evidence.cases]
        sums = features @ np.array(self.coefficients) + own
        return np.asarray(np.minimum(sums, np.minimum(self._limits(evidence, names, rows), self.highest)))

    def _limits(self, evidence: Evidence, names: Sequence[str], rows: Ids) -> Floats:
        """Return the greatest log odds of answers that exclude each other; of others infinity."""
        columns = np.array([_column(self.functional.get(name)) for name in names], dtype=np.int64)[rows]
        return limits(evidence.shares, columns)


def _column(sharpness: float | None) -> int:
    return -1 if sharpness is None else SHARPNESS.index(sharpness)


def limits(shares: Floats, columns: Ids) -> Floats:
    """Return of each answer the share in its column; infinity where that is negative."""
    chosen = shares[np.arange(len(shares)), np.maximum(columns, 0)]
    return np.asarray(np.where(columns < 0, np.inf, chosen))


def sigmoid(log_odds: Floats) -> Floats:
    """Return the probabilities that log odds stand for, never 0 or 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))


def compute_features(evidence: Evidence, knots: Floats) -> Floats:
    """Return the features of answers; coefficients of all but the last `NUM_FREE` are at least 0.

    They are the pieces of the log odds where no answer is known, the same where some are, the domain, and
    the part of the scores that is left to unknown answers where one is known, and where more are.
    """
    pieces, some = ramps(evidence.odds, knots), evidence.num_known[:, None] > 0
    left = np.eye(NUM_CASES)[evidence.cases][:, 1:] * evidence.unknown[:, None]
    return np.column_stack([pieces * ~some, pieces * some, evidence.domain, left])


def ramps(values: Floats, knots: Floats) -> Floats:
    """Return the part of each value that lies between neighbouring knots, (value, piece).

    The first piece goes on below and the last one above.

    >>> ramps(np.array([0.0, 2.5, 9.0]), np.array([1.0, 2.0, 3.0])).tolist()
    [[-1.0, 0.0], [1.0, 0.5], [1.0, 7.0]]
    """
    lows, highs = knots[:-1].copy(), knots[1:].copy()
    lows[0], highs[-1] = -np.inf, np.inf
    return np.asarray(np.clip(values[:, None], lows, highs) - knots[:-1])

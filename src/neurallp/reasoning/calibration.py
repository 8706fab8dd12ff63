"""Calibration: how likely an answer is true, given all that is known.

The log odds of an answer are a sum: a piecewise linear function of the log odds of its normalised score, which
never falls; what the source is like (how many answers it has, how much of the score these take, whether it
has the relations of those that have answers); and an intercept for each query and number of known answers. So within one
question a greater score never has a smaller probability, and a second father is unlikely whatever the score.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Floats
from ..graph.vocabulary import Relations
from .calibration_sample import NUM_CASES, Evidence

#: Log odds are clipped here, so that no probability is 0 or 1.
MAX_LOG_ODDS = 9.0


def probabilities_of(log_odds: Floats) -> Floats:
    """Return the probabilities that log odds stand for, never 0 or 1."""
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(log_odds, -MAX_LOG_ODDS, MAX_LOG_ODDS))))


def ramps(values: Floats, knots: Floats) -> Floats:
    """Return linear pieces between neighbouring knots, (value, piece); the first and the last go on for ever."""
    lows = np.concatenate([[-np.inf], knots[1:-1]])
    highs = np.concatenate([knots[1:-1], [np.inf]])
    starts = np.concatenate([knots[:1], knots[1:-1]])
    return np.asarray(np.clip(values[:, None], lows, highs) - starts)


def features_of(evidence: Evidence, knots: Floats) -> Floats:
    """Return the features of answers: pieces of the log odds without and with known answers, and the source's.

    The coefficients of all but the last `NUM_FREE` must not be negative.
    """
    pieces = ramps(evidence.odds, knots)
    some = evidence.num_known > 0
    cases = np.eye(NUM_CASES)[evidence.cases]
    return np.column_stack([
        pieces * ~some[:, None], pieces * some[:, None], evidence.domain * ~some,
        cases[:, 1:] * evidence.unknown[:, None],
    ])


#: Features whose coefficients may have any sign: they are equal for all answers of a question.
NUM_FREE = NUM_CASES - 1


@dataclass(frozen=True, eq=False)
class Calibration:
    """Coefficients of the features, and intercepts (query, case); `other` are those of any other query."""

    knots: Floats
    coefficients: Floats
    intercepts: Mapping[str, tuple[float, ...]]  # query -> case -> intercept
    other: tuple[float, ...]

    def probabilities(self, evidence: Evidence, relations: Relations) -> Floats:
        """Return how likely answers are true; queries are numbered as in `relations`."""
        names = {query: relations.operator_name(query) for query in np.unique(evidence.queries).tolist()}
        rows = {query: self.intercepts.get(name, self.other) for query, name in names.items()}
        own = np.array([rows[query][case] for query, case in zip(evidence.queries.tolist(), evidence.cases.tolist(), strict=True)])
        return probabilities_of(features_of(evidence, self.knots) @ self.coefficients + own)

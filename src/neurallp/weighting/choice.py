"""Choices made on validation: the settings of each query, and how far rules are thinned out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Floats
from .query_fit import FitResult

#: Validation questions from which on a query chooses its own settings.
ENOUGH_TO_CHOOSE = 20

#: How much of the validation MRR a model with fewer rules may lose, at least and at most: as much as may be
#: chance, one standard error of the loss.
MIN_TOLERANCE, MAX_TOLERANCE = 0.001, 0.005

#: Bytes of one feature entry while weights are fitted.
BYTES_PER_ENTRY = 12


@dataclass(frozen=True, eq=False)
class Choice:
    """The settings chosen for a query: the fit of one length, and the columns of its weights."""

    pilot: FitResult
    column: int
    penalty: int  # its number
    against: bool

    @property
    def reciprocal_ranks(self) -> Floats:
        """The reciprocal ranks of validation questions under these settings."""
        ranks: Floats = self.pilot.reciprocal_ranks[:, self.column]
        return ranks


@dataclass(frozen=True, eq=False)
class Trial:
    """What cheap fits of some queries validate to, and what fitting them in full would cost."""

    reciprocal_ranks: Mapping[int, Floats]  # by query
    entries_per_question: Mapping[int, float]
    num_questions: Mapping[int, int]  # to fit and to validate

    @property
    def pooled(self) -> Floats:
        """The reciprocal ranks of all queries' validation questions, in the order of the queries."""
        return np.concatenate([np.zeros(0), *self.reciprocal_ranks.values()])

    @property
    def mrr(self) -> float:
        """The mean reciprocal rank over all queries' validation questions; 0 without any."""
        return float(self.pooled.mean()) if len(self.pooled) else 0.0

    @property
    def num_entries(self) -> float:
        """The feature entries of the questions that the queries are to be refined and validated on."""
        return sum(self.entries_per_question[query] * num for query, num in self.num_questions.items())

    @property
    def max_bytes(self) -> float:
        """The memory for the features of the largest query."""
        each = (self.entries_per_question[query] * num for query, num in self.num_questions.items())
        return BYTES_PER_ENTRY * max(each, default=0.0)


def choose_settings(pilots: Mapping[int, Sequence[FitResult]], num_penalties: int) -> dict[int, Choice]:
    """Return each query's length, penalty and use of rules against with the best validation MRR.

    A query with few validation questions takes what is best for all queries together; without any validation
    that is the first length, rules against, and the penalty in the middle.
    """
    ranks = {query: _all_ranks(fits, num_penalties) for query, fits in pilots.items()}
    together = np.concatenate([*ranks.values()]) if ranks else np.zeros((0, 1))
    common = int(together.mean(axis=0).argmax()) if len(together) else num_penalties // 2
    chosen = {}
    for query, fits in pilots.items():
        own = len(ranks[query]) >= ENOUGH_TO_CHOOSE
        place = int(ranks[query].mean(axis=0).argmax()) if own else common
        length, setting = divmod(place, 2 * num_penalties)
        against, penalty = divmod(setting, num_penalties)
        column = setting % fits[length].weights.shape[2]
        chosen[query] = Choice(fits[length], column, penalty, against == 0)
    return chosen


def _all_ranks(fits: Sequence[FitResult], num_penalties: int) -> Floats:
    """Return reciprocal ranks, (question, length x with or without rules against x penalty).

    Where there are no rules against, both ways are the same.
    """
    times = [2 * num_penalties // each.weights.shape[2] for each in fits]
    return np.hstack(
        [np.tile(each.reciprocal_ranks, (1, num)) for each, num in zip(fits, times, strict=True)]
    )


def choose_level(reciprocal_ranks: Sequence[Floats]) -> int:
    """Return the last level of thinning, that with fewest rules, that validates nearly as well as the best.

    Without validation this is the first, which leaves out nothing.

    >>> choose_level([np.array([[0.5, 0.4999, 0.3]])])
    1
    """
    together = np.concatenate([*reciprocal_ranks]) if len(reciprocal_ranks) else np.zeros((0, 1))
    if not len(together):
        return 0
    losses = together[:, [together.mean(axis=0).argmax()]] - together
    errors = losses.std(axis=0) / np.sqrt(len(losses))
    tolerated = losses.mean(axis=0) <= np.clip(errors, MIN_TOLERANCE, MAX_TOLERANCE)
    return int(np.flatnonzero(tolerated).max())

"""Choices made on validation: the settings of each query, and how far rules are thinned out.

Thinning drops rules without which the fit is as good, and fits the others anew. The importance of a rule is
by how much the loss would rise without it, summed over the questions learned from. Of rules that predict the
same each has little importance while the others are there, so at most half are dropped at a time, and the
others are fitted anew before their importance is computed again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Floats, Ids
from ..graph.questions import Questions
from .query_fit import FitResult, QueryFit

#: Validation questions from which on a query chooses its own settings.
ENOUGH_TO_CHOOSE = 20

#: How much of the validation MRR a model with fewer rules may lose, at least and at most: as much as may be
#: chance, one standard error of the loss.
MIN_TOLERANCE, MAX_TOLERANCE = 0.001, 0.003

#: Bytes of one feature entry while weights are fitted.
BYTES_PER_ENTRY = 12

#: Least rise of the loss without a rule, as a share of what all rules explain; validation chooses one.
LEVELS = (1e-4, 1e-3)

#: In nats, the least rise at any level: a weight without meaning lowers the loss that much by chance.
NOISE = 0.3

#: The share of rules that is kept at least each time some are dropped.
MIN_KEPT = 0.5

#: Below this share of rules left to drop, dropping ends: fitting anew takes longer than it saves.
FEW = 0.1

#: Times that rules are dropped at one level, at most.
MAX_ROUNDS = 2

#: The share of passes with which weights are fitted anew.
EFFORT = 0.5


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


# Thinning


def thin(fit: QueryFit, questions: Questions) -> list[Floats]:
    """Return the weights of a fit with all rules, then with those that matter at each level."""
    found = [fit.values.copy()]
    left = used_rules(fit)
    for level in LEVELS:
        for _ in range(MAX_ROUNDS):
            removal, explained = fit.removal_losses(questions)
            order = left[np.argsort(-removal[left], kind="stable")]
            wanted = int((removal[left] > max(NOISE, level * explained)).sum())
            num = max(wanted, int(np.ceil(MIN_KEPT * len(left))))
            if num >= (1 - FEW) * len(left):
                break
            left = _keep(fit, questions, order, num)
        found.append(fit.values.copy())
    return found


def reduce_rules(fit: QueryFit, questions: Questions, max_rules: int) -> None:
    """Leave at most `max_rules` rules, besides the dense one, with weights fitted anew."""
    left = used_rules(fit)
    while len(left) > max_rules:
        removal, _ = fit.removal_losses(questions)
        order = left[np.argsort(-removal[left], kind="stable")]
        left = _keep(fit, questions, order, max(max_rules, int(np.ceil(MIN_KEPT * len(left)))))


def used_rules(fit: QueryFit) -> Ids:
    """Return the numbers of rules with a weight other than 0."""
    return np.flatnonzero(fit.values[:-1].reshape(fit.num_rules, 3 * fit.values.shape[1]).any(axis=1))


def _keep(fit: QueryFit, questions: Questions, order: Ids, num: int) -> Ids:
    """Drop all but the first `num` rules of an order, and fit them anew; return those still used."""
    fit.drop(np.setdiff1d(np.arange(fit.num_rules), order[:num]))
    fit.learn(questions, EFFORT)
    return used_rules(fit)

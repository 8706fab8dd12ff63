"""Choices made on validation: the settings of each query, and how far rules are thinned out.

Thinning drops rules without which the fit is as good, and fits the others anew. The importance of a rule is
by how much the loss would rise without it, summed over the questions learned from. Of rules that predict the
same each has little importance while the others are there, so at most half are dropped at a time, and the
others are fitted anew before their importance is computed again.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Floats, Ids
from ..graph.questions import Questions
from .kinds import is_dense
from .query_fit import FitResult, QueryFit, Setting
from .weighted_rules import WeightedQuery

#: How many validation questions the mean over all queries counts as, in the choice of one.
SHARED = 100

#: Standard errors that the mean gain of rules that predict rarely must exceed over all queries together.
CLEAR = 2.0

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

#: A setting of the fit of one length, by the length's number.
Key = tuple[int, Setting]


@dataclass(frozen=True, eq=False)
class Choice:
    """The weights chosen for a query, a column of a fit, and the settings to go on with.

    In a first fit each column leaves out one kind at most: where several are left out, the column chosen is
    that without the worst of them.
    """

    fit: FitResult
    column: int
    penalty: float
    left_out: frozenset[str]

    @property
    def reciprocal_ranks(self) -> Floats:
        """The reciprocal ranks of the query's validation questions."""
        ranks: Floats = self.fit.reciprocal_ranks[:, self.column]
        return ranks

    @property
    def weighted(self) -> WeightedQuery:
        """The rules with a weight."""
        return self.fit.weighted(self.column)

    @property
    def num_rules(self) -> int:
        """The number of rules with a weight, besides the dense one."""
        return sum(not is_dense(self.fit.rules[rule]) for rule in self.fit.used(self.column))


@dataclass(frozen=True, eq=False)
class Trial:
    """What cheap or refined fits of queries validate to, and what fitting them in full would cost."""

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


def choose_settings(pilots: Mapping[int, Sequence[FitResult]]) -> dict[int, Choice]:
    """Return each query's length and penalty with the best validation MRR, and the kinds that it leaves out.

    A query has few validation questions, so the mean of all queries counts for `SHARED` more of them. A kind
    must gain more than the standard error of that mean. Without any validation, a query takes the first
    length, the penalty in the middle, and all kinds.
    """
    pooled = pool_gains(pilots)
    return {query: _choose(fits, pooled) for query, fits in pilots.items()}


def choose_refined(choices: Mapping[int, Choice], refined: Mapping[int, FitResult]) -> dict[int, Choice]:
    """Return the refined weights of queries, without rules that predict rarely where these do not help.

    A fit with such rules has a second column without them. Where all queries together do not gain clearly, no
    query uses them: on a few of its own questions any query may gain by chance, and such rules name entities.
    Otherwise they must gain more than the standard error of the mean gain, which counts as in the choice of
    settings. Without validation they are used.
    """
    tried = {query: fit for query, fit in refined.items() if len(fit.settings) > 1}
    gains = {query: fit.reciprocal_ranks[:, 0] - fit.reciprocal_ranks[:, 1] for query, fit in tried.items()}
    pooled = np.concatenate([np.zeros(0), *gains.values()])
    least, found = standard_error(pooled), {}
    is_clear = not len(pooled) or pooled.mean() > CLEAR * least
    for query, fit in refined.items():
        column = int(query in tried and not (is_clear and _expected_gain(gains[query], pooled) > least))
        left_out = choices[query].left_out | fit.settings[column].left_out
        found[query] = Choice(fit, column, choices[query].penalty, left_out)
    return found


def pool_gains(pilots: Mapping[int, Sequence[FitResult]]) -> dict[Key, Floats]:
    """Return what each setting adds to the reciprocal ranks of the questions of all queries that have it."""
    together: defaultdict[Key, list[Floats]] = defaultdict(list)
    for fits in pilots.values():
        for key, values in _gains(fits).items():
            together[key].append(values)
    return {key: np.concatenate(values) for key, values in together.items()}


def _gains(fits: Sequence[FitResult]) -> dict[Key, Floats]:
    """Return what each setting of each length adds to the reciprocal ranks of a query's questions.

    Penalties are compared with the middle one of the first length. For a setting that leaves a kind out, it
    is what the kind adds.
    """
    gains: dict[Key, Floats] = {}
    for length, fit in enumerate(fits):
        for setting, ranks in zip(fit.settings, fit.reciprocal_ranks.T, strict=True):
            if setting.left_out:
                gains[length, setting] = fit.middle_ranks - ranks
            else:
                gains[length, setting] = ranks - fits[0].middle_ranks
    return gains


def _choose(fits: Sequence[FitResult], pooled: Mapping[Key, Floats]) -> Choice:
    """Return the settings of one query, from the gains of its own questions and of those of all queries."""
    expected = {key: _expected_gain(own, pooled[key]) for key, own in _gains(fits).items()}
    penalties = [
        (n, setting) for n, fit in enumerate(fits) for setting in fit.settings if not setting.left_out
    ]
    first = 0, fits[0].settings[fits[0].middle]  # taken where none is better
    length, chosen = max([first, *penalties], key=lambda key: expected[key])
    fit = fits[length]
    without = [
        setting
        for setting in fit.settings
        if setting.left_out and expected[length, setting] <= standard_error(pooled[length, setting])
    ]
    nearest = min(without, key=lambda setting: expected[length, setting], default=chosen)
    left_out = frozenset(kind for setting in without for kind in setting.left_out)
    return Choice(fit, fit.settings.index(nearest), chosen.penalty, left_out)


def _expected_gain(own: Floats, pooled: Floats) -> float:
    """Return the mean gain of a query's questions and of `SHARED` more, which stand for all queries."""
    shared = pooled.mean() if len(pooled) else 0.0
    return float((own.sum() + SHARED * shared) / (len(own) + SHARED))


def standard_error(gains: Floats) -> float:
    """Return the standard error of a mean gain; below 0 without any, so that a gain of 0 is enough."""
    return float(gains.std() / np.sqrt(len(gains))) if len(gains) else -1.0


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

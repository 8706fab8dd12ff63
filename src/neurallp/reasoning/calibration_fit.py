"""Fitting of a calibration: logistic regression on answers, of which only a part is labelled.

The held-out facts are only some of the facts that are true and unknown: those of a test part are others, and
must not be looked at. So the model is

    P(answer is held out) = fraction * sigma(features @ coefficients + intercept of query and case),

`fraction` being that of the held-out facts among all that are true and unknown. Once the held-out facts are
known too, as many are taken to be left: the odds that an answer is one of them are `fraction` times those of
the sigma.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import DataError
from ..graph.arrays import Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import ask_both_ways
from .calibration import NUM_FREE, Calibration, compute_features, sigmoid
from .calibration_sample import NUM_CASES, Sample

#: Knots of the piecewise linear function, at quantiles of the right answers.
NUM_KNOTS = 6

#: The standard deviation of what the log odds of a query and case differ by from those of all.
SPREAD = 1.0

#: The fraction of the true unknown facts that is held out, from the least on. It is a half where valid and
#: test are of one size, as mostly. Where it is more, more than half of the surest answers are held-out facts.
FRACTIONS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)

#: The gain in log likelihood by which one fraction refutes another: half the 95th percentile of chi squared.
MIN_GAIN = 1.92

#: Rounds of fitting end where the log likelihood gains less than this, or after so many.
TOLERANCE, MAX_ROUNDS = 0.1, 40


def fit_calibration(
    sample: Sample, kb: KnowledgeBase, num_held_out: int, fraction: float | None = None
) -> Calibration:
    """Return the calibration that fits a sample, drawn with the facts of `kb` known.

    `fraction` is 1 where every true fact that is not in `kb` was held out; by default it is estimated.
    """
    if not sample.right.any():
        raise DataError(
            f"None of the {num_held_out:,} held-out facts is among the best answers, so there is nothing to "
            "calibrate. Hold out more facts, or learn rules that predict some."
        )
    rates = log_rates(kb, num_held_out)
    knots = _place_knots(sample.evidence.odds[sample.right])
    fit = Fit.start(sample, rates, knots, fraction or FRACTIONS[0]).run()
    for value in () if fraction else FRACTIONS[1:]:
        other = replace(fit, fraction=value).run()
        if other.objective() < fit.objective() + MIN_GAIN:
            break
        fit = other
    names = map(kb.relations.operator_name, range(len(rates)))
    intercepts, others = fit.intercepts(rates)
    rows = dict(zip(names, map(tuple, intercepts.tolist()), strict=True))
    highest = float(np.log(2 * sample.right.sum() + 1))  # of n answers that are all right (Jeffreys' prior)
    return Calibration(
        tuple(knots.tolist()), tuple(fit.shared.tolist()), rows, tuple(others.tolist()), highest
    )


def log_rates(kb: KnowledgeBase, num_held_out: int) -> Floats:
    """Return the log of the expected number of unknown answers of a source, (query, case), counted on facts.

    Were facts held out at random, a source with k + 1 answers would be one with k known answers that has
    another. Half a fact is added to each count (Jeffreys' prior).
    """
    num_queries, last = 2 * len(kb.relations), NUM_CASES - 1
    questions = ask_both_ways(kb.facts, len(kb.relations))
    pairs, num = np.unique(questions.sources * num_queries + questions.queries, return_counts=True)
    sources, lost = np.zeros((num_queries, NUM_CASES)), np.zeros((num_queries, NUM_CASES))
    np.add.at(sources, (pairs % num_queries, np.minimum(num, last)), 1)
    np.add.at(lost, (pairs % num_queries, np.minimum(num - 1, last)), num)
    sources[:, 0] = len(kb.entities) - sources.sum(axis=1)
    fraction = max(num_held_out, 1) / (num_held_out + len(kb.facts))
    return np.asarray(np.log(fraction * (lost + 0.5) / (sources + 1.0)))


def _place_knots(odds: Floats) -> Floats:
    """Return knots between the log odds of right answers, two at least."""
    knots = np.unique(np.quantile(odds, np.linspace(0.02, 0.98, NUM_KNOTS)))
    return knots if len(knots) > 1 else np.array([knots[0] - 1.0, knots[0] + 1.0])


@dataclass(frozen=True, eq=False)
class Fit:
    """The regression while it is fitted: by turns a step for the coefficients and two for the queries' own.

    The coefficients are those of the features, of the log rate, and of the cases. They start at what a
    normalised score that is a probability would need, and a normal prior of variance 1 keeps them near.
    """

    x: Floats  # (answer, coefficient)
    groups: Ids  # (answer,) query and case
    right: Flags
    weights: Floats
    fraction: float
    prior: Floats  # (coefficient,) its mean
    coefficients: Floats
    own: Floats  # (group,) what a query and case differs by

    @classmethod
    def start(cls, sample: Sample, rates: Floats, knots: Floats, fraction: float) -> "Fit":
        """Return the regression before the first step."""
        evidence = sample.evidence
        features = compute_features(evidence, knots)
        rate, cases = rates[evidence.queries, evidence.cases], np.eye(NUM_CASES)[evidence.cases]
        x = np.column_stack([features, rate, cases])
        prior = np.zeros(x.shape[1])
        prior[: features.shape[1] - NUM_FREE] = prior[features.shape[1]] = 1.0
        groups = evidence.queries * NUM_CASES + evidence.cases
        return cls(x, groups, sample.right, sample.weights, fraction, prior, prior, np.zeros(rates.size))

    @property
    def shared(self) -> Floats:
        """The coefficients of the features."""
        return self.coefficients[: -NUM_CASES - 1]

    @property
    def free(self) -> Flags:
        """Which coefficients may be negative: those of what is left to unknown answers, and of the cases."""
        place = np.arange(len(self.coefficients)) - len(self.shared)
        return np.asarray((place > 0) | ((place < 0) & (place >= -NUM_FREE)))

    def intercepts(self, rates: Floats) -> tuple[Floats, Floats]:
        """Return the intercepts of the calibration, (query, case), and those of a query without facts."""
        common = (
            self.coefficients[-NUM_CASES:]
            + self.coefficients[len(self.shared)] * rates
            + np.log(self.fraction)
        )
        return common + self.own.reshape(rates.shape), np.median(common, axis=0)

    def log_odds(self) -> Floats:
        """Return the log odds of each answer."""
        return np.asarray(self.x @ self.coefficients + self.own[self.groups])

    def objective(self) -> float:
        """Return the log likelihood, less the penalties."""
        penalty = (self.own**2).sum() / SPREAD**2 + ((self.coefficients - self.prior) ** 2).sum()
        return self.derivatives[2] - float(penalty) / 2

    @cached_property
    def derivatives(self) -> tuple[Floats, Floats, float]:
        """The gradient of the log likelihood by each log odds, its expected curvature, and its value."""
        true = sigmoid(self.log_odds())
        held_out = self.fraction * true
        change = (1 - true) / (1 - held_out)
        gradient = self.weights * change * (self.right - held_out)
        curvature = self.weights * change**2 * held_out * (1 - held_out)
        likelihood = np.where(self.right, np.log(held_out), np.log1p(-held_out))
        return gradient, curvature, float(self.weights @ likelihood)

    def run(self) -> "Fit":
        """Return the regression when it no longer improves."""
        fit, before = self, -np.inf
        for _ in range(MAX_ROUNDS):
            fit = fit.step_coefficients().step_own().step_own()
            if (value := fit.objective()) < before + TOLERANCE:
                break
            before = value
        return fit

    def step_own(self) -> "Fit":
        """Return the regression after one step of Newton's method for each query and case."""
        gradient, curvature, _ = self.derivatives
        up = np.bincount(self.groups, gradient, len(self.own)) - self.own / SPREAD**2
        step = up / (np.bincount(self.groups, curvature, len(self.own)) + 1 / SPREAD**2)
        return replace(self, own=self.own + np.clip(step, -1.0, 1.0))

    def step_coefficients(self) -> "Fit":
        """Return the regression after a step of Fisher scoring, halved until the objective does not fall."""
        gradient, curvature, _ = self.derivatives
        up = self.x.T @ gradient - (self.coefficients - self.prior)
        moving = self.free | (self.coefficients > 0) | (up > 0)
        x = self.x[:, moving]
        step = np.zeros_like(self.coefficients)
        step[moving] = np.linalg.solve((x * curvature[:, None]).T @ x + np.eye(x.shape[1]), up[moving])
        before = self.objective()
        for size in (1.0, 0.5, 0.25, 0.125, 0.0625):
            moved = self.coefficients + size * step
            changed = replace(self, coefficients=np.where(self.free, moved, np.maximum(moved, 0.0)))
            if changed.objective() >= before:
                return changed
        return self

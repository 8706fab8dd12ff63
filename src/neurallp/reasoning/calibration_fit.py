"""How a calibration is fitted: logistic regression with coefficients of at least 0 and shrunken intercepts."""

from dataclasses import dataclass, replace

import numpy as np

from ..errors import DataError
from ..graph.arrays import Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import ask_both_ways
from .calibration import NUM_FREE, Calibration, features_of, probabilities_of
from .calibration_sample import NUM_CASES, Sample

#: Knots of the piecewise linear function, at quantiles of the right answers.
NUM_KNOTS = 6

#: The standard deviation of the intercepts of queries, in log odds.
SPREAD = 1.0

#: The fraction of all true unknown answers that is held out: at least a half, as parts to validate and to test
#: are mostly of similar size, and more where the surest answers are held out more often than that allows.
FRACTIONS = (0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.9, 1.0)

#: The gain in log likelihood by which one fraction refutes another: half the 95th percentile of chi squared.
MIN_GAIN = 1.92

#: A ridge that keeps coefficients finite.
RIDGE = 1e-2

#: Rounds end where log likelihood gains less than this, or after so many.
TOLERANCE, MAX_ROUNDS = 0.1, 40


def log_rates(kb: KnowledgeBase, num_held_out: int) -> Floats:
    """Return the log of the expected number of unknown answers of a source, (query, case), counted on facts.

    Were facts held out at random, a source with k + 1 answers would be one with k known answers that has
    another. Half a fact is added to each count (Jeffreys' prior).
    """
    num_queries = 2 * len(kb.relations)
    questions = ask_both_ways(kb.facts, len(kb.relations))
    pairs, num = np.unique(questions.sources * num_queries + questions.queries, return_counts=True)
    queries, last = pairs % num_queries, NUM_CASES - 1
    sources, lost = np.zeros((num_queries, NUM_CASES)), np.zeros((num_queries, NUM_CASES))
    np.add.at(sources, (queries, np.minimum(num, last)), 1)
    np.add.at(lost, (queries, np.minimum(num - 1, last)), num)
    sources[:, 0] = len(kb.entities) - sources.sum(axis=1)
    fraction = num_held_out / max(num_held_out + len(kb.facts), 1)
    return np.asarray(np.log(fraction * (lost + 0.5) / (sources + 1.0)))


@dataclass(frozen=True, eq=False)
class Fit:
    """A logistic regression while it is fitted: P(held out) = fraction * sigma(features @ coefficients + own)."""

    x: Floats  # (answer, feature): those of the calibration, the log rate, and the cases
    groups: Ids  # (answer,) query and case
    right: Flags
    weights: Floats
    fraction: float
    coefficients: Floats
    own: Floats  # (group,) what a query differs by

    def eta(self) -> Floats:
        return np.asarray(self.x @ self.coefficients + self.own[self.groups])

    def penalised(self) -> float:
        return self.derivatives(self.eta())[2] - float((self.own**2).sum()) / (2 * SPREAD**2)

    def derivatives(self, eta: Floats) -> tuple[Floats, Floats, float]:
        """Return the gradient by `eta`, the expected curvature, and the log likelihood."""
        true = probabilities_of(eta)
        held_out = self.fraction * true
        change = (1 - true) / (1 - held_out)
        gradient = self.weights * change * (self.right - held_out)
        curvature = self.weights * change**2 * held_out * (1 - held_out)
        likelihood = np.where(self.right, np.log(held_out), np.log1p(-held_out))
        return gradient, curvature, float(self.weights @ likelihood)

    @property
    def free(self) -> Flags:
        """Which coefficients may be negative: those of what is equal within a question, but the rate."""
        num = len(self.coefficients)
        free = np.zeros(num, dtype=bool)
        free[num - NUM_CASES :] = True
        free[num - NUM_CASES - 1 - NUM_FREE : num - NUM_CASES - 1] = True
        return free

    def run(self) -> "Fit":
        fit, best = self, -np.inf
        for _ in range(MAX_ROUNDS):
            fit = fit.step_common().step_own().step_own()
            value = fit.penalised()
            if value < best + TOLERANCE:
                break
            best = value
        return fit

    def step_own(self) -> "Fit":
        gradient, curvature, _ = self.derivatives(self.eta())
        num = len(self.own)
        gain = np.bincount(self.groups, gradient, num) - self.own / SPREAD**2
        step = gain / (np.bincount(self.groups, curvature, num) + 1 / SPREAD**2)
        return replace(self, own=self.own + np.clip(step, -1.0, 1.0))

    def step_common(self) -> "Fit":
        gradient, curvature, before = self.derivatives(self.eta())
        up = self.x.T @ gradient - RIDGE * self.coefficients
        moving = self.free | (self.coefficients > 0) | (up > 0)
        x = self.x[:, moving]
        step = np.zeros_like(self.coefficients)
        step[moving] = np.linalg.solve((x * curvature[:, None]).T @ x + RIDGE * np.eye(moving.sum()), up[moving])
        for size in (1.0, 0.5, 0.25, 0.125, 0.0625):
            new = self.coefficients + size * step
            changed = replace(self, coefficients=np.where(self.free, new, np.maximum(new, 0.0)))
            if changed.derivatives(changed.eta())[2] >= before:
                return changed
        return self


def fit_calibration(sample: Sample, rates: Floats, names, fraction: float | None = None) -> Calibration:
    evidence = sample.evidence
    knots = np.unique(np.quantile(evidence.odds[sample.right], np.linspace(0.02, 0.98, NUM_KNOTS)))
    x = features_of(evidence, knots)
    num = x.shape[1]
    x = np.column_stack([x, rates[evidence.queries, evidence.cases], np.eye(NUM_CASES)[evidence.cases]])
    start = np.concatenate([np.full(num - NUM_FREE, 0.5), np.zeros(NUM_FREE), [0.5], np.full(NUM_CASES, -1.0)])
    fit = Fit(x, evidence.queries * NUM_CASES + evidence.cases, sample.right, sample.weights, fraction or FRACTIONS[0], start, np.zeros(rates.size)).run()
    for value in () if fraction else FRACTIONS[1:]:
        other = replace(fit, fraction=value).run()
        if other.penalised() < fit.penalised() + MIN_GAIN:
            break
        fit = other
    fit_calibration.last = fit
    *shared, rate = fit.coefficients[:num + 1]
    cases = fit.coefficients[num + 1 :]
    intercepts = rate * rates + cases + fit.own.reshape(rates.shape) + np.log(fit.fraction)
    return Calibration(knots, np.array(shared), {name: tuple(row) for name, row in zip(names, intercepts.tolist())}, tuple(np.median(rate * rates + cases, axis=0)+ np.log(fit.fraction)))

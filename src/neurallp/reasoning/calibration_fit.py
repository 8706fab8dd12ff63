"""Fitting of a calibration: logistic regression on answers, of which only a part is labelled.

The sample has answers of two sorts. The unlabelled ones are those to be expected when a user asks: some are
true, but not known to be. The right ones are held-out facts, each as an answer while it is hidden. With p
the probability of an answer, and u unknown facts for each held-out one, right answers are p / u times as
frequent as unlabelled ones with the same evidence. So, with the fraction c = 1 / (1 + u),

    P(answer is right) = p / (p + u) = c * sigma(features @ coefficients + intercept of query and case),

and the log odds of p are those of the sigma plus log(1 - c). Where the surest answers level off, they are
all true, which shows how many facts are unknown: c is fitted too, with a prior that as many are unknown as
were held out.

The answers to a functional query exclude each other: their probabilities have a limit (see `calibration`),
whose sharpness is the one of greatest likelihood for each query.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..errors import DataError
from ..graph.arrays import Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import ask_both_ways
from .calibration import NUM_FREE, Calibration, compute_features, limits, sigmoid
from .calibration_sample import NUM_CASES, SHARPNESS, Sample

#: Knots of the piecewise linear function, at quantiles of the right answers.
NUM_KNOTS = 8

#: The standard deviation of what the log odds of a query and case differ by from those of all.
SPREAD = 1.0

#: The standard deviation of the log odds of the fraction of right answers among the true ones: it is a half
#: where as many facts are unknown as were held out.
FRACTION_SPREAD = 0.5

#: Steps by which the fraction is searched for, and its limits.
FRACTION_STEPS, MIN_FRACTION, MAX_FRACTION = (0.05, 0.02), 0.25, 0.75

#: A query is functional where a smaller fraction of the sources with an answer has several.
FUNCTIONAL = 0.05

#: Rounds of fitting end where the log likelihood gains less than this, or after so many.
TOLERANCE, MAX_ROUNDS = 0.1, 40

#: Steps for the queries' own after which a sharpness is chosen.
OWN_STEPS = 8


def fit_calibration(
    sample: Sample, kb: KnowledgeBase, num_held_out: int, *, complete: bool = False
) -> Calibration:
    """Return the calibration that fits a sample, drawn with the facts of `kb` known.

    With `complete`, no unlabelled answer is true; the probabilities are those that held if as many facts were
    unknown as were held out.
    """
    if not sample.right.any():
        raise DataError(
            f"None of the {num_held_out:,} held-out facts is among the best answers, so there is nothing to "
            "calibrate. Hold out more facts, or learn rules that predict some."
        )
    rates, functional = log_rates(kb, num_held_out), functional_queries(kb)
    knots = _place_knots(sample.evidence.odds[sample.right])
    fit = Fit.start(sample, rates, knots, 1.0 if complete else 0.5).run()
    fit = _with_limits(fit if complete else _with_best_fraction(fit), functional)
    names = list(map(kb.relations.operator_name, range(len(rates))))
    intercepts, others = fit.intercepts(rates)
    return Calibration(
        tuple(knots.tolist()),
        tuple(fit.shared.tolist()),
        dict(zip(names, map(tuple, intercepts.tolist()), strict=True)),
        tuple(others.tolist()),
        highest=float(np.log(2 * sample.right.sum() + 1)),  # of n answers, all right (Jeffreys' prior)
        functional={names[query]: SHARPNESS[fit.columns[query]] for query in functional.tolist()},
    )


def functional_queries(kb: KnowledgeBase) -> Ids:
    """Return the queries that sources have at most one answer to, but for exceptions (see `FUNCTIONAL`)."""
    queries, num = _answers_of_sources(kb)
    num_queries = 2 * len(kb.relations)
    having = np.bincount(queries, minlength=num_queries)
    several = np.bincount(queries[num > 1], minlength=num_queries)
    return np.flatnonzero((several + 0.5) / (having + 1.0) < FUNCTIONAL)


def _with_limits(fit: "Fit", functional: Ids) -> "Fit":
    """Return the fit in which functional queries have limits, of the sharpness of greatest likelihood.

    That is chosen while the coefficients stay, and then all is fitted.
    """
    if not len(functional):
        return fit
    part = fit.of(np.isin(fit.queries, functional))
    tried = [replace(part, columns=np.full_like(part.columns, column)) for column in range(len(SHARPNESS))]
    best = np.argmax([each.run_own().likelihoods() for each in tried], axis=0)
    has_limit = np.isin(np.arange(len(fit.columns)), functional)
    return replace(fit, columns=np.where(has_limit, best, -1)).run()


def _with_best_fraction(fit: "Fit") -> "Fit":
    """Return the fit with the fraction of greatest likelihood, found in smaller and smaller steps."""
    for step in FRACTION_STEPS:
        for change in (step, -step):
            while MIN_FRACTION <= fit.fraction + change <= MAX_FRACTION:
                other = replace(fit, fraction=fit.fraction + change).run()
                if other.objective() <= fit.objective():
                    break
                fit = other
    return fit


def log_rates(kb: KnowledgeBase, num_held_out: int) -> Floats:
    """Return the log of the expected number of unknown answers of a source, (query, case), counted on facts.

    Were facts held out at random, a source with k + 1 answers would be one with k known answers that has
    another. Half a fact is added to each count (Jeffreys' prior).
    """
    num_queries, last = 2 * len(kb.relations), NUM_CASES - 1
    queries, num = _answers_of_sources(kb)
    sources, lost = np.zeros((num_queries, NUM_CASES)), np.zeros((num_queries, NUM_CASES))
    np.add.at(sources, (queries, np.minimum(num, last)), 1)
    np.add.at(lost, (queries, np.minimum(num - 1, last)), num)
    sources[:, 0] = len(kb.entities) - sources.sum(axis=1)
    fraction = max(num_held_out, 1) / (num_held_out + len(kb.facts))
    return np.asarray(np.log(fraction * (lost + 0.5) / (sources + 1.0)))


def _answers_of_sources(kb: KnowledgeBase) -> tuple[Ids, Ids]:
    """Return for each source and query with answers the query, and how many answers there are."""
    num_queries = 2 * len(kb.relations)
    questions = ask_both_ways(kb.facts, len(kb.relations))
    pairs, num = np.unique(questions.sources * num_queries + questions.queries, return_counts=True)
    return pairs % num_queries, num


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
    fraction: float  # of right answers among the true ones; 1: no unlabelled answer is true
    prior: Floats  # (coefficient,) its mean
    coefficients: Floats
    own: Floats  # (group,) what a query and case differs by
    shares: Floats  # (answer, sharpness) log odds of the normalised score
    columns: Ids  # (query,) which shares are limits; -1: none

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
        own, columns = np.zeros(rates.size), np.full(len(rates), -1)
        labels = sample.right, sample.weights
        return cls(x, groups, *labels, fraction, prior, prior, own, evidence.shares, columns)

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
        common = self.coefficients[-NUM_CASES:] + self.coefficients[len(self.shared)] * rates + self.shift
        return common + self.own.reshape(rates.shape), np.median(common, axis=0)

    @property
    def shift(self) -> float:
        """What the log odds of a probability differ by from those of the sigma."""
        return float(np.log(1 - self.fraction)) if self.fraction < 1 else 0.0

    def log_odds(self) -> Floats:
        """Return the log odds of each answer, before any limit."""
        return np.asarray(self.x @ self.coefficients + self.own[self.groups])

    def objective(self) -> float:
        """Return the log likelihood, less the penalties."""
        penalty = (self.own**2).sum() / SPREAD**2 + ((self.coefficients - self.prior) ** 2).sum()
        if self.fraction < 1:
            penalty += (np.log(self.fraction / (1 - self.fraction)) / FRACTION_SPREAD) ** 2
        return float(self.derivatives[2].sum() - penalty / 2)

    def likelihoods(self) -> Floats:
        """Return the log likelihood of the answers to each query."""
        return np.bincount(self.queries, self.derivatives[2], len(self.columns)).astype(np.float64)

    @property
    def queries(self) -> Ids:
        """The query of each answer."""
        return self.groups // NUM_CASES

    @cached_property
    def derivatives(self) -> tuple[Floats, Floats, Floats]:
        """Of each answer the log likelihood's gradient by its log odds, expected curvature, and value."""
        log_odds, most = self.log_odds(), limits(self.shares, self.columns[self.queries]) - self.shift
        true = sigmoid(np.minimum(log_odds, most))
        held_out = self.fraction * true
        change = (log_odds < most) * (1 - true) / (1 - held_out)
        gradient = self.weights * change * (self.right - held_out)
        curvature = self.weights * change**2 * held_out * (1 - held_out)
        likelihood = np.where(self.right, np.log(held_out), np.log1p(-held_out))
        return gradient, curvature, self.weights * likelihood

    def run(self) -> "Fit":
        """Return the regression when it no longer improves."""
        fit, before = self, -np.inf
        for _ in range(MAX_ROUNDS):
            fit = fit.step_coefficients().step_own().step_own()
            if (value := fit.objective()) < before + TOLERANCE:
                break
            before = value
        return fit

    def of(self, rows: Flags) -> "Fit":
        """Return the regression on some of the answers."""
        names = ("x", "groups", "right", "weights", "shares")
        return replace(self, **{name: getattr(self, name)[rows] for name in names})

    def run_own(self) -> "Fit":
        """Return the regression after some steps for the queries' own, while the coefficients stay."""
        fit = self
        for _ in range(OWN_STEPS):
            fit = fit.step_own()
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

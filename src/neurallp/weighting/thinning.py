"""Fewer rules: those without which the fit is as good are dropped, and the rest is fitted anew.

The importance of a rule is by how much the loss would rise without it, summed over the questions learned
from. Of rules that predict the same each has little importance while the others are there, so at most half
are dropped at a time, and the others are fitted anew before they are judged again.
"""

from typing import TYPE_CHECKING

import numpy as np

from ..graph.arrays import Floats, Ids
from ..graph.questions import Questions

if TYPE_CHECKING:
    from .query_fit import QueryFit

#: Least rise of the loss without a rule, as a share of what all rules explain; validation chooses one.
LEVELS = (3e-4, 1e-3)

#: In nats, the least rise at any level: a weight that means nothing fits that much by chance.
NOISE = 0.3

#: The share of rules that is kept at least each time some are dropped.
MIN_KEPT = 0.5

#: The share of rules below which what is left to drop is not worth fitting anew for.
FEW = 0.1

#: Times that rules are dropped at one level, at most.
MAX_ROUNDS = 2

#: The share of passes with which weights are fitted anew.
EFFORT = 0.5


def thin(fit: "QueryFit", questions: Questions) -> list[Floats]:
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


def reduce_rules(fit: "QueryFit", questions: Questions, max_rules: int) -> None:
    """Leave at most `max_rules` rules, besides the dense one, with weights fitted anew."""
    left = used_rules(fit)
    while len(left) > max_rules:
        removal, _ = fit.removal_losses(questions)
        order = left[np.argsort(-removal[left], kind="stable")]
        left = _keep(fit, questions, order, max(max_rules, int(np.ceil(MIN_KEPT * len(left)))))


def used_rules(fit: "QueryFit") -> Ids:
    """Return the numbers of rules with a weight other than 0."""
    return np.flatnonzero(fit.values[:-1].reshape(fit.num_rules, 3 * fit.values.shape[1]).any(axis=1))


def _keep(fit: "QueryFit", questions: Questions, order: Ids, num: int) -> Ids:
    """Drop all but the first `num` rules of an order, and fit them anew; return those still used."""
    fit.drop(np.setdiff1d(np.arange(fit.num_rules), order[:num]))
    fit.learn(questions, EFFORT)
    return used_rules(fit)

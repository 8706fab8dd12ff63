from dataclasses import replace

import numpy as np
import pytest

from neurallp.config import WeightingConfig
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.fitting_kernels import batch_gradient
from neurallp.weighting.query_fit import Setting
from neurallp.weighting.thinning import LEVELS, reduce_rules, thin, used_rules

QUICK = WeightingConfig(max_length=2, num_candidates=20, num_pairs=40, min_steps=40, max_questions=100)


@pytest.fixture(scope="module")
def weighting(split):
    return Weighting(split, QUICK)


def learned(worker, query):
    [rules] = worker.candidates(query)
    fit = worker._start(query, rules, (Setting(1e-3),))
    questions = worker.learning_questions(query)
    fit.learn(questions)
    return fit, questions


def loss_of(fit, questions, values):
    """Return the loss on all questions, by the kernel that other tests compare to an oracle."""
    (examples,) = fit._training_examples(questions)
    every = np.arange(len(questions))
    gradients = fit._parameters(np.zeros_like(values))
    return len(every) * batch_gradient(
        examples, every, fit._parameters(values), fit.fitted, fit.dense, fit._buffer, gradients
    )


def test_the_importance_of_a_rule_is_the_rise_of_the_loss_without_it(weighting):
    with weighting._worker() as worker:
        for query in weighting.queries[:3]:
            fit, questions = learned(worker, query)
            removal, explained = fit.removal_losses(questions)
            loss = loss_of(fit, questions, fit.values)
            for rule in range(fit.num_rules):
                without = fit.values.copy()
                without[3 * rule : 3 * rule + 3] = 0.0
                assert removal[rule] == pytest.approx(loss_of(fit, questions, without) - loss, abs=1e-6)
            prior_alone = fit.values * (np.arange(len(fit.values)) == len(fit.values) - 1)[:, None]
            assert explained == pytest.approx(loss_of(fit, questions, prior_alone) - loss, rel=1e-6)


def test_each_level_has_fewer_rules_than_the_one_before(weighting):
    with weighting._worker() as worker:
        fit, questions = learned(worker, weighting.queries[0])
        levels = thin(fit, questions)
    counts = [int(values[:-1].reshape(fit.num_rules, 3).any(axis=1).sum()) for values in levels]
    assert len(levels) == len(LEVELS) + 1
    assert counts == sorted(counts, reverse=True)
    assert 0 < counts[-1] < counts[0]


def test_a_rule_that_was_dropped_stays_dropped(weighting):
    with weighting._worker() as worker:
        fit, questions = learned(worker, weighting.queries[0])
        reduce_rules(fit, questions, 3)
        assert len(used_rules(fit)) <= 3
        fit.learn(questions)
        assert len(used_rules(fit)) <= 3


def test_few_rules_that_are_fitted_anew_rank_better_than_the_same_weights_cut_off(split):
    few = replace(QUICK, max_rules=2)
    weighting = Weighting(split, few)
    with weighting._worker() as worker:
        anew, cut = [], []
        for query in weighting.queries:
            fit, questions = learned(worker, query)
            removal, _ = fit.removal_losses(questions)
            values = fit.values.copy()
            values[3 * np.argsort(-removal)[2:, None] + np.arange(3)] = 0.0
            cut.append(loss_of(fit, questions, values))
            reduce_rules(fit, questions, 2)
            anew.append(loss_of(fit, questions, fit.values))
    assert sum(anew) < 0.9 * sum(cut)

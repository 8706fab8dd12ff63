from dataclasses import replace

import numpy as np
import pytest
from rule_features import chain_rules

from neurallp.config import WeightingConfig
from neurallp.weighting.choice import (
    LEVELS,
    MAX_TOLERANCE,
    MIN_TOLERANCE,
    Choice,
    Trial,
    choose_level,
    choose_refined,
    choose_settings,
    reduce_rules,
    thin,
    used_rules,
)
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.fitting_kernels import Dropout, batch_gradient
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.query_fit import FitResult, Setting


def fitted(reciprocal_ranks, num_bodies=1, left_out=()):
    """Return weights under three penalties, then without each of some kinds; their value tells which."""
    settings = [Setting(penalty) for penalty in (0.1, 0.2, 0.3)]
    settings += [Setting(0.2, frozenset({kind})) for kind in left_out]
    ranks = np.array(reciprocal_ranks, dtype=float).reshape(-1, len(settings))
    weights = np.tile(np.arange(1.0, len(settings) + 1), (num_bodies, 3, 1))
    rules, ones = tuple(chain_rules((0,))) * num_bodies, np.ones(num_bodies)
    return FitResult(tuple(settings), rules, weights, ones, ranks, ones, ones)


def test_rules_are_taken_by_importance_for_what_they_predict_within_a_budget():
    rules = tuple(chain_rules((0,), (1,), (2,), (3,)))
    importance, predicted = np.array([3.0, 4.0, 0.0, 1.0]), np.array([99.0, 3.0, 1.0, 0.0])
    settings, weights = (Setting(0.0),), np.ones((4, 3, 1))
    fit = FitResult(settings, rules, weights, np.ones(4), np.ones((1, 1)), importance, predicted)
    assert fit.best_rules(102) == (rules[0], rules[1], rules[3])  # one without importance is none
    assert fit.best_rules(101) == (rules[1], rules[3])
    assert fit.best_rules(2) == (rules[3],)
    assert fit.best_rules(2, given={rules[0]}) == (rules[0], rules[3])
    assert fit.best_rules(102, left_out={"chain"}) == ()


def test_rules_that_predict_rarely_need_no_weight_and_do_not_count_towards_the_budget():
    rules = (*chain_rules((0,), (1,)), Candidate("unary", (0,), "anna"), Candidate("unary", (0,), "bob"))
    importance, predicted = np.array([3.0, 4.0, 0.0, 1.0]), np.array([99.0, 3.0, 50.0, 1.0])
    fit = FitResult(
        (Setting(0.0),), rules, np.ones((4, 3, 1)), np.ones(4), np.ones((1, 1)), importance, predicted
    )
    assert fit.kinds == {"chain", "unary"}
    assert fit.best_rules(3) == rules[1:]
    assert fit.best_rules(3, left_out={"unary"}) == rules[1:2]


def refined(reciprocal_ranks, left_out=("unary",)):
    """Return refined weights with all rules, and without those that predict rarely, by question."""
    settings = (Setting(0.2), Setting(0.2, frozenset(left_out)))[: len(reciprocal_ranks[0])]
    ranks, rules, one = np.array(reciprocal_ranks), tuple(chain_rules((0,))), np.ones(1)
    return FitResult(settings, rules, np.ones((1, 3, len(settings))), one, ranks, one, one)


def decide(fits):
    """Return the columns and the kinds left out of refined fits, after a first fit without `near`."""
    first = Choice(fitted([]), 1, 0.2, frozenset({"near"}))
    chosen = choose_refined(dict.fromkeys(range(len(fits)), first), dict(enumerate(fits)))
    return [(each.column, sorted(each.left_out - {"near"})) for each in chosen.values()]


def test_rules_that_predict_rarely_are_left_out_where_refined_fits_validate_no_better_with_them():
    useful, useless = refined([[0.9, 0.5]] * 200), refined([[0.1, 0.6]] * 100)
    few, absent = refined([[0.4, 0.5]] * 3), refined([[0.3]] * 50)
    assert decide([useful, useless, few, absent]) == [(0, []), (1, ["unary"]), (0, []), (0, [])]
    noisy = refined([[0.5, 0.0], [0.5, 0.98]] * 10)  # a gain of .01, with a standard error of .11
    assert decide([noisy]) == [(1, ["unary"])]


def test_what_one_query_gains_is_no_reason_for_rules_that_name_entities_where_all_together_gain_nothing():
    lucky = refined([[0.9, 0.5]] * 5 + [[0.5, 0.5]] * 5)
    others = refined([[0.5, 0.6], [0.6, 0.5]] * 100)  # together a gain of .010, with a standard error of .008
    assert decide([lucky, others]) == [(1, ["unary"]), (1, ["unary"])]
    assert decide([lucky]) == [(0, [])]


def test_without_validation_rules_that_predict_rarely_are_used():
    fit = refined([[0.5, 0.5]])
    assert decide([replace(fit, reciprocal_ranks=fit.reciprocal_ranks[:0])]) == [(0, [])]


def choose(pilots):
    """Return the rules and weights of each query under its choice."""
    return {query: each.weighted for query, each in choose_settings(pilots).items()}


def test_a_penalty_is_chosen_on_validation_by_a_query_that_has_enough_and_else_in_common():
    many, few = [[0, 0, 1]] * 200, [[1, 0, 0]] * 20
    chosen = choose({0: [fitted(many)], 1: [fitted(few)], 2: [fitted([])]})
    assert [chosen[query].weights[0, 0] for query in (0, 1, 2)] == [3, 3, 3]
    chosen = choose({0: [fitted(many)], 1: [fitted([[1, 0, 0]] * 100)]})
    assert [chosen[query].weights[0, 0] for query in (0, 1)] == [3, 1]
    assert choose({0: [fitted([])]})[0].weights[0, 0] == 2


def test_of_several_lengths_each_query_keeps_what_validates_best():
    worse, better = [[0.5, 0.6, 0.5]] * 100, [[0.5, 0.5, 0.7]] * 100
    chosen = choose(
        {0: [fitted(worse), fitted(better, 2)], 1: [fitted(better), fitted(worse, 2)], 2: [fitted([])] * 2}
    )
    found = [(len(chosen[query]), chosen[query].weights[0, 0]) for query in (0, 1, 2)]
    assert found == [(2, 3), (1, 3), (1, 3)]


def test_a_kind_is_left_out_by_a_query_that_validates_no_better_with_it():
    useful, useless = [[0, 0.9, 0.8, 0.1]] * 200, [[0, 0.1, 0.2, 0.9]] * 100
    same, few = [[0, 0.5, 0.5, 0.5]] * 200, [[0, 0.1, 0.2, 0.9]] * 3
    pilots = [fitted(each, 1, ["against"]) for each in (useful, useless, same, few)]
    chosen = choose_settings({query: [fit] for query, fit in enumerate(pilots)})
    assert [bool(chosen[query].left_out) for query in range(4)] == [False, True, False, False]
    assert [chosen[query].column for query in range(2)] == [1, 3]
    assert chosen[1].left_out == {"against"}


def test_a_kind_must_gain_more_than_its_standard_error():
    noisy = [[0, 0.5, 0, 0], [0, 0.5, 0, 0.98]] * 10  # a gain of .01, with a standard error of .11
    clear = [[0, 0.5, 0, 0.49]] * 20
    for ranks, is_left_out in ((noisy, True), (clear, False)):
        choice = choose_settings({0: [fitted(ranks, 1, ["unary"])]})[0]
        assert bool(choice.left_out) == is_left_out


def test_without_validation_every_kind_is_used():
    choice = choose_settings({0: [fitted([], 1, ["near", "unary"])]})[0]
    assert (choice.penalty, choice.left_out, choice.column) == (0.2, frozenset(), 1)


def test_several_kinds_may_be_left_out_and_the_first_weights_are_those_without_the_worst():
    ranks = [[0, 0.5, 0.4, 0.6, 0.9, 0.1]] * 100
    choice = choose_settings({0: [fitted(ranks, 1, ["near", "unary", "against"])]})[0]
    assert (choice.left_out, choice.column) == ({"near", "unary"}, 4)


def test_the_fewest_rules_are_kept_that_validate_nearly_as_well_as_the_best():
    ranks = np.array([[0.5, 0.6, 0.6 - 0.9 * MIN_TOLERANCE, 0.6 - 1.1 * MIN_TOLERANCE]])
    assert choose_level([ranks]) == 2
    assert choose_level([]) == choose_level([np.zeros((0, 4))]) == 0


def test_a_loss_that_may_be_chance_is_tolerated_up_to_a_bound():
    best = np.tile([0.5, 0.6], 50)
    loss = 0.9 * MAX_TOLERANCE
    noisy = best - loss + 0.1 * np.tile([1, 1, -1, -1], 25)  # its standard error is .01
    assert choose_level([np.stack([best, noisy], axis=1)]) == 1
    assert choose_level([np.stack([best, best - loss], axis=1)]) == 0
    assert choose_level([np.stack([best, noisy - loss], axis=1)]) == 0


def test_a_trial_pools_the_ranks_of_its_queries_and_adds_up_their_entries():
    trial = Trial({0: np.array([1.0, 0.5]), 1: np.zeros(0)}, {0: 10.0, 1: 2.0}, {0: 3, 1: 4})
    assert (trial.mrr, trial.num_entries, trial.max_bytes) == (0.75, 38.0, 12 * 30.0)
    assert Trial({}, {}, {}).mrr == 0


# Thinning

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
        examples,
        every,
        fit._parameters(values),
        fit.fitted,
        fit.dense,
        Dropout(0.0, 0),
        fit._buffer,
        gradients,
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

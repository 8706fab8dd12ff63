import math
from functools import partial

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import finite_differences

from neurallp.neural.objective import log_score, normalized_likelihood

positive = st.floats(1e-6, 10)
pairs = st.lists(st.tuples(positive, st.floats(0, 10)), min_size=1, max_size=6)
few = settings(max_examples=30, deadline=None)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64)


@few
@given(answers=st.lists(positive, min_size=1, max_size=6))
def test_log_score_is_the_mean_of_minus_the_logarithm(answers):
    expected = -sum(map(math.log, answers)) / len(answers)
    assert log_score(tensor(answers))[0].item() == pytest.approx(expected)


@few
@given(pairs=pairs)
def test_normalized_likelihood_is_the_mean_of_minus_the_logarithm_of_the_normalised_score(pairs):
    answers, negatives = zip(*pairs, strict=True)
    expected = -sum(math.log(answer / (answer + negative)) for answer, negative in pairs) / len(pairs)
    assert normalized_likelihood(tensor(answers), tensor(negatives))[0].item() == pytest.approx(
        expected, abs=1e-12
    )


@few
@given(pairs=st.lists(st.tuples(st.floats(0.1, 10), st.floats(0.1, 10)), min_size=1, max_size=6))
def test_gradients_equal_finite_differences_of_the_loss(pairs):
    answers, negatives = (tensor(each) for each in zip(*pairs, strict=True))
    for objective, scores in ((log_score, [answers]), (normalized_likelihood, [answers, negatives])):
        _, *gradients = objective(*scores)
        for each, gradient in zip(scores, gradients, strict=True):
            expected = finite_differences(partial(loss_of, objective, scores), each)
            torch.testing.assert_close(gradient, expected, rtol=1e-5, atol=1e-8)


def loss_of(objective, scores):
    return objective(*scores)[0]


def test_an_unreachable_answer_adds_to_the_log_score_but_has_no_gradient():
    loss, grad_answers = log_score(tensor([0.0, 0.5]))
    assert loss.item() == pytest.approx(-(math.log(1e-20) + math.log(0.5)) / 2)
    assert grad_answers.tolist() == [0, -1]


@pytest.mark.parametrize("negatives", [0.0, 0.3])
def test_an_unreachable_answer_is_left_out_of_the_normalized_likelihood(negatives):
    loss, grad_answers, grad_negatives = normalized_likelihood(tensor([0.0, 0.5]), tensor([negatives, 0.5]))
    assert loss.item() == pytest.approx(math.log(2))
    assert grad_answers.tolist() == pytest.approx([0, -1])
    assert grad_negatives.tolist() == pytest.approx([0, 1])


def test_a_batch_without_a_reachable_answer_has_loss_0_and_no_gradient():
    loss, grad_answers, grad_negatives = normalized_likelihood(tensor([0.0, 0.0]), tensor([0.0, 0.3]))
    assert loss.item() == 0
    assert grad_answers.tolist() == grad_negatives.tolist() == [0, 0]

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.objective import log_score, share

positive = st.floats(1e-6, 10)
pairs = st.lists(st.tuples(positive, st.floats(0, 10)), min_size=1, max_size=6)
few = settings(max_examples=30, deadline=None)


def tensor(values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@few
@given(answers=st.lists(positive, min_size=1, max_size=6))
def test_log_score_is_the_mean_of_minus_the_logarithm(answers):
    expected = -sum(map(math.log, answers)) / len(answers)
    assert log_score(tensor(answers)).item() == pytest.approx(expected)


@few
@given(pairs=pairs)
def test_share_is_the_mean_of_minus_the_logarithm_of_the_answer_s_part_of_the_whole(pairs):
    answers, rivals = zip(*pairs, strict=True)
    expected = -sum(math.log(answer / (answer + rival)) for answer, rival in pairs) / len(pairs)
    assert share(tensor(answers), tensor(rivals)).item() == pytest.approx(expected, abs=1e-12)


def test_an_unreachable_answer_costs_but_does_not_teach_the_log_score():
    answers = tensor([0.0, 0.5])
    loss = log_score(answers)
    loss.backward()
    assert loss.item() == pytest.approx(-(math.log(1e-20) + math.log(0.5)) / 2)
    assert answers.grad.tolist() == [0, -1]


@pytest.mark.parametrize("rivals", [0.0, 0.3])
def test_an_unreachable_answer_is_left_out_of_the_share(rivals):
    answers, others = tensor([0.0, 0.5]), tensor([rivals, 0.5])
    loss = share(answers, others)
    loss.backward()
    assert loss.item() == pytest.approx(math.log(2))
    assert answers.grad.tolist() == pytest.approx([0, -1])
    assert others.grad.tolist() == pytest.approx([0, 1])


def test_a_batch_without_a_reachable_answer_has_no_share_to_learn_from():
    answers, rivals = tensor([0.0, 0.0]), tensor([0.0, 0.3])
    loss = share(answers, rivals)
    loss.backward()
    assert loss.item() == 0
    assert answers.grad.tolist() == rivals.grad.tolist() == [0, 0]

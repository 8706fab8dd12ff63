import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.qa.evaluation import THRESHOLDS, QuestionMeasures, QuestionResult, QuestionResults


def result(scores, right, num_right=None):
    flags = np.array(right, dtype=bool)
    return QuestionResult.of(
        np.array(scores, dtype=float), flags, sum(right) if num_right is None else num_right
    )


def test_all_right_answers_above_all_wrong_ones_is_right():
    found = result([3, 2, 1], [1, 1, 0])
    assert found.accuracy == found.hits_at_1 == (1, 1, 1)


def test_a_wrong_answer_above_a_right_one_is_wrong_though_the_first_is_right():
    found = result([3, 2, 1], [1, 0, 1])
    assert found.accuracy == (0, 0, 0)
    assert found.hits_at_1 == (1, 1, 1)


def test_a_tie_counts_in_the_mean_over_its_orders_with_its_bounds_beside_it():
    found = result([2, 2, 2], [1, 0, 1])
    assert found.accuracy == (pytest.approx(1 / 3), 1, 0)
    assert found.hits_at_1 == (pytest.approx(2 / 3), 1, 0)


def test_a_right_answer_that_is_not_reached_is_not_found():
    assert result([1.0], [1], num_right=2).accuracy == (0, 0, 0)


def test_who_says_nothing_gains_nothing():
    assert result([], []) == QuestionResult()


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1), st.integers(0, 2))
def test_f1_is_that_of_the_set_above_the_threshold(pairs, missing):
    scores, right = (np.array(each) for each in zip(*pairs, strict=True))
    num_right = int(right.sum()) + missing
    found = QuestionResult.of(scores.astype(float), right, num_right)
    for threshold, f1 in zip(THRESHOLDS, found.f1, strict=True):
        chosen = scores >= threshold * scores.max()
        both = (chosen & right).sum()
        assert f1 == pytest.approx(2 * both / (chosen.sum() + num_right) if both else 0)


def test_the_threshold_is_the_largest_of_the_best():
    # One strong right answer and a weak wrong one: any threshold above the wrong one's share is best.
    assert QuestionResults.of([result([1.0, 0.1], [1, 0])]).best_threshold() == 1.0
    assert QuestionResults.of([result([1.0, 0.5, 0.1], [1, 1, 0])]).best_threshold() <= 0.5


def test_measures_of_no_question_are_0():
    assert QuestionMeasures.of(QuestionResults.of([]), 1.0).as_dict()["accuracy"] == 0

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.qa import evaluation
from neurallp.qa.evaluation import (
    THRESHOLDS,
    QuestionMeasures,
    QuestionResult,
    QuestionResults,
    evaluate_questions,
)
from neurallp.qa.examples import make_examples


def result(scores, right, num_right=None):
    flags = np.array(right, dtype=bool)
    return QuestionResult.of(
        np.array(scores, dtype=float), flags, sum(right) if num_right is None else num_right
    )


def test_accuracy_is_1_where_all_right_answers_score_above_all_wrong_ones():
    found = result([3, 2, 1], [1, 1, 0])
    assert found.accuracy == found.hits_at_1 == (1, 1, 1)


def test_accuracy_is_0_where_a_wrong_answer_scores_above_a_right_one():
    found = result([3, 2, 1], [1, 0, 1])
    assert found.accuracy == (0, 0, 0)
    assert found.hits_at_1 == (1, 1, 1)


def test_a_tie_counts_as_the_mean_over_all_orders_and_has_bounds():
    found = result([2, 2, 2], [1, 0, 1])
    assert found.accuracy == (pytest.approx(1 / 3), 1, 0)
    assert found.hits_at_1 == (pytest.approx(2 / 3), 1, 0)


def test_accuracy_is_0_where_a_right_answer_scores_0():
    assert result([1.0], [1], num_right=2).accuracy == (0, 0, 0)


def test_a_question_without_scores_has_measures_of_0():
    assert result([], []) == QuestionResult()


@given(st.lists(st.tuples(st.integers(1, 4), st.booleans()), min_size=1), st.integers(0, 2))
def test_f1_is_that_of_the_answers_above_each_threshold(pairs, missing):
    scores, right = (np.array(each) for each in zip(*pairs, strict=True))
    num_right = int(right.sum()) + missing
    found = QuestionResult.of(scores.astype(float), right, num_right)
    for threshold, f1 in zip(THRESHOLDS, found.f1, strict=True):
        chosen = scores >= threshold * scores.max()
        both = (chosen & right).sum()
        assert f1 == pytest.approx(2 * both / (chosen.sum() + num_right) if both else 0)


def test_the_best_threshold_is_the_largest_one_with_the_best_f1():
    # One strong right answer and a weak wrong one: any threshold above the wrong one's share is best.
    assert QuestionResults.of([result([1.0, 0.1], [1, 0])]).best_threshold() == 1.0
    assert QuestionResults.of([result([1.0, 0.5, 0.1], [1, 1, 0])]).best_threshold() <= 0.5


def test_measures_without_questions_are_0():
    assert QuestionMeasures.of(QuestionResults.of([]), 1.0).as_dict()["accuracy"] == 0


def all_orders(values, right):
    """Return accuracy and Hits@1 of each order of the answers that their scores allow."""
    order = permutations(range(len(values)))
    allowed = [each for each in order if list(values[list(each)]) == sorted(values, reverse=True)]
    flags = [right[list(each)] for each in allowed]
    return [(bool(each[: each.sum()].all()), bool(each[0])) for each in flags]


@given(st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=5))
def test_accuracy_and_hits_at_1_are_the_mean_and_the_extremes_over_all_orders_of_ties(pairs):
    values, right = (np.array(each) for each in zip(*pairs, strict=True))
    found = QuestionResult.of(values.astype(float), right, int(right.sum()))
    if not right.any():
        assert found == QuestionResult()
        return
    for measured, column in ((found.accuracy, 0), (found.hits_at_1, 1)):
        outcomes = [each[column] for each in all_orders(values, right)]
        assert measured == pytest.approx((np.mean(outcomes), float(max(outcomes)), float(min(outcomes))))


def test_measures_are_the_means_of_the_rows_selected():
    results = QuestionResults.of([result([2, 1], [1, 0]), result([2, 1], [0, 1]), QuestionResult()])
    found = QuestionMeasures.of(results, 1.0)
    assert found.as_dict() == {
        "accuracy": pytest.approx(1 / 3),
        "hits@1": pytest.approx(1 / 3),
        "f1": pytest.approx(1 / 3),
        "questions": 3,
        "optimistic": {"accuracy": pytest.approx(1 / 3), "hits@1": pytest.approx(1 / 3)},
        "pessimistic": {"accuracy": pytest.approx(1 / 3), "hits@1": pytest.approx(1 / 3)},
    }
    assert QuestionMeasures.of(results[np.array([True, False, False])], 1.0).accuracy == 1


def test_results_do_not_depend_on_how_many_questions_are_scored_at_a_time(cinema, monkeypatch):
    reasoner = cinema.program.reasoner()
    examples, failed = make_examples(cinema.test[:30], reasoner.parser.interpreter)
    whole = evaluate_questions(cinema.program.model, reasoner.engine, examples, len(failed) + 2)
    monkeypatch.setattr(evaluation, "QUESTIONS_AT_ONCE", 7)
    parts = evaluate_questions(cinema.program.model, reasoner.engine, examples, len(failed) + 2)
    np.testing.assert_allclose(whole.f1, parts.f1)
    np.testing.assert_allclose(whole.accuracy, parts.accuracy)
    assert len(whole) == 32
    assert whole.accuracy[-2:].sum() == 0  # questions without an entity count as wrong

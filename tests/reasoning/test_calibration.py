from dataclasses import replace

import numpy as np
import pytest

from neurallp.graph.vocabulary import Relations
from neurallp.reasoning.calibration import NUM_FREE, Calibration, compute_features, ramps, sigmoid
from neurallp.reasoning.calibration_sample import SHARPNESS, Evidence, Row

KNOTS = (-4.0, -1.0, 2.0)


def random_calibration(seed):
    rng = np.random.default_rng(seed)
    coefficients = np.concatenate([rng.exponential(1, 5), rng.normal(0, 2, NUM_FREE)])
    intercepts = {name: tuple(rng.normal(0, 3, 3)) for name in ("father", "~father")}
    return Calibration(KNOTS, tuple(coefficients), intercepts, (0.0, -1.0, -2.0))


def one_question(odds, query=0, num_known=0, unknown=0.0, domain=0.0):
    columns = (np.full(len(odds), value) for value in (query, num_known))
    shares = np.asarray(odds, dtype=float)[:, None] * SHARPNESS
    return Evidence(*columns, shares, np.full(len(odds), unknown), np.full(len(odds), domain))


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("num_known", [0, 1, 5])
def test_within_a_question_a_greater_score_never_has_a_smaller_probability(seed, num_known):
    odds = np.linspace(-30, 30, 500)
    evidence = one_question(odds, seed % 2, num_known, unknown=-3.0 if num_known else 0.0, domain=1.0)
    said = random_calibration(seed).probabilities(evidence, Relations(["father"]))
    assert (np.diff(said) >= 0).all()


def test_no_probability_is_0_or_1():
    calibration = Calibration(KNOTS, (99.0,) * 5 + (0.0,) * NUM_FREE, {}, (0.0, 0.0, 0.0))
    said = calibration.probabilities(one_question([-1e9, 1e9]), Relations(["r"]))
    assert 0 < said[0] < 1e-5
    assert 1 - 1e-5 < said[1] < 1
    assert (sigmoid(np.array([-np.inf, np.inf])) % 1 > 0).all()


def test_queries_are_told_apart_by_name_and_unknown_ones_have_the_common_intercept():
    calibration = Calibration(
        KNOTS, (0.0,) * 5 + (0.0,) * NUM_FREE, {"b": (1.0, 2.0, 3.0)}, (-1.0, -2.0, -3.0)
    )
    relations = Relations(["a", "b"])
    for query, expected in ((1, (1.0, 2.0, 3.0)), (0, (-1.0, -2.0, -3.0)), (3, (-1.0, -2.0, -3.0))):
        for num_known, intercept in ((0, expected[0]), (1, expected[1]), (2, expected[2]), (9, expected[2])):
            said = calibration.probabilities(one_question([0.0], query, num_known), relations)
            assert said == pytest.approx(1 / (1 + np.exp(-intercept)))


def test_pieces_add_up_to_the_value_beyond_the_first_knot():
    values = np.linspace(-9, 9, 50)
    assert ramps(values, np.array(KNOTS)).sum(axis=1) == pytest.approx(values - KNOTS[0])


def test_features_of_known_answers_are_apart_and_the_last_are_equal_within_a_question():
    found = compute_features(one_question([0.5, 1.5], num_known=1, unknown=-2.0), np.array(KNOTS))
    assert found[:, :2].tolist() == [[0, 0], [0, 0]]
    assert found[:, 2:4].sum(axis=1) == pytest.approx([4.5, 5.5])
    assert found[:, -NUM_FREE:].tolist() == [[-2, 0], [-2, 0]]


@pytest.mark.parametrize("sharpness", SHARPNESS)
@pytest.mark.parametrize("seed", range(10))
def test_answers_that_exclude_each_other_are_together_no_likelier_than_one(seed, sharpness):
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, 3, 40)
    known = rng.choice(40, seed % 3, replace=False)
    row = Row(np.arange(40), scores, 50, bool(seed % 2))
    others = np.setdiff1d(np.arange(40), known)
    evidence = row.evidence(0, scores[others], known, domain=9.0)
    free = Calibration(KNOTS, (1.0,) * 5 + (0.0,) * NUM_FREE, {}, (9.0, 9.0, 9.0))
    limited = replace(free, functional={"father": sharpness})
    relations = Relations(["father"])
    assert free.probabilities(evidence, relations).sum() > 2
    said = limited.probabilities(evidence, relations)
    assert said.sum() <= 1 + 1e-4  # a log odds of -14 is the least
    assert (np.diff(said[np.argsort(scores[others])]) >= 0).all()


def test_each_answer_has_the_intercept_and_the_limit_of_its_own_query():
    coefficients = (0.0,) * 5 + (0.0,) * NUM_FREE
    intercepts = {"a": (1.0, 1.0, 1.0), "b": (2.0, 2.0, 2.0), "~a": (3.0, 3.0, 3.0)}
    calibration = Calibration(
        KNOTS, coefficients, intercepts, (0.0, 0.0, 0.0), functional={"b": 1.0, "~a": 2.0}
    )
    shares = np.array([[-1.0, -2.0, -4.0]] * 4)
    evidence = Evidence(np.array([2, 0, 1, 0]), np.zeros(4, dtype=int), shares, np.zeros(4), np.zeros(4))
    assert calibration.log_odds(evidence, Relations(["a", "b"])).tolist() == [-2.0, 1.0, -1.0, 1.0]


def test_without_known_answers_the_first_features_and_the_domain_count():
    found = compute_features(one_question([0.5], domain=7.0), np.array(KNOTS))
    assert found.tolist() == [[3.0, 1.5, 0.0, 0.0, 7.0, 0.0, 0.0]]


def test_every_piece_lies_between_its_knots():
    knots = np.array([0.0, 1.0, 3.0, 6.0])
    assert ramps(np.array([-2.0, 2.0, 5.0, 9.0]), knots).tolist() == [
        [-2.0, 0.0, 0.0],
        [1.0, 1.0, 0.0],
        [1.0, 2.0, 2.0],
        [1.0, 2.0, 6.0],
    ]

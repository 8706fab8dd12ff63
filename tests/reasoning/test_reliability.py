import numpy as np
import pytest

from neurallp.graph.vocabulary import Relations
from neurallp.reasoning.calibration import NUM_FREE, Calibration
from neurallp.reasoning.calibration_sample import Evidence, Sample
from neurallp.reasoning.reliability import Reliability, measure_reliability


def test_reliability_is_counted_bin_by_bin():
    found = Reliability.of(np.array([0.1, 0.15, 0.85, 1.0]), np.array([False, True, True, True]))
    assert found.counts.tolist() == [2, 1, 1]
    assert found.predicted == pytest.approx([0.125, 0.85, 1.0])
    assert found.observed == pytest.approx([0.5, 1.0, 1.0])
    assert found.ece == pytest.approx((2 * 0.375 + 0.15 + 0) / 4)
    assert found.brier == pytest.approx((0.01 + 0.85**2 + 0.15**2) / 4)
    assert found.num_right == 3


def test_an_answer_that_stands_for_many_counts_as_many():
    said, right, weights = np.array([0.2, 0.4, 0.45]), np.array([True, False, True]), np.array([1, 3, 2])
    weighted = Reliability.of(said, right, weights)
    repeated = Reliability.of(np.repeat(said, weights), np.repeat(right, weights))
    assert weighted.ece == pytest.approx(repeated.ece)
    assert weighted.brier == pytest.approx(repeated.brier)


def test_the_error_by_chance_is_that_of_true_probabilities():
    rng = np.random.default_rng(0)
    said, weights = rng.random(400), rng.integers(1, 5, 400)
    drawn = [Reliability.of(said, rng.random(400) < said, weights) for _ in range(300)]
    assert drawn[0].chance == pytest.approx(np.mean([each.ece for each in drawn]), rel=0.05)


def test_nothing_to_measure_has_no_error():
    assert Reliability.of(np.zeros(0), np.zeros(0, dtype=bool)).ece == 0


def test_sources_with_and_without_known_answers_are_measured_apart():
    evidence = Evidence(
        np.zeros(3, dtype=int), np.array([0, 0, 2]), np.zeros((3, 3)), np.zeros(3), np.zeros(3)
    )
    right = np.array([True, False, True])
    sample = Sample(evidence, right, np.ones(3), np.array([0, 1, 0]), np.array([True, True, False]))
    calibration = Calibration((0.0, 1.0), (0.0,) * 3 + (0.0,) * NUM_FREE, {}, (0.0, 0.0, -9.0))
    found = measure_reliability(sample, calibration, Relations(["r"]))
    without, with_known = found["no known answer"], found["known answers"]
    assert without["shown"].counts.sum() == without["test questions"].counts.sum() == 2
    assert without["best"].counts.sum() == 1
    assert without["likely"].counts.sum() == 2  # .5 each
    assert without["shown"].ece == pytest.approx(0)
    assert with_known["shown"].counts.sum() == 1
    assert with_known["likely"].counts.sum() == with_known["test questions"].counts.sum() == 0

from collections import Counter
from dataclasses import replace
from math import log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.errors import DataError
from neurallp.reasoning.calibration import NUM_FREE, compute_features
from neurallp.reasoning.calibration_fit import SPREAD, Fit, fit_calibration, functional_queries, log_rates
from neurallp.reasoning.calibration_sample import NUM_CASES, SHARPNESS, Evidence, Row, Sample
from neurallp.reasoning.reliability import Reliability

FAMILY = KnowledgeBase.from_triples(
    [("a", "father", "x"), ("b", "father", "x"), ("a", "film", "m"), ("a", "film", "n"), ("b", "film", "m")]
)


def invented(num=6000, seed=0, fraction=1.0, sharpness=1.0):
    """Return answers that are true with sigma(odds), less 3 where an answer is known, and partly held out."""
    rng = np.random.default_rng(seed)
    odds = rng.normal(-1.0, 2.0, num)
    num_known = rng.integers(0, 3, num)
    true = rng.random(num) < 1 / (1 + np.exp(-(odds - 3.0 * (num_known > 0))))
    shares = np.repeat(sharpness * odds[:, None], len(SHARPNESS), axis=1)
    evidence = Evidence(rng.integers(0, 4, num), num_known, shares, np.zeros(num), np.zeros(num))
    right = true & (rng.random(num) < fraction)
    sample = Sample(evidence, right, np.ones(num), np.zeros(num, dtype=int), right)
    return sample, true


def fresh_error(calibration, fraction=1.0):
    """Return the calibration error on fresh answers that are not held out, so that they are still unknown."""
    sample, true = invented(seed=1, fraction=1 - fraction)
    known = sample.right
    said = calibration.probabilities(sample.evidence, FAMILY.relations)
    return Reliability.of(said[~known], true[~known]).ece


@pytest.mark.parametrize("sharpness", [1.0, 0.3, 3.0])
def test_probabilities_are_right_whatever_the_scale_of_the_scores(sharpness):
    sample, _ = invented(sharpness=sharpness)
    calibration = fit_calibration(sample, FAMILY, 5, complete=True)
    fresh, true = invented(seed=1, sharpness=sharpness)
    said = calibration.probabilities(fresh.evidence, FAMILY.relations)
    assert Reliability.of(said, true).ece < 0.02
    with_known = fresh.evidence.num_known > 0
    for part in (with_known, ~with_known):
        assert Reliability.of(said[part], true[part]).ece < 0.03


@pytest.mark.parametrize("fraction", [0.4, 0.5])
def test_facts_that_are_neither_known_nor_held_out_do_not_count_as_wrong(fraction):
    """A part of what is true is held out. Once that is known, the rest is as likely as is said."""
    sample, _ = invented(num=20_000, fraction=fraction)
    error = fresh_error(fit_calibration(sample, FAMILY, 5), fraction)
    assert error < 0.02
    assert fresh_error(fit_calibration(sample, FAMILY, 5, complete=True), fraction) > 1.5 * error


def test_the_gradient_is_that_of_the_objective():
    sample, _ = invented(num=300, fraction=0.5)
    start = Fit.start(sample, log_rates(FAMILY, 2), np.array([-2.0, 0.0, 2.0]), 0.6)
    rng = np.random.default_rng(0)
    fit = replace(start, coefficients=start.coefficients + rng.random(len(start.coefficients)))
    fit = replace(fit, own=rng.normal(size=len(fit.own)))
    gradient = fit.derivatives[0]
    slopes = fit.x.T @ gradient - (fit.coefficients - fit.prior)
    own = np.bincount(fit.groups, gradient, len(fit.own)) - fit.own / SPREAD**2
    step = 1e-5
    for name, expected in (("coefficients", slopes), ("own", own)):
        for i in range(len(expected)):
            moved = [getattr(fit, name).copy() for _ in range(2)]
            moved[0][i] += step
            moved[1][i] -= step
            up, down = (replace(fit, **{name: values}).objective() for values in moved)
            assert (up - down) / (2 * step) == pytest.approx(expected[i], abs=1e-3)


def test_coefficients_that_make_probabilities_rise_are_never_negative():
    sample, _ = invented()
    against = replace(sample, evidence=replace(sample.evidence, shares=-sample.evidence.shares))
    calibration = fit_calibration(against, FAMILY, 5, complete=True)
    assert min(calibration.coefficients[:-NUM_FREE]) >= 0


def test_a_query_that_differs_has_an_intercept_of_its_own():
    sample, _ = invented()
    lucky = sample.evidence.queries == 2
    changed = replace(sample, right=sample.right | (lucky & (sample.evidence.odds > -2)))
    calibration = fit_calibration(changed, FAMILY, 5, complete=True)
    names = [FAMILY.relations.operator_name(query) for query in range(4)]
    assert set(calibration.intercepts) == set(names)
    others = [calibration.intercepts[name][0] for name in names if name != names[2]]
    assert calibration.intercepts[names[2]][0] > max(others) + 1


def test_rates_count_who_would_have_another_answer_were_a_fact_hidden():
    found = np.exp(log_rates(FAMILY, 5))
    triples = list(FAMILY.named_facts())
    for query in range(4):
        name = FAMILY.relations.operator_name(query)
        asked = [(t, h) if name.startswith("~") else (h, t) for h, r, t in triples if r == name.lstrip("~")]
        counts = Counter(source for source, _ in asked)
        for case in range(NUM_CASES):
            last = case == NUM_CASES - 1
            having = [n for e in FAMILY.entities for n in [counts[e]] if (n >= case if last else n == case)]
            lost = sum(n for n in counts.values() if (n - 1 >= case if last else n - 1 == case))
            expected = 0.5 * (lost + 0.5) / (len(having) + 1)
            assert log(found[query, case]) == pytest.approx(log(expected))


def test_without_a_right_answer_the_error_says_what_to_do():
    sample, _ = invented(num=50)
    none = replace(sample, right=np.zeros(50, dtype=bool))
    with pytest.raises(DataError, match="Hold out more facts"):
        fit_calibration(none, FAMILY, 7)


def test_a_few_right_answers_are_no_evidence_for_near_certainty():
    sample, _ = invented(num=400)
    sure = replace(sample, right=sample.evidence.odds > 1)
    said = fit_calibration(sure, FAMILY, 5, complete=True).probabilities(sample.evidence, FAMILY.relations)
    num = sure.right.sum()
    assert said.max() == pytest.approx(1 - 0.5 / (num + 1))


def test_one_right_answer_is_enough_to_fit():
    sample, _ = invented(num=50)
    one = replace(sample, right=np.arange(50) == np.argmax(sample.evidence.odds))
    said = fit_calibration(one, FAMILY, 1).probabilities(sample.evidence, FAMILY.relations)
    assert ((said > 0) & (said < 1)).all()
    assert compute_features(sample.evidence, np.array([0.0, 1.0])).shape == (50, 2 + 1 + NUM_FREE)


# Answers that exclude each other


def patients(num, seed, sharpness=1.0):
    """Return questions for one of 6 diagnoses, with scores from which it is drawn once they are sharpened."""
    rng = np.random.default_rng(seed)
    for _ in range(num):
        scores = rng.normal(0.0, 1.0, 6)
        chances = np.exp(sharpness * scores)
        yield scores, int(rng.choice(6, p=chances / chances.sum()))


def sample_of(questions, held_out):
    """Return the answers to questions; those that are held out are right, and the others unlabelled."""
    parts = []
    for scores, true in questions:
        evidence = Row(np.arange(6), scores, 6, True).evidence(0, scores, np.zeros(0, dtype=int), 3.0)
        right = np.arange(6) == true
        rows = right if held_out else np.ones(6, dtype=bool)
        counts = np.ones(6), np.arange(6), np.full(6, held_out)
        parts.append(Sample(evidence, right & held_out, *counts)[rows])
    return Sample.joined(parts)


CLINIC = KnowledgeBase.from_triples(
    [(f"patient {i}", "diagnosis", f"disease {i % 6}") for i in range(300)]
    + [(f"patient {i}", "symptom", f"symptom {i % 7}") for i in range(300)]
    + [(f"patient {i}", "symptom", f"symptom {i % 5}") for i in range(300)]
)


def test_a_query_is_functional_where_hardly_a_source_has_several_answers():
    names = [CLINIC.relations.operator_name(query) for query in functional_queries(CLINIC).tolist()]
    assert names == ["diagnosis"]
    few = KnowledgeBase.from_triples([(f"patient {i}", "diagnosis", "flu") for i in range(5)])
    assert not len(functional_queries(few))  # too few to know


@pytest.mark.parametrize("sharpness", SHARPNESS)
def test_answers_that_exclude_each_other_add_up_to_one_at_most(sharpness):
    unlabelled = sample_of(patients(400, 1, sharpness), held_out=False)
    sample = Sample.joined([sample_of(patients(400, 0, sharpness), held_out=True), unlabelled])
    calibration = fit_calibration(sample, CLINIC, 400)
    assert calibration.functional == {"diagnosis": sharpness}
    said, right = [], []
    for scores, true in patients(500, 2, sharpness):
        evidence = Row(np.arange(6), scores, 6, True).evidence(0, scores, np.zeros(0, dtype=int), 3.0)
        said.append(calibration.probabilities(evidence, CLINIC.relations))
        right.append(np.arange(6) == true)
        assert said[-1].sum() <= 1 + 1e-5
    error = Reliability.of(np.concatenate(said), np.concatenate(right)).ece
    assert error < 0.1  # how many of the unlabelled patients have a diagnosis at all is a guess

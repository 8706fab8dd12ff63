import json

import numpy as np
import pytest

from neurallp import KnowledgeBase, load_model
from neurallp.config import WeightingConfig, configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import DataError
from neurallp.graph.knowledge_base import split_triples
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.graph.scores import Scores
from neurallp.io.models.calibration import read_calibration, write_calibration
from neurallp.io.models.folders import FORMAT_VERSION
from neurallp.io.models.neural import write_checkpoint
from neurallp.pipeline.learn import prepare, weigh_rules
from neurallp.plots import draw_reliability
from neurallp.reasoning.calibration import (
    Isotonic,
    Platt,
    Reliability,
    Sample,
    cross_fit,
    draw_sample,
    fit_calibration,
    measure_reliability,
    normalized_scores,
)

pytest.importorskip("sklearn")

METHODS = pytest.mark.parametrize("method", ["isotonic", "platt"])
CONFIG = WeightingConfig(max_length=2, num_candidates=20, seed=3)


@pytest.fixture(scope="module")
def kb():
    return family_knowledge_base(num_people=150, num_generations=4)


@pytest.fixture(scope="module")
def split(kb):
    return split_triples(kb, seed=3)


@pytest.fixture(scope="module")
def weighted(split):
    return weigh_rules(split, CONFIG)


@pytest.fixture
def folder(weighted, tmp_path):
    """A folder of weighted rules without calibration."""
    weighted.calibration = None
    weighted.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture(scope="module")
def data(kb, tmp_path_factory):
    return write_facts(kb, tmp_path_factory.mktemp("data") / "family.tsv")


def write_facts(kb, path):
    path.write_text("".join("\t".join(fact) + "\n" for fact in kb.named_facts()))
    return path


def invented(sharpness=1.0, num=8000, seed=0):
    """Return answers that are right as often as their share says, before that is sharpened."""
    rng = np.random.default_rng(seed)
    chances = rng.uniform(0.02, 0.98, num)
    right = rng.random(num) < chances
    odds = sharpness * np.log(chances / (1 - chances))
    return Sample(1 / (1 + np.exp(-odds)), right, np.arange(num) // 10)


def fresh_error(calibration, sample):
    return Reliability.of(calibration.probabilities(sample.normalized_scores), sample.right).ece


@METHODS
def test_what_is_calibrated_already_stays_so(method):
    calibration = fit_calibration(invented(), method)
    said = np.linspace(0.05, 0.95, 50)
    assert np.abs(calibration.probabilities(said) - said).max() < 0.08
    assert fresh_error(calibration, invented(seed=1)) < 0.02


@METHODS
@pytest.mark.parametrize("sharpness", [3.0, 0.3])
def test_too_much_and_too_little_confidence_are_corrected(method, sharpness):
    fresh = invented(sharpness, seed=1)
    assert Reliability.of(fresh.normalized_scores, fresh.right).ece > 0.08
    assert fresh_error(fit_calibration(invented(sharpness), method), fresh) < 0.02


@METHODS
def test_probabilities_rise_with_the_share_and_are_never_certain(method):
    calibration = fit_calibration(invented(2.0, num=200), method)
    said = calibration.probabilities(np.linspace(0, 1, 1001))
    assert (np.diff(said) >= 0).all()
    assert said[0] > 0
    assert said[-1] < 1


def test_reliability_is_counted_bin_by_bin():
    found = Reliability.of(np.array([0.1, 0.15, 0.85, 1.0]), np.array([False, True, True, True]))
    assert found.counts.tolist() == [2, 1, 1]
    assert found.predicted == pytest.approx([0.125, 0.85, 1.0])
    assert found.observed == pytest.approx([0.5, 1.0, 1.0])
    assert found.ece == pytest.approx((2 * 0.375 + 0.15 + 0) / 4)
    assert found.brier == pytest.approx((0.01 + 0.85**2 + 0.15**2) / 4)


def test_no_half_is_judged_by_what_it_was_fitted_on():
    """Every odd question's answers are right and every even one's wrong: each half learns the opposite."""
    numbers = np.repeat(np.arange(40), 2)
    right = (numbers % 2 == 1) ^ (np.arange(80) < 4)  # but for one pair of questions, so that both are seen
    said = cross_fit(Sample(np.full(80, 0.5), right, numbers), "isotonic")
    assert (said[numbers % 2 == 1] < 0.1).all()
    assert (said[numbers % 2 == 0] > 0.9).all()


def test_shares_add_up_to_one_and_leave_out_what_is_no_candidate():
    scores = np.array([2.0, 1.0, 0.0, -np.inf])
    assert normalized_scores(scores, logarithmic=False) == pytest.approx([2 / 3, 1 / 3, 0, 0])
    weights = np.exp([2.0, 1.0, 0.0, -np.inf])
    assert normalized_scores(scores, logarithmic=True) == pytest.approx(weights / weights.sum())
    assert normalized_scores(np.array([900.0, -900.0]), logarithmic=True) == pytest.approx([1, 0])
    assert normalized_scores(np.zeros(3), logarithmic=False).tolist() == [0, 0, 0]


class Fixed:
    """Gives every question the same scores."""

    def __init__(self, *values):
        self.values = np.array(values)

    def scores(self, sources, queries):
        return Scores.of_dense(np.tile(self.values, (len(sources), 1)))


def test_the_sample_is_what_is_shown_without_what_is_known():
    names = [("a", "r", "b"), ("a", "r", "c"), ("a", "r", "d")]
    facts = KnowledgeBase.from_triples(names).facts
    questions = ask_both_ways(facts[1:], 1)[np.array([0, 2])]  # a r c, a r d
    sample = draw_sample(Fixed(1.0, 5.0, 2.0, 0.0), questions, KnownAnswers(facts, 1), logarithmic=False)
    # b is known, d scores nothing: c, which is right, and a, which is not, remain.
    assert sample.normalized_scores == pytest.approx([2 / 3, 1 / 3])
    assert sample.right.tolist() == [True, False]
    assert sample.questions.tolist() == [0, 0]


def test_a_family_is_better_calibrated_on_test_than_its_shares(weighted, split):
    valid, test = weighted.sample(split, "valid"), weighted.sample(split, "test")
    found = measure_reliability("test", test, fit_calibration(valid))
    assert found["probability"].ece < found["normalized_score"].ece
    assert found["probability"].brier < found["normalized_score"].brier


def test_new_answers_have_probabilities_and_known_ones_have_none(weighted, split, kb):
    person = kb.entities[0]
    weighted.calibration = None
    assert all(answer.probability is None for answer in weighted.ask(head=person, relation="uncle"))
    weighted.calibrate(split)
    questions = [{"head": name, "relation": r} for name in kb.entities[:10] for r in kb.relations]
    answers = [answer for question in questions for answer in weighted.ask(**question, kb=split.known)]
    assert {(answer.probability is None) for answer in answers} == {True, False}
    assert all(answer.is_known == (answer.probability is None) for answer in answers)
    assert all(0 < answer.probability < 1 for answer in answers if not answer.is_known)


def test_ask_says_what_the_sample_was_fitted_on(weighted, split):
    """The share of an answer that is asked for is the share that calibration saw."""
    weighted.calibration = Isotonic((0.0, 1.0), (0.0, 1.0))  # says the share itself
    bare = type(split)(
        split.entities, split.relations, split.facts, split.train, split.valid[:1], split.test[:0]
    )
    head, relation, tail = bare.valid[0]
    name = split.entities.names
    found = weighted.ask(head=name[head], relation=split.relations[relation], kb=split.known, k=1000)
    said = [answer.probability for answer in found if not answer.is_known]
    back = weighted.ask(tail=name[tail], relation=split.relations[relation], kb=split.known, k=1000)
    said_back = [answer.probability for answer in back if not answer.is_known]
    seen = weighted.sample(bare).normalized_scores
    assert sorted(seen) == pytest.approx(sorted([*said[:10], *said_back[:10]]))


@pytest.mark.parametrize("calibration", [Isotonic((0.1, 0.25, 1 / 3), (0.01, 0.5, 0.99)), Platt(2.5, -1 / 3)])
def test_a_calibration_is_read_as_it_was_written(calibration, tmp_path):
    write_calibration(tmp_path, calibration)
    assert read_calibration(tmp_path) == calibration


def test_saving_keeps_a_calibration_and_other_weights_remove_it(weighted, split, folder):
    assert load_model(folder).calibration is None
    weighted.calibrate(split, "platt")
    weighted.save(folder)
    assert load_model(folder).calibration == weighted.calibration
    weigh_rules(split, CONFIG).save(folder)
    assert load_model(folder).calibration is None


def test_training_into_the_folder_removes_the_calibration(folder, split):
    write_calibration(folder, Platt(1.0, 0.0))
    write_checkpoint(folder, prepare(split, *configure()))
    assert read_calibration(folder) is None


def test_the_command_makes_ask_and_explain_say_probabilities(run, folder, data, split, kb):
    code, out, _ = run("calibrate", folder, data, "--json")
    assert code == 0
    told = json.loads(out)
    assert told["method"] == "isotonic"
    for part in ("valid", "test"):
        assert told[part]["probability"]["ece"] < told[part]["normalized_score"]["ece"]
    # Split by the seed that the rules were weighted with, so it is what a split of that seed gives.
    assert read_calibration(folder) == fit_calibration(load_model(folder).sample(split))
    known = write_facts(split.known, folder / "known.tsv")
    person = kb.entities[split.test[0, 0]]
    question = ("--head", person, "--relation", "aunt", "-k", 150)
    answers = json.loads(run("ask", folder, known, *question, "--json")[1])
    new = next(answer for answer in answers if not answer["is_known"])
    assert 0 < new["probability"] < 1
    assert f"{new['probability']:.3f}" in run("ask", folder, known, *question)[1]
    said = run("explain", folder, known, person, "aunt", new["entity"])[1]
    assert f"probability {new['probability']:.3f}" in said


def test_the_table_tells_both_errors_of_both_parts(run, folder, data):
    code, out, _ = run("calibrate", folder, data, "--method", "platt")
    assert code == 0
    assert all(word in out for word in ("valid", "test", "normalized_score", "probability", "ECE", "Brier"))
    assert read_calibration(folder).method == "platt"


def test_reliability_is_drawn_of_calibrated_models_alone(run, refuse, folder, data, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "reliability.svg"
    assert "neurallp calibrate" in refuse("plot", "reliability", folder, data, "--out", picture)
    run("calibrate", folder, data)
    code, out, _ = run("plot", "reliability", folder, data, "--out", picture)
    assert (code, out.strip()) == (0, str(picture))
    assert "fraction right" in picture.read_text()


def test_the_picture_names_each_line_with_its_error(tmp_path):
    pytest.importorskip("matplotlib")
    draw_reliability(measure_reliability("test", invented(3.0), Platt(1.0, 0.0)), tmp_path / "picture.svg")
    assert "normalized_score (error 0.1" in (tmp_path / "picture.svg").read_text()


def test_too_little_to_calibrate_on_is_told(refuse, folder, kb, tmp_path):
    with pytest.raises(DataError, match="right and wrong answers"):
        fit_calibration(Sample(np.array([0.5, 0.4]), np.zeros(2, dtype=bool), np.arange(2)))
    write_facts(kb, tmp_path / "train.tsv")
    assert "'valid' is empty" in refuse("calibrate", folder, tmp_path)


def test_a_damaged_calibration_is_told(refuse, folder, data):
    broken = {"format_version": FORMAT_VERSION, "method": "platt"}
    (folder / "calibration.json").write_text(json.dumps(broken))
    assert "calibration.json is missing or damaged" in refuse("rules", folder)

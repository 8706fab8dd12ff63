import json

import pytest

from neurallp.datasets.family import family_triples
from neurallp.io.models.calibration import read_calibration
from neurallp.io.triples import write_triples
from neurallp.pipeline.program import load_model


def test_learn_calibrates_and_the_command_gives_the_same(run, model, data):
    learned = read_calibration(model)
    assert learned is not None
    code, out, _ = run("calibrate", model, data, "--json")
    assert code == 0
    found = json.loads(out)["test"]
    assert set(found) == {"no known answer", "known answers"}
    assert all(set(of) == {"shown", "best", "likely", "test questions"} for of in found.values())
    assert all(0 <= each["ece"] <= 1 for of in found.values() for each in of.values())
    assert read_calibration(model) == learned == load_model(model).calibration


def test_the_table_has_the_error_of_sources_with_and_without_known_answers(run, model, data):
    code, out, _ = run("calibrate", model, data)
    assert code == 0
    assert all(word in out for word in ("no known answer", "known answers", "test questions", "ECE", "Brier"))


def test_a_file_of_rules_can_be_calibrated(run, tmp_path):
    rules, data = tmp_path / "rules.txt", tmp_path / "family.tsv"
    rules.write_text("9\t9\t0.9\tuncle(X,Y) <= father(X,A), brother(A,Y)\n")
    write_triples(data, family_triples())
    head, _, _ = next(fact for fact in family_triples() if fact[1] == "uncle")
    question = "--head", head, "--relation", "uncle", "-k", 500, "--json"
    assert all(each["probability"] is None for each in json.loads(run("ask", rules, data, *question)[1]))
    code, _, _ = run("calibrate", rules, data)
    assert code == 0
    answers = json.loads(run("ask", rules, data, *question)[1])
    assert [each["probability"] is None for each in answers] == [each["is_known"] for each in answers]


def test_a_folder_without_test_is_calibrated_without_a_table(run, model, tmp_path):
    write_triples(tmp_path / "train.tsv", family_triples(40, 3))
    code, out, _ = run("calibrate", model, tmp_path)
    assert code == 0
    assert "ECE" not in out
    assert "have a probability" in out


def test_predict_writes_probabilities_and_can_leave_out_unlikely_answers(run, refuse, model, data, tmp_path):
    for number, least in enumerate((0.0, 0.2)):
        out = tmp_path / f"{number}.jsonl"
        code, _, _ = run("predict", model, data, "--out", out, "--min-probability", least)
        assert code == 0
        rows = [json.loads(line) for line in out.read_text().splitlines()]
        assert rows
        assert all(row["probability"] >= least and not row["known"] for row in rows)
    (model / "calibration.json").unlink()
    message = refuse("predict", model, data, "--out", tmp_path / "x.csv", "--min-probability", 0.5)
    assert "neurallp calibrate" in message


def test_explain_prints_the_probability_first(run, model, data):
    head = family_triples(40, 3)[0][0]
    answers = json.loads(run("ask", model, data, "--head", head, "--relation", "uncle", "--json")[1])
    new = next(answer for answer in answers if not answer["is_known"])
    said = run("explain", model, data, head, "uncle", new["entity"])[1]
    assert "Probability " in said
    told = json.loads(run("explain", model, data, head, "uncle", new["entity"], "--json")[1])
    assert told["probability"] == pytest.approx(new["probability"])


def test_reliability_is_drawn_of_calibrated_models_alone(run, refuse, model, data, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "reliability.svg"
    code, out, _ = run("plot", "reliability", model, data, "--out", picture)
    assert (code, out.strip()) == (0, str(picture))
    assert "known answers (error" in picture.read_text()
    (model / "calibration.json").unlink()
    assert "neurallp calibrate" in refuse("plot", "reliability", model, data, "--out", picture)

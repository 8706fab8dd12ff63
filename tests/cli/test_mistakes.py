"""Natural mistakes on the command line: each is answered by one message that says what to do."""

import json

import pytest

from neurallp.config import KINDS

ABOUT_FACTS = ("zoe", "uncle", "xan")


@pytest.mark.parametrize("command", ["ask", "explain", "why-not", "predict", "evaluate"])
def test_data_that_is_not_there_is_named(refuse, uncles, tmp_path, command):
    rules, _ = uncles
    gone = tmp_path / "gone.tsv"
    more = {
        "ask": ("--relation", "uncle", "--head", "zoe"),
        "explain": ABOUT_FACTS,
        "why-not": ABOUT_FACTS,
        "predict": ("--out", tmp_path / "out.tsv"),
    }.get(command, ())
    assert refuse(command, rules, gone, *more).startswith(f"There is no {gone}.")
    assert not (tmp_path / "out.tsv").exists()


@pytest.mark.parametrize(
    "arguments",
    [("rules",), ("calibrate", "DATA"), ("export", "--format", "tsv", "--out", "out.tsv")],
    ids=lambda arguments: arguments[0],
)
def test_a_folder_of_data_in_the_place_of_a_model_is_reported(refuse, data, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    name, *rest = arguments
    told = refuse(name, data.parent, *(data if each == "DATA" else each for each in rest))
    assert told.startswith(f"{data.parent} holds no model: there is no manifest.json.")
    assert "neurallp learn DATA --out" in told
    assert not (tmp_path / "out.tsv").exists()


def test_model_and_data_in_the_wrong_order_are_reported(refuse, model, data):
    told = refuse("ask", data, model, "--head", "anna", "--relation", "father")
    assert told == f"{data}: not a file of rules. Formats: amie, anyburl, json, tsv."


def test_a_model_in_the_place_of_data_is_reported(refuse, model):
    assert refuse("evaluate", model, model).startswith(f"{model} is a model folder, not data.")


@pytest.mark.parametrize(("given", "near"), [("fathr", "father"), ("grandfater", "grandfather")])
def test_a_relation_with_a_slip_is_answered_with_the_nearest(refuse, model, data, given, near):
    for arguments in (
        ("ask", model, data, "--head", "anna", "--relation", given),
        ("rules", model, "--relation", given),
        ("rules", model, "--relation", f"~{given}"),
        ("export", model, "--format", "tsv", "--out", "out.tsv", "--relation", given),
    ):
        told = refuse(*arguments)
        assert f"Unknown relation {given!r}" in told or f"Unknown relation '~{given}'" in told
        assert f"Did you mean {near!r}?" in told or f"Did you mean '~{near}'?" in told


@pytest.mark.parametrize("command", ["explain", "why-not"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_name_with_a_slip_is_found_wherever_it_stands(refuse, uncles, command, place):
    given = list(ABOUT_FACTS)
    given[place] += "s"
    told = refuse(command, *uncles, *given)
    assert f"{given[place]!r}" in told
    assert f"Did you mean {ABOUT_FACTS[place]!r}?" in told


def test_both_ends_of_a_question_are_one_too_many(refuse, uncles):
    told = refuse("ask", *uncles, "--head", "zoe", "--tail", "xan", "--relation", "uncle")
    assert told == "Give the head or the tail of the question, not both and not neither."


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--steps", "0"), "num_steps must be at least 1, got 0"),
        (("--epochs", "-1"), "num_epochs"),
        (("--learning-rate", "-1"), "learning_rate"),
        (("--batch-size", "0"), "batch_size must be at least 1, got 0"),
        (("--controllers", "0"), "num_controllers must be at least 1, got 0"),
        (
            ("--kinds", "chain,cycle"),
            f"kinds must be one of {', '.join(KINDS)}, got 'cycle'",
        ),
        (("--penalties", "a"), "--penalties takes values of type float, separated by commas, got 'a'"),
        (("--or-length", "1,two"), "--or-length takes values of type int, separated by commas, got '1,two'"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_value_out_of_range_is_named_with_what_is_allowed(refuse, data, tmp_path, options, named):
    told = refuse("learn", data, "--out", tmp_path / "model", *options)
    assert named in told
    assert not (tmp_path / "model").exists()


def test_a_kind_with_a_slip_is_answered_with_the_nearest(refuse, uncles, data, tmp_path):
    told = refuse("weigh", uncles[0], data, "--out", tmp_path / "model", "--kinds", "anchord")
    assert "Did you mean 'anchored'?" in told


def test_an_unknown_format_is_answered_with_the_nearest(refuse, model, tmp_path):
    told = refuse("export", model, "--format", "prolg", "--out", tmp_path / "out.pl")
    assert "got 'prolg'. Did you mean 'prolog'?" in told
    assert not (tmp_path / "out.pl").exists()


def test_an_empty_file_in_the_place_of_rules_is_reported(refuse, uncles, tmp_path):
    empty = tmp_path / "empty.tsv"
    empty.touch()
    told = refuse("ask", empty, uncles[1], "--head", "zoe", "--relation", "uncle")
    assert told.startswith(f"{empty}: not a file of rules.")


def test_triples_in_the_place_of_rules_are_reported(refuse, uncles):
    _, facts = uncles
    told = refuse("ask", facts, facts, "--head", "zoe", "--relation", "father")
    assert told.startswith(f"{facts}: not a file of rules.")


def test_rules_in_the_place_of_triples_are_reported_with_their_line(refuse, uncles):
    rules, _ = uncles
    told = refuse("ask", rules, rules, "--head", "zoe", "--relation", "uncle")
    assert told.startswith(f"{rules}:1:")


def test_an_empty_folder_has_no_triples(refuse, tmp_path):
    (tmp_path / "empty").mkdir()
    told = refuse("learn", tmp_path / "empty", "--out", tmp_path / "model")
    assert str(tmp_path / "empty") in told
    assert "train" in told


def test_a_data_set_with_a_slip_is_answered_with_the_nearest(refuse, monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    for command in ("get", "verify"):
        assert "Did you mean 'kinship'?" in refuse("data", command, "kinshp")
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_verify_is_no_error(run, monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    code, out, _ = run("data", "verify", "--json")
    assert (code, json.loads(out)) == (0, {})


def test_an_experiment_without_its_data_says_how_to_get_it(refuse, monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path / "none"))
    told = refuse("experiment", "srl", "--quick", "--seeds", "1", "--only", "umls")
    assert told.startswith("Nothing could be measured.")
    assert "neurallp data get umls" in told


def test_an_experiment_with_a_slip_is_answered_with_the_nearest(refuse):
    assert "Did you mean 'grid'?" in refuse("experiment", "gird")


def test_reliability_needs_a_calibrated_model(refuse, model, data, tmp_path):
    (model / "calibration.json").unlink()
    told = refuse("plot", "reliability", model, data, "--out", tmp_path / "plot.png")
    assert told == f"{model} is not calibrated. Run `neurallp calibrate {model} {data}` first."


def test_an_output_in_a_missing_folder_is_reported_and_nothing_is_made(refuse, uncles, model, tmp_path):
    out = tmp_path / "deep" / "new.tsv"
    for arguments in (("predict", *uncles), ("export", model, "--format", "tsv")):
        assert refuse(*arguments, "--out", out).startswith(f"Cannot write {out}")
        assert not out.parent.exists()


def test_a_figure_of_another_format_is_refused_with_the_nearest(refuse, model, tmp_path):
    pytest.importorskip("matplotlib")
    told = refuse("plot", "rules", model, "--relation", "father", "--out", tmp_path / "rules.jpg")
    assert told == "The suffix of a figure must be one of .png, .svg, got '.jpg'. Did you mean '.png'?"
    assert not (tmp_path / "rules.jpg").exists()


def test_an_unknown_format_of_triples_is_answered_with_those_there_are(refuse, data, tmp_path):
    told = refuse("convert", data, tmp_path / "family.xyz")
    assert told.startswith(f"{tmp_path / 'family.xyz'}: unknown format: .xyz. Use .tsv, .csv")


def test_a_model_folder_is_not_learned_from(refuse, model, tmp_path):
    told = refuse("learn", model, "--out", tmp_path / "other")
    assert told.startswith(f"{model} is a model folder, not data.")
    assert not (tmp_path / "other").exists()


def test_a_file_cannot_become_the_folder_of_a_model(refuse, data):
    before = data.read_bytes()
    assert refuse("learn", data, "--out", data, "--epochs", 1).startswith(f"Cannot make the folder {data}")
    assert data.read_bytes() == before


def test_weighted_rules_do_not_replace_a_neural_model(refuse, uncles, model, data):
    told = refuse("weigh", uncles[0], data, "--out", model)
    assert told == f"{model} holds a neural model. Give another folder for the weighted rules."
    assert not (model / "weighted.json").exists()


def test_the_place_of_a_model_is_checked_before_anything_is_read(refuse, uncles, data, tmp_path):
    wrong = tmp_path / "wrong.tsv"
    wrong.write_text("no triple")
    for arguments in (("learn", wrong), ("weigh", uncles[0], wrong)):
        assert refuse(*arguments, "--out", data / "model").startswith(
            f"Cannot make the folder {data / 'model'}"
        )

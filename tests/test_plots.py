import re

import numpy as np
import pytest
from samples import weighted_program
from weighted_samples import random_kb, random_rules

from neurallp import learn, load_model
from neurallp.config import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import ConfigError
from neurallp.neural.training import Epoch
from neurallp.plots import (
    MIN_ANSWERS,
    _points,
    _short,
    draw_attention,
    draw_curves,
    draw_reliability,
    draw_rules,
    figure_at,
    largest_operators,
    styles,
)
from neurallp.reasoning.reliability import Reliability
from neurallp.rules.rule import Rule

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small family learned in two epochs, as a model folder."""
    folder = tmp_path_factory.mktemp("model")
    kb = family_knowledge_base(num_people=60, num_generations=3)
    learn(kb, weigh=False, num_epochs=2, num_controllers=2, embedding_size=16, hidden_size=16).save(folder)
    return folder


def texts(path):
    """Return the texts of an SVG figure: letters are shapes, named in comments."""
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize(
    "kind", [("curves",), ("attention", "--relation", "uncle"), ("rules", "--relation", "~uncle")]
)
def test_the_command_draws_in_both_formats(run, model, tmp_path, suffix, kind):
    what, *query = kind
    picture = tmp_path / "new" / f"picture.{suffix}"
    code, out, _ = run("plot", what, model, *query, "--out", picture)
    assert code == 0
    assert out.strip() == str(picture)
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[suffix]
    assert picture.read_bytes().startswith(start)


def test_equal_figures_are_equal_files(model, tmp_path):
    rules = load_model(model).rules("uncle", limit=3)
    for name in ("a.png", "b.png"):
        draw_rules(rules, tmp_path / name)
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "b.png").read_bytes()


def test_rules_show_confidence_and_names(model, tmp_path):
    rules = load_model(model).rules("uncle", limit=3)
    draw_rules(rules, tmp_path / "rules.svg")
    said = texts(tmp_path / "rules.svg")
    assert "1.00" in said
    assert {name.removeprefix("~") for rule in rules for name in rule.body} <= set(said)


def test_rules_against_an_answer_are_drawn_apart_with_their_negative_weight(tmp_path):
    rules = [
        Rule("uncle", ("father",), 0.1, weight=-1.5),
        Rule("uncle", ("father", "brother"), 0.9, weight=2.0),
    ]
    draw_rules(rules, tmp_path / "rules.svg")
    said = texts(tmp_path / "rules.svg")
    assert said.index("2.00") < said.index("-1.50")
    assert "against an answer:" in said


def test_attention_shows_both_controllers_and_all_memories(model, tmp_path):
    draw_attention(load_model(model).model, "uncle", tmp_path / "attention.svg")
    said = texts(tmp_path / "attention.svg")
    assert {"operators, controller 1", "memories read, controller 2", "Attention of uncle"} <= set(said)


def test_curves_are_named_where_there_are_several(tmp_path):
    history = [Epoch(1, 2.0, {"mrr": 0.5}, 1.0, True), Epoch(2, 1.0, {"mrr": 0.4}, 1.0, False)]
    blind = [Epoch(1, 2.0, {}, 1.0, True)]
    draw_curves({"seed 0": history, "no validation": blind}, tmp_path / "curves.svg")
    assert {"seed 0", "no validation"} <= set(texts(tmp_path / "curves.svg"))


def test_markers_of_a_figure_have_the_same_names_in_every_run(tmp_path):
    for name in ("one", "two"):
        with figure_at(tmp_path / f"{name}.svg", 3, 2) as figure:
            figure.subplots().plot([1, 2], marker="o")
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_lines_differ_without_colour():
    looks = [(style["marker"], style["linestyle"]) for style, _ in zip(styles(), range(20), strict=False)]
    assert len(set(looks)) == 20


def test_other_formats_and_empty_figures_are_refused(refuse, model, tmp_path):
    assert ".png, .svg" in refuse("plot", "curves", model, "--out", tmp_path / "picture.gif")
    picture = tmp_path / "p.png"
    assert "Did you mean 'uncle'" in refuse("plot", "rules", model, "--relation", "uncl", "--out", picture)
    with pytest.raises(ConfigError, match="no rules"):
        draw_rules([], tmp_path / "rules.png")


def test_rules_that_name_their_answer_or_source_are_counted_where_they_are_not_drawn(run, tmp_path):
    kb = random_kb(0)
    program, relation = weighted_program(random_rules(kb, 0), WeightingConfig()), kb.relations[0]
    program.save(tmp_path / "model")
    num = sum(rule.kind in ("unary", "sourced") for rule in program.rules(relation, limit=100))
    code, out, told = run(
        "plot", "rules", tmp_path / "model", "--relation", relation, "--out", tmp_path / "r.svg"
    )
    assert (code, out.strip()) == (0, str(tmp_path / "r.svg"))
    assert told == f"Not drawn: {num} rules that name their answer or source; `neurallp rules` lists them.\n"


def test_operators_with_little_attention_are_summed_in_one_row():
    weights = np.full((2, 40), 0.01)
    weights[0, 3], weights[1, 7] = 0.6, 0.5
    labels, rows = largest_operators(weights, [f"r{k}" for k in range(40)])
    assert labels == ["r3", "r7", "38 others"]
    assert rows.shape == (3, 2)
    assert rows.sum(axis=0) == pytest.approx(weights.sum(axis=1))


def test_every_operator_has_a_row_where_there_are_few():
    labels, rows = largest_operators(np.array([[0.5, 0.5]]), ["r", "s"])
    assert labels == ["r", "s"]
    assert rows.tolist() == [[0.5], [0.5]]


def test_long_names_keep_their_end():
    assert _short("relation", 8) == "relation"
    assert _short("/film/film/directed_by", 12) == "…directed_by"


def test_rules_without_body_and_of_any_length_are_drawn(tmp_path):
    rules = [Rule("same", (), 1.0), Rule("same", ("r", "~s", "t"), 0.5, 0.5)]
    draw_rules(rules, tmp_path / "rules.svg")
    assert {"X = Y", "r", "s", "t", "0.50", "same(X, Y)"} <= set(texts(tmp_path / "rules.svg"))


def test_reliability_names_each_curve_with_its_error(tmp_path):
    found = {
        "raw": Reliability.of(np.array([0.1, 0.9]), np.array([False, True])),
        "calibrated": Reliability.of(np.array([0.5, 0.5]), np.array([False, True])),
    }
    draw_reliability(found, tmp_path / "reliability.svg")
    said = set(texts(tmp_path / "reliability.svg"))
    assert {"raw (error 0.100)", "calibrated (error 0.000)", "predicted probability"} <= said


def test_a_fraction_of_few_answers_is_not_drawn():
    probabilities = np.repeat([0.25, 0.75], [MIN_ANSWERS, MIN_ANSWERS - 1])
    predicted, observed = _points(Reliability.of(probabilities, probabilities > 0.5))
    assert (predicted.tolist(), observed.tolist()) == ([0.25], [0.0])


def test_a_figure_that_fails_leaves_no_file(tmp_path):
    with pytest.raises(RuntimeError), figure_at(tmp_path / "figure.png", 1, 1):
        raise RuntimeError
    assert not list(tmp_path.iterdir())


def test_no_name_is_a_formula_a_line_end_or_a_control_character_of_a_figure(tmp_path):
    rule = Rule("a$x_{$", ("$\\frac{$", "one\ntwo", "\x1b[31mred"), 0.5)
    draw_rules([rule], tmp_path / "rules.svg")
    found = re.findall("<!-- (.*?) -->", (tmp_path / "rules.svg").read_text())
    assert {"$\\frac{$", r"one\ntwo", r"\x1b[31mred", "a$x_{$(X, Y)"} <= {*found}

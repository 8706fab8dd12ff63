import re

import pytest

from neurallp import learn, load_model
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import ConfigError
from neurallp.neural.training import Epoch
from neurallp.plots import draw_attention, draw_curves, draw_rules, styles

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A small family learned in two epochs, as a model folder."""
    folder = tmp_path_factory.mktemp("model")
    kb = family_knowledge_base(num_people=60, num_generations=3)
    learn(kb, weigh=False, num_epochs=2, num_controllers=2, embedding_size=16, hidden_size=16).save(folder)
    return folder


def texts(path):
    """Return what an SVG picture says: its letters are shapes, named in comments."""
    return re.findall(r"<!-- (.*?) -->", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("suffix", ["png", "svg"])
@pytest.mark.parametrize("kind", [("curves",), ("attention", "uncle"), ("rules", "~uncle")])
def test_the_command_draws_in_both_formats(run, model, tmp_path, suffix, kind):
    what, *query = kind
    picture = tmp_path / "new" / f"picture.{suffix}"
    code, out, _ = run("plot", what, model, *query, "--out", picture)
    assert code == 0
    assert out.strip() == str(picture)
    start = {"png": b"\x89PNG", "svg": b"<?xml"}[suffix]
    assert picture.read_bytes().startswith(start)


def test_equal_pictures_of_rules_are_equal_files(model, tmp_path):
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


def test_attention_shows_both_ranks_and_all_memories(model, tmp_path):
    draw_attention(load_model(model).model, "uncle", tmp_path / "attention.svg")
    said = texts(tmp_path / "attention.svg")
    assert {"operators, rank 1", "memories read, rank 2", "Attention of uncle"} <= set(said)


def test_curves_are_named_where_there_are_several(tmp_path):
    history = [Epoch(1, 2.0, {"mrr": 0.5}, 1.0, True), Epoch(2, 1.0, {"mrr": 0.4}, 1.0, False)]
    blind = [Epoch(1, 2.0, {}, 1.0, True)]
    draw_curves({"seed 0": history, "no validation": blind}, tmp_path / "curves.svg")
    assert {"seed 0", "no validation"} <= set(texts(tmp_path / "curves.svg"))


def test_lines_differ_without_colour():
    looks = [(style["marker"], style["linestyle"]) for style, _ in zip(styles(), range(20), strict=False)]
    assert len(set(looks)) == 20


def test_other_formats_and_empty_pictures_are_refused(refuse, model, tmp_path):
    assert ".png, .svg" in refuse("plot", "curves", model, "--out", tmp_path / "picture.gif")
    assert "Did you mean 'uncle'" in refuse("plot", "rules", model, "uncl", "--out", tmp_path / "p.png")
    with pytest.raises(ConfigError, match="no rules"):
        draw_rules([], tmp_path / "rules.png")

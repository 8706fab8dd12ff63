import numpy as np
import pytest

from neurallp import ConfigError, KnowledgeBase
from neurallp.experiments import question_picture
from neurallp.experiments.question_picture import draw_questions, project_questions


def test_every_question_has_a_finite_position_and_the_rule_of_its_best_answer(cinema):
    pytest.importorskip("sklearn")
    questions = [q for q in cinema.test if q.kind in ("directed_by", "release_year")]
    positions, rules = project_questions(cinema.program, cinema.kb, questions)
    assert positions.shape == (len(questions), 2)
    assert np.isfinite(positions).all()
    right = [rule == f"{q.kind}(X, Y)" for q, rule in zip(questions, rules, strict=True)]
    assert np.mean(right) > 0.8


def test_a_question_without_an_answer_has_the_rule_it_asks_for(cinema):
    kb = KnowledgeBase.from_triples(
        [("Alien", "directed_by", "Scott"), ("Rio", "directed_by", "Scott"), ("Rio", "release_year", "2011")]
    )
    reasoner = cinema.program.reasoner(kb)
    rule = question_picture._rule_used(reasoner, "what is the release year of Alien")
    assert rule.body == ("release_year",)


def test_without_scikit_learn_the_error_names_what_to_install(cinema, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.manifold", None)
    with pytest.raises(ConfigError, match=r"pip install 'neurallp\[plots\]'"):
        project_questions(cinema.program, cinema.kb, cinema.test[:5])


def test_a_figure_with_more_rules_than_colours_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    rules = [f"r{number}(X, Y)" for number in range(question_picture.MAX_RULES + 3)]
    projected = [(*rng.normal(size=2), rule) for rule in rules for _ in range(3)]
    draw_questions(projected, tmp_path / "questions.png")
    assert (tmp_path / "questions.png").stat().st_size > 1000

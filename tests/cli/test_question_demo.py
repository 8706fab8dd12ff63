import json

import pytest

from neurallp import WordQuestion
from neurallp.cli import question_demo
from neurallp.cli.question_demo import one_of_each_length


def test_the_first_question_of_each_length_is_shown():
    kinds = ("a b", "a", "b", "a b c", "c d")
    questions = [WordQuestion(kind, (), kind) for kind in kinds]
    assert [question.kind for question in one_of_each_length(questions)] == ["a", "a b", "a b c"]


@pytest.fixture
def small(monkeypatch):
    """The demo with few questions, which takes seconds."""
    from neurallp.datasets import movies

    many = movies.movie_questions
    monkeypatch.setattr(movies, "movie_questions", lambda kb, num, seed: many(kb, num // 4, seed))
    return question_demo


def test_the_demo_prints_answers_with_reasons_and_measures(run, small):
    code, out, err = run("demo", "questions")
    assert (code, "Error" in err) == (0, False)
    assert "500 questions with their answers" in out
    assert out.count("rule: answer(X, Y) <= ") >= 3
    assert "entity marked" in out
    assert "entity linked" in out


def test_the_demo_prints_one_json_object(run, small):
    code, out, _ = run("demo", "questions", "--json")
    found = json.loads(out)
    assert code == 0
    assert [len(each["answers"][0]["path"]) for each in found["answers"]] == [2, 3, 4]
    assert found["test"]["questions"] == found["test"]["linked"]["questions"] == 100

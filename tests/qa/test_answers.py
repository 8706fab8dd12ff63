import json

import pytest

from neurallp import Rule, WordAnswer, WordAnswers
from neurallp.qa.answers import rule_in_words

RULE = Rule("answer", ("directed_by", "~directed_by"), 0.9, distinct_ends=True, inequalities=((0, 1),))
ANSWER = WordAnswer("Gladiator", 0.5, 0.8, 0.9, RULE, ("Alien", "Scott", "Gladiator"), 2)


def test_the_facts_along_the_path_are_the_reason():
    assert ANSWER.because == "directed_by(Alien, Scott) and directed_by(Gladiator, Scott)"


def test_an_answer_is_one_json_object_with_its_rule_in_logic_and_in_words():
    assert json.loads(json.dumps(ANSWER.as_dict())) == {
        "entity": "Gladiator",
        "probability": 0.8,
        "score": 0.5,
        "confidence": 0.9,
        "rule": "answer(X, Y) <= directed_by(X, A), directed_by(Y, A), X != A, X != Y",
        "in_words": "From Alien to its directed by, then to all that have it as directed by; "
        "never back to Alien.",
        "path": ["Alien", "Scott", "Gladiator"],
        "because": "directed_by(Alien, Scott) and directed_by(Gladiator, Scott)",
        "num_paths": 2,
    }


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (Rule("answer", ("has_genre",), 1.0), "From Alien to its genre."),
        (Rule("answer", ("~in_language",), 1.0), "From Alien to all that have it as in language."),
        (Rule("answer", ("a", "b"), 1.0, distinct_ends=True), "From Alien to its a, then to its b."),
    ],
)
def test_a_rule_in_words_names_each_step(rule, sentence):
    assert rule_in_words(rule, "Alien") == sentence


def test_answers_are_a_sequence_without_a_note_where_the_name_is_unique():
    found = WordAnswers("who", "Alien", (ANSWER,))
    assert (len(found), found[0], found.note, found.yes) == (1, ANSWER, "", None)


def test_a_note_names_entities_that_are_not_used():
    found = WordAnswers("who", "Alien", (ANSWER,), unused=("Aliens",))
    assert found.note == "Not used: 'Aliens'."
    assert found.as_dict()["unused"] == ["Aliens"]


def test_a_claim_is_confirmed_by_the_answer_that_it_is():
    assert WordAnswers("did", "Alien", (ANSWER,), claimed="Gladiator", claim=ANSWER).yes is True
    found = WordAnswers("did", "Alien", (ANSWER,), claimed="Heat")
    assert found.yes is False
    assert (found.as_dict()["claimed"], found.as_dict()["yes"]) == ("Heat", False)


def test_an_ambiguous_name_is_noted_with_the_way_to_mark_it():
    found = WordAnswers("who", "Alien", (ANSWER,), ambiguous_mentions=("ALIEN",))
    assert found.note == (
        "Taken to be about 'Alien'; the name also fits 'ALIEN'. Mark the one you mean: [name]."
    )


def test_answers_are_a_table():
    pytest.importorskip("pyarrow")
    answers = WordAnswers("films by the director of Alien", "Alien", (ANSWER,))
    assert answers.to_arrow().to_pylist() == [ANSWER.as_dict()]
    assert "Gladiator" in answers._repr_html_()

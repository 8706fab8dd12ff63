"""Questions in words: what was understood, and what is offered instead."""

import pytest


@pytest.fixture
def asked(films):
    """A training question about one film, as a person writes it."""
    return next(each for each in films.questions if each.kind == "release_year").unmarked


def test_answers_are_those_of_the_library(ask_films, films, asked):
    told = ask_films(asked.text)
    expected = films.program.ask_words(asked.text, min_probability=0)
    assert [row["entity"] for row in told["answers"]] == [each.entity for each in expected.answers]
    best = expected.answers[0]
    assert told["answers"][0]["probability"] == pytest.approx(best.probability)
    assert told["answers"][0]["because"] == best.because
    assert told["answers"][0]["facts"] == [
        dict(zip(("head", "relation", "tail"), (best.path[0], "release_year", best.path[1]), strict=True))
    ]
    assert told["about"] == [expected.source]
    assert told["answers"][0]["in_words"].startswith(f"From {expected.source} to its release year")


def test_a_misspelt_name_is_corrected_with_a_note(ask_films, asked, films):
    name = films.program.ask_words(asked.text, min_probability=0).source
    misspelt = name[:-2] + name[-1] + name[-2]
    told = ask_films(asked.text.replace(name, misspelt))
    assert told["about"] == [name]
    assert f"{misspelt!r} is taken for {name!r}" in told["note"]


def test_an_unclear_question_is_answered_with_doubt_and_nearest_questions(ask_films, films, asked):
    name = films.program.ask_words(asked.text, min_probability=0).source
    told = ask_films(f"films perhaps {name} or not release")
    assert not told["is_sure"]
    assert told["similar"]
    assert all(name in each for each in told["similar"])


def test_a_question_that_names_nothing_says_so_and_gives_examples(ask_films):
    told = ask_films("zzz qqq")
    assert "names no entity" in told["problem"]
    assert told["answers"] == []
    assert ask_films(told["examples"][0])["answers"]


def test_the_page_asks_and_shows_what_was_understood(film_client, asked, films):
    def look(path, **parameters):
        return film_client.get(path, params=parameters, headers={"Accept": "text/html"}).text

    assert "Question in words" in look("/ask")
    assert "Questions such as" in look("/question")
    shown = look("/question", text=asked.text)
    assert "Understood" in shown
    assert f">{asked.answers[0]}</bdi>" in shown


def test_without_a_question_model_the_page_says_how_to_get_one(look, read):
    assert "Question in words" not in look("/ask")
    assert "neurallp qa learn" in look("/question", text="who")
    assert read("/question", text="who")["has_model"] is False

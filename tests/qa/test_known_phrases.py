"""Phrases of training questions: what their words tell, which resemble another, and repaired words."""

import pytest

from neurallp.qa.known_phrases import KnownPhrase, KnownPhrases, stem, without
from neurallp.qa.model import Phrase


def phrase(text):
    """Return the phrase of a text in which X stands for the entity."""
    words = text.split()
    place = words.index("X")
    return Phrase((*words[:place], *words[place + 1 :]), place)


BODIES = {
    "who directed X": "directed_by",
    "who is the director of X": "directed_by",
    "when was X released": "release_year",
    "what is the release year of X": "release_year",
    "which films did X act in": "~starred_actors",
    "which films did X direct": "~directed_by",
    "list the films that X directed": "~directed_by",
    "who starred in X": "starred_actors",
}
KNOWN = KnownPhrases(KnownPhrase(phrase(text), (body,)) for text, body in BODIES.items())
WORDS = {word for text in BODIES for word in text.split()} - {"X"}


def ends_alike(*names):
    """Films are what inverse operators lead to."""
    return names[0].startswith("~") == names[1].startswith("~")


def test_words_that_tell_the_rule_weigh_more_than_those_of_any_question():
    assert KNOWN.weight("director") > KNOWN.weight("is") > KNOWN.weight("the")
    assert KNOWN.weight("released") > KNOWN.weight("who")
    assert KNOWN.weight("soundtrack") == 1


def test_a_known_phrase_is_the_nearest_to_itself_alone():
    near = KNOWN.nearest(phrase("who directed X"))
    assert near[0] == (1.0, KnownPhrase(phrase("who directed X"), ("directed_by",)))
    assert all(similarity < 1 for similarity, _ in near[1:])
    assert KNOWN.nearest(phrase("directed who X"))[0][0] < 1


def test_a_bare_word_is_nearest_to_the_phrase_that_it_tells():
    assert KNOWN.nearest(phrase("X director"))[0][1].body == ("directed_by",)
    assert KNOWN.nearest(phrase("release year X"))[0][1].body == ("release_year",)


def test_without_phrases_nothing_is_near():
    assert KnownPhrases().nearest(phrase("who directed X")) == []
    assert KnownPhrases().best(phrase("who directed X")) == 0


@pytest.mark.parametrize(
    ("text", "repaired", "misspelt"),
    [
        ("who direted X", "who directed X", [("direted", "directed")]),
        ("who directs X", "who directed X", []),
        ("wich films did X direct", "which films did X direct", [("wich", "which")]),
        ("please tell me who directed X", "who directed X", []),
        ("who stars in X", "who starred in X", []),
        ("who composed the soundtrack of X", "who composed the soundtrack of X", []),
    ],
)
def test_unknown_words_are_replaced_by_known_ones_of_the_same_stem_or_spelling(text, repaired, misspelt):
    assert KNOWN.repair(phrase(text), WORDS) == (phrase(repaired), misspelt)


def test_a_phrase_of_known_words_stays_as_it_is():
    for text in BODIES:
        assert KNOWN.repair(phrase(text), WORDS) == (phrase(text), [])


def test_words_of_other_phrases_express_a_step_that_none_asks_for():
    films = ("~release_year",)
    whole = KNOWN.composed(phrase("which films released X"), films, ends_alike)
    assert whole == pytest.approx(0.85)
    assert KNOWN.composed(phrase("which films released before X"), films, ends_alike) < 0.5
    assert KNOWN.composed(phrase("who directed the films released X"), films, ends_alike) < 0.5
    assert KNOWN.composed(phrase("who directed X"), ("directed_by",), ends_alike) == 0
    assert KNOWN.composed(phrase("which films released X"), ("~release_year", "directed_by"), ends_alike) == 0


def test_a_stem_has_no_ending_and_no_doubled_letter():
    assert {stem(word) for word in ("star", "stars", "starred", "starring")} == {"star"}
    assert stem("is") == "is"


def test_the_position_of_the_entity_moves_with_the_words_left_out():
    assert without(phrase("please tell me X films now"), {"tell", "me", "now"}) == phrase("please X films")

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import QuestionError
from neurallp.graph.vocabulary import Vocabulary
from neurallp.qa.entity_linking import EntityLinker, unmark
from neurallp.qa.tokens import WordVocabulary

NAMES = ("Blade", "Blade Runner", "Amélie", "director", "Rio", "Ridley Scott", "ridley scott", "$", "12")
LINKER = EntityLinker(Vocabulary(NAMES))


def linked(text, *surprisal):
    return [mention.name for mention in LINKER.link(text, *surprisal)]


def test_the_longest_name_comes_first_and_the_others_are_kept():
    assert linked("who directed Blade Runner") == ["Blade Runner", "Blade"]


def test_case_and_accents_do_not_matter():
    assert linked("WHO WROTE AMELIE")[0] == "Amélie"


def test_only_whole_words_are_names():
    assert linked("riot on the blades of 120") == []


def test_of_namesakes_the_one_that_stands_there_letter_by_letter_comes_first():
    assert linked("films by ridley scott")[0] == "ridley scott"
    assert linked("films by Ridley Scott") == ["Ridley Scott", "ridley scott"]


def test_a_word_that_questions_use_is_less_likely_a_name():
    words = WordVocabulary.of([["who", "is", "the", "director", "of"]] * 10)
    assert linked("who is the director of Rio", words.surprisal)[0] == "Rio"


def test_a_mark_is_honoured():
    assert linked("what is [Blade] like, Blade Runner aside") == ["Blade"]
    assert linked("films about [$]") == ["$"]
    assert linked("films about [amelie]") == ["Amélie"]
    assert unmark("who wrote [Blade Runner]?") == "who wrote Blade Runner?"


def test_a_mention_says_where_it_stands():
    text = "who, if anybody, directed «blade  runner»?"
    mention = LINKER.link(text)[0]
    assert text[mention.start : mention.stop] == "blade  runner"


def test_a_question_without_a_known_name_says_which_come_near():
    with pytest.raises(QuestionError, match=r"names no entity.*Similar names: 'Blade Runner'"):
        LINKER.require("who directed Blde Runer")


def test_a_question_in_another_script_says_that_it_names_nothing():
    with pytest.raises(QuestionError, match="names no entity"):
        LINKER.require("кто снял этот фильм")


@given(st.lists(st.sampled_from([*NAMES, "the", "of", "who"]), max_size=6).map(" ".join))
def test_every_name_that_stands_in_a_text_is_found(text):
    found = set(linked(text))
    for name in set(NAMES) - {"$"}:
        if f" {name} " in f" {text} ":
            assert name in found

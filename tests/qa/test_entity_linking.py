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


def test_all_names_in_a_text_are_found_the_longest_first():
    assert linked("who directed Blade Runner") == ["Blade Runner", "Blade"]


def test_case_and_accents_do_not_matter():
    assert linked("WHO WROTE AMELIE")[0] == "Amélie"


def test_only_whole_words_are_names():
    assert linked("riot on the blades of 120") == []


def test_of_names_that_differ_in_case_the_one_in_the_text_comes_first():
    assert linked("films by ridley scott")[0] == "ridley scott"
    assert linked("films by Ridley Scott") == ["Ridley Scott", "ridley scott"]


def test_a_word_that_is_frequent_in_questions_is_less_likely_a_name():
    words = WordVocabulary.of([["who", "is", "the", "director", "of"]] * 10)
    assert linked("who is the director of Rio", words.surprisal)[0] == "Rio"


def test_a_marked_name_is_the_only_mention():
    assert linked("what is [Blade] like, Blade Runner aside") == ["Blade"]
    assert linked("films about [$]") == ["$"]
    assert linked("films about [amelie]") == ["Amélie"]
    assert unmark("who wrote [Blade Runner]?") == "who wrote Blade Runner?"


def test_a_mention_has_its_span_in_the_text():
    text = "who, if anybody, directed «blade  runner»?"
    mention = LINKER.link(text)[0]
    assert text[mention.start : mention.stop] == "blade  runner"


def test_the_error_for_an_unknown_name_lists_similar_names():
    with pytest.raises(QuestionError, match=r"names no entity.*Similar names: 'Blade Runner'"):
        LINKER.require("who directed Blde Runer")


def test_a_question_in_another_script_names_no_entity():
    with pytest.raises(QuestionError, match="names no entity"):
        LINKER.require("кто снял этот фильм")


@given(st.lists(st.sampled_from([*NAMES, "the", "of", "who"]), max_size=6).map(" ".join))
def test_every_name_of_whole_words_in_a_text_is_found(text):
    found = set(linked(text))
    for name in set(NAMES) - {"$"}:
        if f" {name} " in f" {text} ":
            assert name in found


def test_a_mark_without_a_known_name_has_no_mention():
    assert linked("who directed [Nothing], Rio aside") == []


def test_similar_names_leave_out_those_that_share_only_common_words():
    words = WordVocabulary.of([["director", "of"]] * 50)
    assert LINKER.nearest("director of Ridlay Scot", words.surprisal) == ["Ridley Scott", "ridley scott"]


def test_a_name_that_occurs_twice_has_two_mentions():
    assert [mention.start for mention in LINKER.link("Rio or Rio")] == [0, 7]

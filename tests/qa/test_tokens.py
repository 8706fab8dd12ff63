import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import QuestionError
from neurallp.qa.tokens import MAX_WORDS, UNKNOWN, WordVocabulary, split_words, tokenise


def test_words_are_compared_without_case_accents_and_punctuation():
    assert split_words("Who's in «AMÉLIE»?") == split_words("who s in amelie")


@given(st.text())
def test_the_span_of_every_token_is_in_the_text(text):
    for token in tokenise(text):
        assert text[token.start : token.stop].strip()


@pytest.mark.parametrize("text", ["", "   ", "?!", "\n"])
def test_an_empty_question_is_refused(text):
    with pytest.raises(QuestionError, match="empty"):
        split_words(text)


def test_a_question_of_too_many_words_is_refused():
    split_words("word " * MAX_WORDS)
    with pytest.raises(QuestionError, match=r"10,000 words; at most 200"):
        split_words("word " * 10_000)


def test_frequent_words_have_low_ids_and_low_surprisal():
    words = WordVocabulary.of([["who", "wrote"], ["who", "directed"], ["who", "wrote"]])
    assert words.id("who") < words.id("wrote") < words.id("directed")
    assert words.surprisal("who") < words.surprisal("wrote") < words.surprisal("rio")
    assert words.id("rio") == UNKNOWN


def test_words_of_equal_frequency_are_in_alphabetical_order():
    assert list(WordVocabulary.of([["b", "a"], ["c", "c"]]).counts) == ["c", "a", "b"]


def test_a_vocabulary_without_words_knows_only_the_special_ids():
    words = WordVocabulary.of([])
    assert len(words) == 3
    assert words.surprisal("who") == 0
    assert "who" not in words

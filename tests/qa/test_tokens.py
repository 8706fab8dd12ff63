import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import QuestionError
from neurallp.qa.tokens import MAX_WORDS, UNKNOWN, WordVocabulary, split_words, tokenise


def test_words_are_compared_without_case_accents_and_punctuation():
    assert split_words("Who's in «AMÉLIE»?") == split_words("who s in amelie")


@given(st.text())
def test_every_word_stands_where_it_says(text):
    for token in tokenise(text):
        assert text[token.start : token.stop].strip()


@pytest.mark.parametrize("text", ["", "   ", "?!", "\n"])
def test_an_empty_question_is_refused(text):
    with pytest.raises(QuestionError, match="empty"):
        split_words(text)


def test_a_question_as_long_as_a_book_is_refused():
    split_words("word " * MAX_WORDS)
    with pytest.raises(QuestionError, match=r"10,000 words; at most 200"):
        split_words("word " * 10_000)


def test_the_most_frequent_words_have_the_lowest_numbers_and_surprise_least():
    words = WordVocabulary.of([["who", "wrote"], ["who", "directed"], ["who", "wrote"]])
    assert words.id("who") < words.id("wrote") < words.id("directed")
    assert words.surprisal("who") < words.surprisal("wrote") < words.surprisal("rio")
    assert words.id("rio") == UNKNOWN

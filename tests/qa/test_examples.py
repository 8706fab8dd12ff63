import numpy as np
import pytest

from neurallp import KnowledgeBase, QuestionError, WordQuestion
from neurallp.qa.examples import Interpreter, QuestionExamples, make_examples, phrase_around
from neurallp.qa.model import Phrase
from neurallp.qa.tokens import WordVocabulary

KB = KnowledgeBase.from_triples(
    [
        ("Rio", "directed_by", "Anna"),
        ("Rio", "directed_by", "Bob"),
        ("Blade Runner", "directed_by", "Carl"),
        ("Blade", "directed_by", "Bob"),
    ]
)

QUESTIONS = [
    WordQuestion("who directed [Rio]", ("Anna", "Bob", "Anna"), "one"),
    WordQuestion("who directed [Blade]", ("Nobody", "Bob"), "two"),
    WordQuestion("who directed what", ("Anna",), "three"),
    WordQuestion("by whom is [Blade Runner]", ("Nobody",)),
]


def examples():
    return make_examples(QUESTIONS, Interpreter(KB))


def names(ids):
    return [KB.entities[each] for each in ids]


def test_the_phrase_is_the_words_around_the_mention():
    text = "who, pray, directed Rio of old?"
    mention = Interpreter(KB).interpret(text)[0].mention
    assert phrase_around(text, mention) == Phrase(("who", "pray", "directed", "of", "old"), 3)


def test_unmarking_removes_the_brackets_and_keeps_the_rest():
    assert QUESTIONS[0].unmarked == WordQuestion("who directed Rio", QUESTIONS[0].answers, "one")


def test_all_interpretations_come_in_order_of_their_mentions():
    found = Interpreter(KB).interpret("who directed Blade Runner")
    assert [each.mention.name for each in found] == ["Blade Runner", "Blade"]
    assert names(each.source for each in found) == ["Blade Runner", "Blade"]
    assert found[1].phrase == Phrase(("who", "directed", "runner"), 2)


def test_a_vocabulary_makes_common_words_less_likely_names():
    words = WordVocabulary.of([["blade"]] * 9)
    text = "which blade is in Rio"
    assert Interpreter(KB).interpret(text)[0].mention.name == "Blade"
    assert Interpreter(KB, words).interpret(text)[0].mention.name == "Rio"


def test_a_question_without_words_or_entity_is_refused():
    for text in ("", "who directed what"):
        with pytest.raises(QuestionError):
            Interpreter(KB).interpret(text)


def test_questions_without_an_entity_are_returned_apart():
    found, failed = examples()
    assert failed == [QUESTIONS[2]]
    assert names(found.sources) == ["Rio", "Blade", "Blade Runner"]
    assert found.kinds == ("one", "two", None)


def test_answers_are_counted_once_and_those_outside_the_knowledge_base_only_counted():
    found, _ = examples()
    assert [names(found.answers_of(row)) for row in range(3)] == [["Anna", "Bob"], ["Bob"], []]
    assert found.num_right.tolist() == [2, 2, 1]
    assert found.answerable.tolist() == [0, 1]
    assert found.rows.tolist() == [0, 0, 1]


def test_rows_can_be_selected_in_any_order_and_repeated():
    found, _ = examples()
    some = found[np.array([2, 0, 0])]
    assert names(some.sources) == ["Blade Runner", "Rio", "Rio"]
    assert [names(some.answers_of(row)) for row in range(3)] == [[], ["Anna", "Bob"], ["Anna", "Bob"]]
    assert some.num_right.tolist() == [1, 2, 2]
    assert some.phrases == (found.phrases[2], found.phrases[0], found.phrases[0])


def test_no_questions_make_no_examples():
    found = QuestionExamples.of([], [], KB)
    assert len(found) == len(found.answers) == len(found.answerable) == 0

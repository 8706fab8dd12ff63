"""A reader of questions: loaded by the first one, and used by one thread at a time."""

from concurrent.futures import ThreadPoolExecutor

from neurallp.web.word_reader import NUM_EXAMPLES, WordReader


def test_the_model_is_loaded_once_by_the_first_question(films):
    loaded = []

    def load():
        loaded.append(films.program)
        return films.program

    reader = WordReader(load, films.kb)
    assert not loaded
    texts = [each.unmarked.text for each in films.questions[:8]]
    with ThreadPoolExecutor(4) as pool:
        told = list(pool.map(lambda text: reader.ask(text, 3), texts))
    assert len(loaded) == 1
    assert told == [films.program.ask_words(text, 3, min_probability=0) for text in texts]


def test_examples_ask_for_different_things_and_have_answers(films):
    reader = WordReader(lambda: films.program, films.kb)
    examples = reader.examples()
    assert len(examples) == NUM_EXAMPLES
    rules = [reader.ask(text, 1).answers[0].rule.body for text in examples]
    assert len(set(rules)) > 1
    assert reader.similar("nobody is named here") == []

import numpy as np
import torch

from neurallp.config import QuestionConfig
from neurallp.engines.reference import ReferenceEngine
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Relations
from neurallp.qa.model import Phrase, QuestionModel
from neurallp.qa.tokens import WordVocabulary

WORDS = WordVocabulary.of([["who", "directed", "films", "by", "the", "director", "of"]])


def model(**settings):
    torch.manual_seed(0)
    config = QuestionConfig(**{"embedding_size": 8, "hidden_size": 8, **settings})
    return QuestionModel(Relations(["directed_by", "written_by"]), WORDS, config).eval()


def operators(asked, *phrases):
    return asked.attend([Phrase(tuple(words.split()), place) for words, place in phrases]).operator[0]


def test_word_order_changes_the_attention_of_the_order_encoder_only():
    one, other = ("films directed by the director of", 6), ("director of the films directed by", 6)
    for encoder, same in (("mean", True), ("order", False)):
        first, second = operators(model(encoder=encoder), one, other)
        assert torch.allclose(first, second, atol=1e-6) is same


def test_the_entity_s_position_changes_the_attention_of_the_order_encoder():
    first, second = operators(model(encoder="order"), ("who directed", 0), ("who directed", 2))
    assert not torch.allclose(first, second)


def test_the_mean_encoder_uses_the_first_six_known_words():
    asked = model(encoder="mean")
    six = "who directed films by the director"
    first, second, third = operators(asked, (six, 6), (f"{six} of", 7), (f"wow {six}", 7))
    torch.testing.assert_close(first, second)
    torch.testing.assert_close(first, third)  # an unknown word is skipped


def test_a_question_of_unknown_words_has_attention_that_sums_to_1():
    for encoder in ("mean", "order"):
        attention = model(encoder=encoder).attend([Phrase(("wow",), 0)])
        torch.testing.assert_close(attention.operator.sum(-1), torch.ones(1, 1, 3))


def test_padding_does_not_change_the_attention_of_a_question():
    for encoder in ("mean", "order"):
        asked = model(encoder=encoder)
        together = operators(asked, ("who directed", 2), ("films by the director of", 5))
        alone = operators(asked, ("who directed", 2))
        torch.testing.assert_close(together[:1], alone)


def test_the_source_scores_0_unless_a_path_may_return():
    facts = np.array([[0, 0, 2], [1, 0, 2]])
    engine = ReferenceEngine(Operators.of_facts(facts, 3, 2))
    for may_return in (True, False):
        scores = model(may_return=may_return).scores(engine, np.array([0]), [Phrase(("who",), 1)]).dense()
        assert bool(scores[0, 0] > 0) is may_return


def test_questions_that_share_a_phrase_score_as_each_alone():
    facts = np.array([[0, 0, 2], [1, 1, 2], [2, 0, 3]])
    engine = ReferenceEngine(Operators.of_facts(facts, 4, 2))
    asked, same, other = model(), Phrase(("who",), 1), Phrase(("films", "by"), 2)
    together = asked.scores(engine, np.array([0, 1, 0]), [same, same, other]).dense()
    for row, (source, phrase) in enumerate([(0, same), (1, same), (0, other)]):
        alone = asked.scores(engine, np.array([source]), [phrase]).dense()[0]
        np.testing.assert_allclose(together[row], alone, rtol=1e-6, atol=1e-9)


def test_pair_scores_are_entries_of_all_scores_and_the_sums_of_their_rows():
    facts = np.array([[0, 0, 2], [1, 1, 2], [2, 0, 3]])
    engine = ReferenceEngine(Operators.of_facts(facts, 4, 2))
    asked, phrases = model(may_return=True), [Phrase(("who",), 1), Phrase(("films", "by"), 2)]
    sources, rows, entities = np.array([0, 1]), np.array([0, 1, 1]), np.array([2, 2, 3])
    pairs, totals = asked.pair_scores(engine, sources, phrases, rows, entities)
    scores = asked.scores(engine, sources, phrases).dense()
    np.testing.assert_allclose(pairs.detach(), scores[rows, entities], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(totals.detach(), scores.sum(axis=1), rtol=1e-5)

import numpy as np
import torch

from neurallp.config import QuestionConfig
from neurallp.engines.reference import ReferenceEngine
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Relations
from neurallp.qa.examples import Interpreter, phrase_around
from neurallp.qa.model import Phrase, QuestionModel
from neurallp.qa.tokens import WordVocabulary

WORDS = WordVocabulary.of([["who", "directed", "films", "by", "the", "director", "of"]])


def model(**settings):
    torch.manual_seed(0)
    config = QuestionConfig(**{"embedding_size": 8, "hidden_size": 8, **settings})
    return QuestionModel(Relations(["directed_by", "written_by"]), WORDS, config).eval()


def operators(asked, *phrases):
    return asked.attend([Phrase(tuple(words.split()), place) for words, place in phrases]).operator[0]


def test_the_words_of_a_question_are_those_around_its_entity():
    mention = Interpreter(cinema_of("Rio")).interpret("who, pray, directed Rio of old?")[0].mention
    assert phrase_around("who, pray, directed Rio of old?", mention) == Phrase(
        ("who", "pray", "directed", "of", "old"), 3
    )


def cinema_of(*names):
    from neurallp import KnowledgeBase

    return KnowledgeBase.from_triples([(name, "directed_by", "someone else") for name in names])


def test_the_papers_encoder_does_not_see_the_order_of_words_and_ours_does():
    one, other = ("films directed by the director of", 6), ("director of the films directed by", 6)
    for encoder, same in (("mean", True), ("order", False)):
        first, second = operators(model(encoder=encoder), one, other)
        assert torch.allclose(first, second, atol=1e-6) is same


def test_our_encoder_sees_where_the_entity_stood():
    first, second = operators(model(encoder="order"), ("who directed", 0), ("who directed", 2))
    assert not torch.allclose(first, second)


def test_the_papers_encoder_reads_six_words_of_the_hundred_most_frequent():
    asked = model(encoder="mean")
    six = "who directed films by the director"
    first, second, third = operators(asked, (six, 6), (f"{six} of", 7), (f"wow {six}", 7))
    torch.testing.assert_close(first, second)
    torch.testing.assert_close(first, third)  # an unknown word is not read


def test_a_question_of_unknown_words_only_has_attention_all_the_same():
    for encoder in ("mean", "order"):
        attention = model(encoder=encoder).attend([Phrase(("wow",), 0)])
        torch.testing.assert_close(attention.operator.sum(-1), torch.ones(1, 1, 3))


def test_a_question_reads_the_same_alone_and_in_company():
    for encoder in ("mean", "order"):
        asked = model(encoder=encoder)
        together = operators(asked, ("who directed", 2), ("films by the director of", 5))
        alone = operators(asked, ("who directed", 2))
        torch.testing.assert_close(together[:1], alone)


def test_the_source_scores_0_where_a_walk_may_not_return():
    facts = np.array([[0, 0, 2], [1, 0, 2]])
    engine = ReferenceEngine(Operators.of_facts(facts, 3, 2))
    for may_return in (True, False):
        scores = model(may_return=may_return).scores(engine, np.array([0]), [Phrase(("who",), 1)]).dense()
        assert bool(scores[0, 0] > 0) is may_return

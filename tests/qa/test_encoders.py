import pytest
import torch

from neurallp.qa.encoders import MeanEncoder, OrderEncoder, make_encoder, pad
from neurallp.qa.tokens import ENTITY, NUM_SPECIAL, PADDING, UNKNOWN, WordVocabulary

WORDS = WordVocabulary.of([["who", "directed", "the", "films", "of"]])


def test_the_name_of_an_encoder_gives_its_class():
    assert isinstance(make_encoder("mean", WORDS, 4), MeanEncoder)
    assert isinstance(make_encoder("order", WORDS, 4), OrderEncoder)


def test_padding_fills_questions_to_the_longest_one():
    assert pad([[4, 5, 6], [7]]).tolist() == [[4, 5, 6], [7, PADDING, PADDING]]


@pytest.mark.parametrize(("questions", "shape"), [([], (0, 1)), ([[]], (1, 1)), ([[], [3]], (2, 1))])
def test_padding_has_at_least_one_position(questions, shape):
    assert pad(questions).shape == shape


def test_the_order_encoder_puts_the_entity_at_its_position():
    encoder = OrderEncoder(WORDS, 4)
    who, films = WORDS.id("who"), WORDS.id("films")
    assert encoder.token_ids(("who", "films"), 1) == [who, ENTITY, films]
    assert encoder.token_ids(("who", "films"), 2) == [who, films, ENTITY]
    assert encoder.token_ids(("rio",), 0) == [ENTITY, UNKNOWN]


def test_the_mean_encoder_keeps_six_words_of_the_hundred_most_frequent():
    words = WordVocabulary.of([[f"w{number:03}"] * (200 - number) for number in range(150)])
    encoder = MeanEncoder(words, 4)
    rare, common = "w120", "w005"
    assert words.id(rare) >= NUM_SPECIAL + MeanEncoder.num_words
    assert encoder.token_ids((rare, common), 0) == [words.id(common)]
    assert len(encoder.token_ids(tuple(f"w{number:03}" for number in range(9)), 0)) == 6


def test_the_mean_encoder_gives_the_mean_of_the_word_embeddings():
    encoder = MeanEncoder(WORDS, 4)
    first, second = WORDS.id("who"), WORDS.id("films")
    found = encoder(torch.tensor([[first, second], [first, PADDING]]))
    rows = encoder.embedding.weight
    torch.testing.assert_close(found, torch.stack([(rows[first] + rows[second]) / 2, rows[first]]))


def test_a_question_without_words_has_a_vector_of_zeros_in_the_mean_encoder():
    assert MeanEncoder(WORDS, 4)(torch.tensor([[PADDING]])).tolist() == [[0.0] * 4]


def test_the_order_encoder_drops_words_in_training_only_and_never_the_entity(monkeypatch):
    torch.manual_seed(0)
    encoder = OrderEncoder(WORDS, 4)
    monkeypatch.setattr(encoder, "word_dropout", 1.0)
    words = torch.tensor([encoder.token_ids(("who", "films"), 1)])
    unknown = torch.tensor([[UNKNOWN, ENTITY, UNKNOWN]])
    encoder.train()
    dropped = encoder(words)
    encoder.eval()
    torch.testing.assert_close(dropped, encoder(unknown))
    assert not torch.allclose(encoder(words), dropped)

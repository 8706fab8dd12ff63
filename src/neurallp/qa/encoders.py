"""Question encoders: they map the words of a question to the query vector of the controller."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..config import EncoderName
from .tokens import ENTITY, NUM_SPECIAL, PADDING, UNKNOWN, WordVocabulary


class MeanEncoder(nn.Module):
    """The paper's encoder: the mean of the embeddings of at most six of the 100 most frequent words."""

    num_words = 100
    max_words = 6

    def __init__(self, vocabulary: WordVocabulary, size: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(min(len(vocabulary), NUM_SPECIAL + self.num_words), size, PADDING)

    def token_ids(self, words: Sequence[str], position: int) -> list[int]:
        """Return the ids of the words that are encoded; the entity's position is ignored."""
        known = (self.vocabulary.id(word) for word in words)
        frequent = [word for word in known if NUM_SPECIAL <= word < self.embedding.num_embeddings]
        return frequent[: self.max_words]

    def forward(self, words: Tensor) -> Tensor:
        """Return (question, size) query vectors of padded word ids, (question, position)."""
        count = (words != PADDING).sum(1, keepdim=True).clamp(min=1)
        mean: Tensor = self.embedding(words).sum(1) / count
        return mean


class OrderEncoder(nn.Module):
    """A bidirectional GRU over all words, so that their order and the entity's position count."""

    #: Share of the words replaced by the unknown word in training, so that its embedding is trained too.
    word_dropout = 0.05

    def __init__(self, vocabulary: WordVocabulary, size: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), size, PADDING)
        self.gru = nn.GRU(size, size // 2, batch_first=True, bidirectional=True)

    def token_ids(self, words: Sequence[str], position: int) -> list[int]:
        """Return the ids of all words, with the entity's own id at its position."""
        ids = [self.vocabulary.id(word) for word in words]
        return [*ids[:position], ENTITY, *ids[position:]]

    def forward(self, words: Tensor) -> Tensor:
        """Return (question, size) query vectors of padded word ids, (question, position)."""
        if self.training:
            dropped = (torch.rand(words.shape, device=words.device) < self.word_dropout) & (
                words >= NUM_SPECIAL
            )
            words = words.masked_fill(dropped, UNKNOWN)
        lengths = (words != PADDING).sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embedding(words), lengths, batch_first=True, enforce_sorted=False
        )
        last: Tensor = self.gru(packed)[1]  # (direction, question, size / 2)
        return last.transpose(0, 1).flatten(1)


def make_encoder(name: EncoderName, vocabulary: WordVocabulary, size: int) -> MeanEncoder | OrderEncoder:
    """Return the encoder called `name`."""
    return MeanEncoder(vocabulary, size) if name == "mean" else OrderEncoder(vocabulary, size)


def pad(questions: Sequence[Sequence[int]]) -> Tensor:
    """Return word ids as (question, position), padded to the longest question and at least one position."""
    rows = [torch.tensor([*words], dtype=torch.long) for words in questions] or [torch.zeros(0).long()]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)[: len(questions)]
    return padded if padded.shape[1] else padded.new_full((len(questions), 1), PADDING)

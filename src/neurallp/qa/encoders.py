"""Question encoders: the words of a question as the one vector that the controller reads."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..config import EncoderName
from .tokens import ENTITY, NUM_SPECIAL, PADDING, UNKNOWN, WordVocabulary


class MeanEncoder(nn.Module):
    """The paper's encoder: the mean of the embeddings of at most six of the 100 most frequent words."""

    num_words = 100
    most_read = 6

    def __init__(self, vocabulary: WordVocabulary, size: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(min(len(vocabulary), NUM_SPECIAL + self.num_words), size, PADDING)

    def read(self, words: Sequence[str], place: int) -> list[int]:
        """Return the numbers of the words read; where the entity stood is not among them."""
        known = (self.vocabulary.id(word) for word in words)
        frequent = [word for word in known if NUM_SPECIAL <= word < self.embedding.num_embeddings]
        return frequent[: self.most_read]

    def forward(self, words: Tensor) -> Tensor:
        """Return (question, size) for padded word numbers, (question, place)."""
        count = (words != PADDING).sum(1, keepdim=True).clamp(min=1)
        mean: Tensor = self.embedding(words).sum(1) / count
        return mean


class OrderEncoder(nn.Module):
    """A recurrent encoder over all words, both ways, so that their order counts and the entity's place."""

    dropped = 0.05  # of the words in training are taken for unknown ones, which so learn to mean little

    def __init__(self, vocabulary: WordVocabulary, size: int) -> None:
        super().__init__()
        self.vocabulary = vocabulary
        self.embedding = nn.Embedding(len(vocabulary), size, PADDING)
        self.gru = nn.GRU(size, size // 2, batch_first=True, bidirectional=True)

    def read(self, words: Sequence[str], place: int) -> list[int]:
        """Return the numbers of all words, with the entity at its place."""
        numbers = [self.vocabulary.id(word) for word in words]
        return [*numbers[:place], ENTITY, *numbers[place:]]

    def forward(self, words: Tensor) -> Tensor:
        """Return (question, size) for padded word numbers, (question, place)."""
        if self.training:
            dropped = (torch.rand(words.shape, device=words.device) < self.dropped) & (words >= NUM_SPECIAL)
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
    """Return word numbers as (question, place), padded to the longest question and at least one place."""
    rows = [torch.tensor([*words], dtype=torch.long) for words in questions] or [torch.zeros(0).long()]
    padded = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PADDING)[: len(questions)]
    return padded if padded.shape[1] else padded.new_full((len(questions), 1), PADDING)

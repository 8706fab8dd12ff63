"""QuestionModel: encodes a question's words as attention; an engine applies it from the question's entity."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ..config import QuestionConfig
from ..controller.attention import Attention
from ..controller.controller import Controller
from ..engines.base import Engine, QueryBatch
from ..graph.arrays import Ids
from ..graph.scores import Scores
from ..graph.vocabulary import Relations
from .encoders import make_encoder, pad
from .tokens import WordVocabulary


@dataclass(frozen=True)
class Phrase:
    """The words of a question without its entity, and the entity's position among them."""

    words: tuple[str, ...]
    position: int


class QuestionModel(nn.Module):
    """Scores the answers to (source, phrase) questions by soft chain rules over `relations`."""

    def __init__(self, relations: Relations, vocabulary: WordVocabulary, config: QuestionConfig) -> None:
        super().__init__()
        self.relations = relations
        self.vocabulary = vocabulary
        self.config = config
        self.encoder = make_encoder(config.encoder, vocabulary, config.embedding_size)
        self.controller = Controller(
            config.embedding_size, config.hidden_size, relations.num_operators, config.num_steps
        )

    def token_ids(self, phrases: Sequence[Phrase]) -> Tensor:
        """Return the padded ids of the words that the encoder uses, (question, position)."""
        return pad([self.encoder.token_ids(phrase.words, phrase.position) for phrase in phrases])

    def encode(self, phrases: Sequence[Phrase]) -> Tensor:
        """Return the query vectors, (question, embedding)."""
        device = self.controller.end.device
        vectors: Tensor = self.encoder(self.token_ids(phrases).to(device))
        return vectors

    def attend(self, phrases: Sequence[Phrase]) -> Attention:
        """Return the attention of phrases, one row each."""
        operator, memory = self.controller(self.encode(phrases), None, self.config.memory_keys)
        return Attention(operator.unsqueeze(0), memory.unsqueeze(0))

    def pair_scores(
        self, engine: Engine, sources: Ids, phrases: Sequence[Phrase], rows: Ids, entities: Ids
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of (question, entity) pairs, and each question's sum over all entities."""
        attention, walks = self._walks(sources, phrases)
        return engine.pair_scores(attention, walks, rows, entities, normalize=self.config.normalize)

    @torch.no_grad()
    def scores(self, engine: Engine, sources: Ids, phrases: Sequence[Phrase]) -> Scores:
        """Return the scores of all entities; the source scores 0 unless a path may return to it."""
        attention, walks = self._walks(sources, phrases)
        scores = engine.scores(attention, walks, normalize=self.config.normalize)
        if self.config.may_return:
            return scores
        return scores.replaced(np.arange(len(sources)), sources, 0.0)

    def _walks(self, sources: Ids, phrases: Sequence[Phrase]) -> tuple[Attention, QueryBatch]:
        # Questions from templates share phrases: the encoder and the controller run once for each.
        distinct = list(dict.fromkeys(phrases))
        row = {phrase: i for i, phrase in enumerate(distinct)}
        rows = np.array([row[phrase] for phrase in phrases], dtype=np.int64)
        return self.attend(distinct), QueryBatch.unmasked(sources, rows, may_return=self.config.may_return)

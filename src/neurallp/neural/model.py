"""NeuralLP: the controller's attention, walked by an engine."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import ModelConfig
from ..controller.attention import Attention
from ..controller.controller import RelationController
from ..engines.base import Engine, QueryBatch, ScoresWithBackward
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.scores import Scores
from ..graph.vocabulary import Relations


class NeuralLP(nn.Module):
    """Scores the answers to (source, query) by soft chain rules over `relations`."""

    reflexive: Tensor

    def __init__(
        self,
        relations: Relations,
        config: ModelConfig,
        reflexive: NDArray[np.bool_] | None = None,
        allowed: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__()
        self.relations = relations
        self.config = config
        self.controller = RelationController(
            relations.num_operators,
            num_steps=config.num_steps,
            num_controllers=config.num_controllers,
            embedding_size=config.embedding_size,
            hidden_size=config.hidden_size,
            memory_keys=config.memory_keys,
            allowed=None if allowed is None else torch.as_tensor(allowed),
        )
        flags = np.ones(len(relations), dtype=bool) if reflexive is None else reflexive
        self.register_buffer("reflexive", torch.as_tensor(np.tile(flags, 2)))

    @classmethod
    def for_knowledge(cls, kb: KnowledgeBase, config: ModelConfig) -> "NeuralLP":
        """Return an untrained model for the relations of `kb`, and what its facts say of them."""
        limit = config.operators_per_query
        allowed = None if limit is None else most_related_operators(kb, limit)
        return cls(kb.relations, config, kb.reflexive_relations, allowed)

    def attend(self, queries: Ids) -> Attention:
        """Return the attention of distinct queries."""
        device = self.reflexive.device
        attention: Attention = self.controller(torch.as_tensor(queries, device=device))
        return attention

    def score_with_backward(
        self, engine: Engine, walks: QueryBatch, rows: Ids, entities: Ids
    ) -> ScoresWithBackward:
        """Return the scores of (walk, entity) pairs, each walk's total, and the way back to all weights.

        `walks.rows` are queries here.
        """
        # The attention depends on the query alone: once per distinct query, not once per question.
        queries, places = np.unique(walks.rows, return_inverse=True)
        attention, to_weights = self.controller.read(torch.as_tensor(queries, device=self.reflexive.device))
        walks, normalize = replace(walks, rows=places), self.config.normalize
        followed = engine.score_with_backward(attention, walks, rows, entities, normalize=normalize)
        return replace(followed, backward=lambda *gradients: to_weights(*followed.backward(*gradients)))

    @torch.no_grad()
    def scores(
        self,
        engine: Engine,
        sources: Ids,
        queries: Ids,
        attend: Callable[[Ids], Attention] | None = None,
    ) -> Scores:
        """Return the scores of all entities; a source that is no candidate answer scores -inf.

        `attend` takes the place of the method, for those who keep its results.
        """
        distinct_queries, rows = np.unique(queries, return_inverse=True)
        attention = (attend or self.attend)(distinct_queries)
        scores = engine.scores(attention, QueryBatch.unmasked(sources, rows), normalize=self.config.normalize)
        excluded = self.excludes_source(queries)
        return scores.replaced(np.flatnonzero(excluded), sources[excluded], -np.inf)

    def excludes_source(self, queries: Ids) -> NDArray[np.bool_]:
        """Return for each query whether its source is no candidate answer: no fact of it is reflexive."""
        if not self.config.exclude_source:
            return np.zeros(len(queries), dtype=bool)
        flags: NDArray[np.bool_] = ~self.reflexive.cpu().numpy()[queries]
        return flags


@dataclass(frozen=True, eq=False)
class ModelScorer:
    """A model bound to the engine that walks for it; ranks like any other scorer."""

    model: NeuralLP
    engine: Engine

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.model.scores(self.engine, sources, queries)


def most_related_operators(kb: KnowledgeBase, limit: int) -> NDArray[np.bool_]:
    """Return for each query which `limit` operators to use: both ways of the relations nearest to it.

    The paper's device for FB15K: (query, operator) flags; near is what shares most entities with the query.
    """
    num_relations = len(kb.relations)
    present = np.zeros((num_relations, len(kb.entities)), dtype=np.float32)
    present[kb.facts[:, 1], kb.facts[:, 0]] = 1
    present[kb.facts[:, 1], kb.facts[:, 2]] = 1
    shared = present @ present.T
    order = np.argsort(-shared, axis=1, kind="stable")[:, : max(1, limit // 2)]
    flags = np.zeros((num_relations, num_relations), dtype=bool)
    np.put_along_axis(flags, order, True, axis=1)
    return np.tile(flags, (2, 2))

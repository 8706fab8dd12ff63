"""NeuralLP: the controller computes attention, and an engine scores entities with it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ..config import ModelConfig
from ..controller.attention import Attention
from ..controller.controller import RelationController
from ..engines.base import Engine, QueryBatch
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import excludes_source
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
        allowed: NDArray[np.bool_] | Tensor | None = None,
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
        """Return an untrained model for the relations of `kb`; its facts show which are reflexive."""
        limit = config.operators_per_query
        allowed = None if limit is None else most_related_operators(kb, limit)
        return cls(kb.relations, config, kb.reflexive_relations, allowed)

    @torch.no_grad()
    def attend(self, queries: Ids) -> Attention:
        """Return the attention of distinct queries, without gradients."""
        attention: Attention = self.controller(self._tensor(queries))
        return attention

    def _tensor(self, ids: Ids) -> Tensor:
        return torch.as_tensor(ids, device=self.reflexive.device)

    def distinct_queries(self, batch: QueryBatch) -> tuple[Tensor, QueryBatch]:
        """Return the distinct operators asked for, and the batch with `rows` that number them.

        The attention depends on the query alone, so it is computed once for each distinct query.
        """
        queries, places = np.unique(batch.rows, return_inverse=True)
        return self._tensor(queries), replace(batch, rows=places)

    def pair_scores(
        self, engine: Engine, batch: QueryBatch, rows: Ids, entities: Ids
    ) -> tuple[Tensor, Tensor]:
        """Return the scores of (query, entity) pairs, and each query's total; autograd differentiates both.

        `batch.rows` are the operators asked for.
        """
        queries, batch = self.distinct_queries(batch)
        attention = self.controller(queries)
        return engine.pair_scores(attention, batch, rows, entities, normalize=self.config.normalize)

    @torch.no_grad()
    def scores(
        self,
        engine: Engine,
        sources: Ids,
        queries: Ids,
        attend: Callable[[Ids], Attention] | None = None,
    ) -> Scores:
        """Return the scores of all entities; a source that is no candidate answer scores -inf.

        `attend` replaces the method of that name, for callers that cache its results.
        """
        distinct_queries, rows = np.unique(queries, return_inverse=True)
        attention = (attend or self.attend)(distinct_queries)
        scores = engine.scores(attention, QueryBatch.unmasked(sources, rows), normalize=self.config.normalize)
        excluded = self.excludes_source(queries)
        return scores.replaced(np.flatnonzero(excluded), sources[excluded], -np.inf)

    def excludes_source(self, queries: Ids) -> NDArray[np.bool_]:
        """Return for each query whether its source is no candidate answer; none is where that is not set."""
        if not self.config.exclude_source:
            return np.zeros(len(queries), dtype=bool)
        return excludes_source(self.reflexive.cpu().numpy(), queries)


@dataclass(frozen=True, eq=False)
class ModelScorer:
    """A model together with an engine, as a `Scorer`."""

    model: NeuralLP
    engine: Engine

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.model.scores(self.engine, sources, queries)


def most_related_operators(kb: KnowledgeBase, limit: int) -> NDArray[np.bool_]:
    """Return which `limit` operators each query may use, as (query, operator) flags.

    They are the operators of the relations that share most entities with the query (the paper's FB15K).
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

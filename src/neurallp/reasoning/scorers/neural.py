"""Scores of a neural model, whose rules are read off its attention."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np
import torch

from ...controller.attention import Attention
from ...engines import make_engine
from ...graph.arrays import Floats, Ids
from ...graph.knowledge_base import KnowledgeBase
from ...graph.operators import Operators
from ...graph.scores import Scores
from ...neural.model import NeuralLP
from ...neural.rules import extract_rules
from ...rules.extraction import body_confidence
from ...rules.rule import Rule
from ..paths import PathSearch, memory_norms
from . import PathTerm, RuleShare, group_terms


class NeuralScorer:
    """A neural model bound to facts; its rules are extracted from its attention, which is cached by query."""

    has_logarithmic_scores: ClassVar[bool] = False

    def __init__(
        self, model: NeuralLP, kb: KnowledgeBase, operators: Operators, engine: str = "auto"
    ) -> None:
        self.model, self.operators = model, operators
        self.engine = make_engine(engine, operators)
        self._cache: dict[int, Attention] = {}

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.model.scores(self.engine, sources, queries, self._attend)

    reached = scores

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules that are extracted from the attention of one query."""
        return extract_rules(self.model, query)

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield what each rule adds along each path, largest first."""
        name = self.model.relations.operator_name
        excludes = bool(self.model.excludes_source(np.array([query]))[0])
        operator, memory = (each[:, 0].cpu().numpy() for each in self._attend(np.array([query])).pair)
        search = PathSearch(self.operators, operator / self._norms(operator, memory, source), memory)
        for body, path, contribution in search.paths(source, answer):
            confidence = body_confidence(body, operator, memory)
            yield (
                Rule(name(query), tuple(map(name, body)), confidence, distinct_ends=excludes),
                path,
                contribution,
            )

    def shares(self, source: int, query: int, answer: int) -> list[RuleShare]:
        """Return what each rule adds to the score of an answer."""
        return group_terms(self.terms(source, query, answer))

    @torch.no_grad()
    def _attend(self, queries: Ids) -> Attention:
        """Return attention in double precision, so that scores equal the sums of their terms."""
        if len(queries) > 1:
            return self.model.attend(queries).double()
        if queries[0] not in self._cache:
            self._cache[int(queries[0])] = self.model.attend(queries).double()
        return self._cache[int(queries[0])]

    def _norms(self, operator: Floats, memory: Floats, source: int) -> Floats:
        """Return the norms that the operator attention is divided by: (controller, step, 1)."""
        if not self.model.config.normalize:
            return np.ones(1)
        ranks = zip(operator, memory, strict=True)
        return np.array([memory_norms(self.operators, a, b, source) for a, b in ranks])[:, :, None]

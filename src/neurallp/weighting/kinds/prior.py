"""The prior: entities that are often answers of a query are so again. One dense feature for each query."""

from collections.abc import Iterator

import numpy as np

from ...graph.arrays import Floats, Ids
from ...graph.vocabulary import Relations
from ...rules.paths import Path, follow
from ...rules.rule import Rule
from ..graph_index import GraphIndex
from .base import Candidate, CandidateSearch, DenseKind


class Prior(DenseKind):
    """The feature of an entity is log(1 + the number of facts that have it as an answer of the query)."""

    name = "prior"
    num_features = 1
    sign = 0  # where each answer has one source, an entity that is an answer already is no other's

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the one prior of a query."""
        return [Candidate(self.name, (query,))]

    def values(self, index: GraphIndex, query: int) -> Floats:
        """Return log(1 + frequency)."""
        return np.log1p(_frequencies(index, query))

    def masked_values(self, index: GraphIndex, query: int) -> Floats:
        """Return the same with one fact less: the one that is asked."""
        return np.log1p(np.maximum(_frequencies(index, query) - 1, 0))

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query(X, Y) <= query(A, Y)`."""
        name = relations.operator_name(query)
        return Rule(name, (name,), confidence=0.0, kind=self.name)

    def candidate(self, rule: Rule, relations: Relations) -> None:
        """Return None: every query has a prior where the kind is wanted."""
        return

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield one fact of the answer, if possible of another source: the asked fact would prove itself."""
        source, answer = ends
        (query,) = index.body_ids(rule.body)
        others = follow(index.operators, np.array([answer]), index.operators.inverse(query))
        yield (int(others[np.argmax(others != source)]), answer), 1.0


def _frequencies(index: GraphIndex, query: int) -> Ids:
    """Return how many facts have each entity as an answer of `query`."""
    answers = index.operators.targets_at(index.operators.edges_by_operator(query))
    return np.bincount(answers, minlength=index.num_entities)


KIND = Prior()

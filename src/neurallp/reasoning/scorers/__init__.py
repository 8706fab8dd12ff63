"""Scorers: how a neural model, weighted rules or given rules score answers, one module for each."""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar, Protocol, runtime_checkable

from ...graph.arrays import Ids
from ...graph.knowledge_base import KnowledgeBase
from ...graph.operators import Operators
from ...graph.scores import Scores
from ...graph.vocabulary import Relations
from ...rules.paths import Path
from ...rules.rule import Rule
from ...weighting.weighted_rules import WeightedRules

#: A rule, one path along its body, and what both add to the score of the answer at the path's end.
PathTerm = tuple[Rule, Path, float]


@runtime_checkable
class HasRelations(Protocol):
    """What was learned for certain relations: a neural model, or weighted rules."""

    @property
    def relations(self) -> Relations:
        """The relations it knows."""
        ...


#: What answers: a neural model, weighted rules, or rules as they were given.
Basis = HasRelations | Iterable[Rule]


class RuleScorer(Protocol):
    """Scores answers on the facts of one knowledge base, and splits each score into the terms of a proof."""

    #: Whether scores are logarithms of what adds up over answers: weights are fitted by softmax.
    has_logarithmic_scores: ClassVar[bool]

    def __init__(self, basis: Any, kb: KnowledgeBase, operators: Operators, engine: str = "auto") -> None:
        """Bind a model or rules to facts; `engine` names the engine that scores a neural model."""
        ...

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, in double precision: the sum of all terms."""
        ...

    def reached(self, sources: Ids, queries: Ids) -> Scores:
        """Return the scores of the entities that a rule reaches from the source (a prior reaches all)."""
        ...

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the most confident first."""
        ...

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield the terms whose contributions add up to the score of an answer, largest first."""
        ...


def choose_scorer(basis: Basis) -> type[RuleScorer]:
    """Return the scorer of a model or of rules; only that of a neural model imports torch."""
    if isinstance(basis, WeightedRules):
        from .weighted import WeightedScorer

        return WeightedScorer
    if isinstance(basis, HasRelations):
        from .neural import NeuralScorer

        return NeuralScorer
    from .given import GivenScorer

    return GivenScorer

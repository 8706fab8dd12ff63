"""Scorers: how a neural model, weighted rules or given rules score answers, one module for each."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, ClassVar, NamedTuple, Protocol, runtime_checkable

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

#: Terms of a score that are grouped by rule, at most.
MAX_TERMS = 2000


class RuleShare(NamedTuple):
    """What rules that predict nearly the same answers add to one score, and the paths of the first."""

    rules: tuple[Rule, ...]
    contribution: float
    paths: Iterable[Path]  # the strongest first


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

    def shares(self, source: int, query: int, answer: int) -> list[RuleShare]:
        """Return what each rule, or group of rules, adds to the score of an answer, largest first."""
        ...


def group_terms(terms: Iterable[PathTerm]) -> list[RuleShare]:
    """Return the shares of rules whose terms come one by one; `MAX_TERMS` of them are taken."""
    totals: dict[Rule, float] = {}
    paths: dict[Rule, list[Path]] = {}
    for rule, path, contribution in islice(terms, MAX_TERMS):
        totals[rule] = totals.get(rule, 0.0) + contribution
        paths.setdefault(rule, []).append(path)
    shares = [RuleShare((rule,), total, paths[rule]) for rule, total in totals.items()]
    return sorted(shares, key=lambda share: -abs(share.contribution))


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

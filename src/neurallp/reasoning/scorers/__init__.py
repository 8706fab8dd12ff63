"""What a reasoner scores answers with: the protocol, and one module for each implementation."""

from collections.abc import Iterator
from typing import Protocol

from ...graph.arrays import Ids
from ...graph.scores import Scores
from ...rules.paths import Path
from ...rules.rule import Rule


class RuleScorer(Protocol):
    """What a reasoner asks: scores, the rules behind them, and what each adds along each path."""

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, in double precision: the sums of all their parts."""
        ...

    def reached(self, sources: Ids, queries: Ids) -> Scores:
        """Return the same, but only of what rules lead to from each source."""
        ...

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the most confident first."""
        ...

    def parts(self, source: int, query: int, answer: int) -> Iterator[tuple[Rule, Path, float]]:
        """Yield each rule and path to an answer with what it adds to the score, the largest first."""
        ...

"""What a reasoner scores answers with: the protocol, and one module for each implementation."""

from collections.abc import Iterator
from typing import Protocol

from ...graph.arrays import Ids
from ...graph.scores import Scores
from ...rules.paths import Path
from ...rules.rule import Rule

#: A rule, one path along its body, and what both add to the score of the answer at the path's end.
PathTerm = tuple[Rule, Path, float]


class RuleScorer(Protocol):
    """Scores answers on the facts of one knowledge base, and splits each score into terms of a proof."""

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

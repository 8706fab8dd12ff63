"""Results of a reasoner: answers, proofs, missing facts and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

from ..graph.arrays import Flags, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import is_inverse, relation_of
from ..rules.rule import Rule, atom
from .svg import draw_paths


@dataclass(frozen=True)
class Answer:
    """One answer to a question.

    `rank` is the realistic rank among all candidates, known facts included. `probability` is set where a
    calibration was fitted, for new answers that score above 0.
    """

    source: str
    query: str
    entity: str
    score: float
    rank: float
    num_candidates: int
    is_known: bool
    probability: float | None = None

    def __str__(self) -> str:
        return atom(self.query, self.source, self.entity)


@dataclass(frozen=True)
class Term:
    """One term of a score: what a rule adds along one path of facts (negative: it lowers the score)."""

    rule: Rule
    path: tuple[str, ...]
    contribution: float

    @property
    def conjunction(self) -> str:
        """The word that introduces the term in a sentence: `although` where it lowers the score."""
        return "because" if self.contribution >= 0 else "although"

    def __str__(self) -> str:
        return " and ".join(facts_along(self.rule, self.path)) or f"{self.path[0]} = {self.path[-1]}"


@dataclass(frozen=True)
class Proof:
    """Why an answer has its score: the terms of the score, largest first, as many as were asked for."""

    answer: Answer
    terms: tuple[Term, ...]

    @property
    def remainder(self) -> float:
        """The sum of the terms that are not shown: the score minus the contributions of those that are."""
        return self.answer.score - sum(term.contribution for term in self.terms)

    def __str__(self) -> str:
        if not self.terms:
            return f"{self.answer} has no proof."
        first, *rest = self.terms
        lines = [f"{self.answer} {first.conjunction} {first}"]
        return "\n".join([*lines, *(f"  and {term.conjunction} {term}" for term in rest)])

    def svg(self) -> str:
        """Return a drawing of the paths that lead from the source to the answer, largest term on top."""
        terms = [term for term in self.terms if term.rule.is_path_rule]
        links = [(term.rule.body, term.path, f"{term.contribution:.3g}") for term in terms]
        return draw_paths(str(self.answer), self.answer.source, self.answer.entity, links)

    def as_dict(self) -> dict[str, object]:
        """Return the proof as one JSON object."""
        terms = [
            {
                "rule": str(term.rule),
                "path": term.path,
                "contribution": term.contribution,
                "because": str(term),
            }
            for term in self.terms
        ]
        return {**vars(self.answer), "terms": terms, "remainder": self.remainder}


@dataclass(frozen=True)
class MissingFact:
    """A rule that lacks one fact to reach an answer: the completed path, and which link of it is missing.

    `num_ways` counts the facts at this link any one of which completes a path. Where the rule has inequality
    constraints it is an upper bound.
    """

    rule: Rule
    path: tuple[str, ...]
    position: int
    num_ways: int

    @property
    def missing(self) -> str:
        """The fact that completes the path."""
        return facts_along(self.rule, self.path)[self.position]

    @property
    def known(self) -> list[str]:
        """The other facts along the path, which the knowledge base has."""
        links = facts_along(self.rule, self.path)
        return links[: self.position] + links[self.position + 1 :]

    def __str__(self) -> str:
        bound = "at most " if self.rule.inequalities else ""
        others = f" (one of {bound}{self.num_ways:,} facts that would do)" if self.num_ways > 1 else ""
        given = f"{' and '.join(self.known)}, but " if self.known else ""
        return f"{given}{self.missing} is missing{others}"


@dataclass(frozen=True)
class WhyNot:
    """The rules that lack one fact each to reach an answer, the most confident first."""

    answer: Answer
    follows: bool
    missing_facts: tuple[MissingFact, ...]

    def __str__(self) -> str:
        if self.follows:
            return f"{self.answer} follows already; ask why with explain."
        if not self.missing_facts:
            return f"{self.answer} does not follow, and no rule is just one fact short of it."
        return "\n".join([f"{self.answer} does not follow:", *(f"  {fact}" for fact in self.missing_facts)])

    def as_dict(self) -> dict[str, object]:
        """Return the answer and its missing facts as one JSON object."""
        missing_facts = [
            {
                "rule": str(fact.rule),
                "confidence": fact.rule.confidence,
                "path": fact.path,
                "missing": fact.missing,
                "known": fact.known,
                "num_ways": fact.num_ways,
            }
            for fact in self.missing_facts
        ]
        return {**vars(self.answer), "follows": self.follows, "missing_facts": missing_facts}


def facts_along(rule: Rule, path: Sequence[str]) -> list[str]:
    """Return the facts along a path that follows a rule's body, as text."""
    return [atom(*link) for link in zip(rule.body, path, path[1:], strict=False)]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The best answers to many questions of one query, as columns; sorted by source, then by score."""

    kb: KnowledgeBase
    query: str
    sources: Ids
    entities: Ids
    scores: Floats
    is_known: Flags
    num_questions: int

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def ends(self) -> tuple[Ids, Ids]:
        """The heads and tails of the predicted facts: for an inverse query, answers and sources."""
        if is_inverse(self.query):
            return self.entities, self.sources
        return self.sources, self.entities

    @property
    def relation(self) -> str:
        """The relation of the facts predicted."""
        return relation_of(self.query)

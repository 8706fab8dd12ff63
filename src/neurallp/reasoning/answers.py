"""What a reasoner gives back: answers, proofs, what is missing for one, and predictions."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.vocabulary import INVERSE_MARK
from ..rules.rule import Rule, atom
from .svg import draw_paths


@dataclass(frozen=True)
class Answer:
    """One answer to a question; `rank` counts ties as realistic ranks do, known facts included.

    There is a `probability` only where a calibration says one: for new answers that score above 0.
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
class Part:
    """What one rule adds to a score along one path of facts."""

    rule: Rule
    path: tuple[str, ...]
    amount: float

    @property
    def tone(self) -> str:
        """How a sentence puts it: evidence may speak against an answer."""
        return "because" if self.amount >= 0 else "although"

    def __str__(self) -> str:
        return " and ".join(spell_links(self.rule, self.path)) or f"{self.path[0]} = {self.path[-1]}"


@dataclass(frozen=True)
class Proof:
    """Why an answer has its score: parts, the largest first, and what the parts not shown add up to."""

    answer: Answer
    parts: tuple[Part, ...]

    @property
    def remainder(self) -> float:
        """The score less the parts shown."""
        return self.answer.score - sum(part.amount for part in self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return f"{self.answer} has no proof."
        first, *rest = self.parts
        lines = [f"{self.answer} {first.tone} {first}"]
        return "\n".join([*lines, *(f"  and {part.tone} {part}" for part in rest)])

    def svg(self) -> str:
        """Return a drawing of the paths, the largest part on top."""
        led = [part for part in self.parts if part.rule.is_path_rule]
        links = [(part.rule.body, part.path, f"{part.amount:.3g}") for part in led]
        return draw_paths(str(self.answer), self.answer.source, self.answer.entity, links)

    def as_dict(self) -> dict[str, object]:
        """Return the proof as one JSON object."""
        return {
            **vars(self.answer),
            "parts": [
                {"rule": str(part.rule), "path": part.path, "amount": part.amount, "because": str(part)}
                for part in self.parts
            ],
            "remainder": self.remainder,
        }


@dataclass(frozen=True)
class MissingFact:
    """A rule that is one fact short of concluding: the path it would take, and which link of it is missing.

    `num_ways` counts the facts, any one of which would close it at this link; no more than that many where
    the rule wants different entities on its way.
    """

    rule: Rule
    path: tuple[str, ...]
    place: int
    num_ways: int

    @property
    def missing(self) -> str:
        """The fact that would close the gap."""
        return spell_links(self.rule, self.path)[self.place]

    @property
    def known(self) -> list[str]:
        """The facts along the path that are there."""
        links = spell_links(self.rule, self.path)
        return links[: self.place] + links[self.place + 1 :]

    def __str__(self) -> str:
        most = "at most " if self.rule.inequalities else ""
        others = f" (one of {most}{self.num_ways:,} facts that would do)" if self.num_ways > 1 else ""
        given = f"{' and '.join(self.known)}, but " if self.known else ""
        return f"{given}{self.missing} is missing{others}"


@dataclass(frozen=True)
class WhyNot:
    """Which rules would have concluded an answer but for one fact, the most confident first."""

    answer: Answer
    follows: bool
    missing_facts: tuple[MissingFact, ...]

    def __str__(self) -> str:
        if self.follows:
            return f"{self.answer} follows already; ask why with explain."
        if not self.missing_facts:
            return f"{self.answer} does not follow, and no rule is just one fact short of it."
        return "\n".join([f"{self.answer} does not follow:", *(f"  {gap}" for gap in self.missing_facts)])

    def as_dict(self) -> dict[str, object]:
        """Return the gaps as one JSON object."""
        missing_facts = [
            {
                "rule": str(gap.rule),
                "confidence": gap.rule.confidence,
                "path": gap.path,
                "missing": gap.missing,
                "known": gap.known,
                "num_ways": gap.num_ways,
            }
            for gap in self.missing_facts
        ]
        return {**vars(self.answer), "follows": self.follows, "missing_facts": missing_facts}


def spell_links(rule: Rule, path: Sequence[str]) -> list[str]:
    """Return the facts along a path that follows a rule's body."""
    return [atom(*link) for link in zip(rule.body, path, path[1:], strict=False)]


@dataclass(frozen=True, eq=False)
class Predictions:
    """The best answers to many questions of one query, as columns; the best of each source first."""

    kb: KnowledgeBase
    query: str
    sources: Ids
    entities: Ids
    scores: Floats
    is_known: NDArray[np.bool_]
    num_questions: int

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def ends(self) -> tuple[Ids, Ids]:
        """Heads and tails: sources and answers, or for an inverse the other way round."""
        if self.query.startswith(INVERSE_MARK):
            return self.entities, self.sources
        return self.sources, self.entities

    @property
    def relation(self) -> str:
        """The relation of the facts predicted."""
        return self.query.removeprefix(INVERSE_MARK)

"""Results of a reasoner: answers, proofs, missing facts and predictions."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import floor, log10
from typing import Any, ClassVar

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.frames import Tabular
from ..graph.knowledge_base import KnowledgeBase
from ..graph.name_index import Match
from ..graph.vocabulary import is_inverse, relation_of
from ..rules.rule import Rule, atom, facts_along
from .html import REASON_SCHEMA, missing_html, proof_html, reason_columns
from .reasons import ALTHOUGH, BECAUSE, Labels, Reason, Rest, Term, label_of
from .svg import draw_paths


@dataclass(frozen=True)
class Answer:
    """One answer to a question.

    `rank` is the realistic rank among all candidates, known facts included. `probability` is how likely the
    fact is true, where a calibration was fitted; None for known facts.
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

    def with_labels(self, labels: Labels) -> "Answer":
        """Return the answer with labels instead of names, for people to read."""
        return replace(self, source=label_of(self.source, labels), entity=label_of(self.entity, labels))


@dataclass(frozen=True)
class FoundEntity:
    """An entity whose name matches a text: how it matches, with how many typos, and its number of facts."""

    name: str
    match: Match
    num_typos: int
    num_facts: int


@dataclass(frozen=True)
class Proof(Tabular):
    """Why an answer has its score.

    `terms` are its largest terms, one for each rule and path. `reasons` and `against` group them by rule, and
    add up to the score with what `rests` has of either side.
    """

    answer: Answer
    terms: tuple[Term, ...]
    reasons: tuple[Reason, ...] = ()
    against: tuple[Reason, ...] = ()
    rests: tuple[Rest, Rest] = (Rest(), Rest())

    SCHEMA: ClassVar = REASON_SCHEMA

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return a row for each reason: its side, contribution, facts and rules."""
        return reason_columns(self.reasons, self.against)

    def _repr_html_(self) -> str:
        return proof_html(self)

    @property
    def remainder(self) -> float:
        """The sum of the terms that are not shown: the score minus the contributions of those that are."""
        return self.answer.score - sum(term.contribution for term in self.terms)

    def __str__(self) -> str:
        if not (self.reasons or self.against):
            return f"{self.answer} has no proof."
        if len(self.reasons) == 1 and not self.against and self.rests == (Rest(), Rest()):
            return f"{self.answer} {BECAUSE} {self.reasons[0]}"
        largest = max(abs(reason.contribution) for reason in (*self.reasons, *self.against))
        lines = [str(self.answer)]
        sides = ((BECAUSE, self.reasons, self.rests[0]), (ALTHOUGH, self.against, self.rests[1]))
        for word, reasons, rest in sides:
            told = [_line(reason.contribution, str(reason), largest) for reason in reasons]
            told += [_line_of_rest(rest, largest)] if rest.num != 0 else []
            lines += [f"  {word * (i == 0):8} {line}" for i, line in enumerate(told)]
        return "\n".join(lines)

    def with_labels(self, labels: Labels) -> "Proof":
        """Return the proof with labels instead of names, for people to read; it has no terms."""
        reasons, against = (
            tuple(each.with_labels(labels) for each in side) for side in (self.reasons, self.against)
        )
        return Proof(self.answer.with_labels(labels), (), reasons, against, self.rests)

    def svg(self, *, titled: bool = True) -> str:
        """Return a drawing of the facts: one box for each entity, arrows as wide as what they contribute."""
        reasons = [reason for reason in (*self.reasons, *self.against) if reason.rules[0].is_path_rule]
        links = [(reason.rules[0].body, reason.path, reason.contribution) for reason in reasons]
        return draw_paths(str(self.answer) * titled, self.answer.source, self.answer.entity, links)

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
        reasons, against = ([reason.as_dict() for reason in side] for side in (self.reasons, self.against))
        rests = {"more_reasons": self.rests[0].as_dict(), "more_against": self.rests[1].as_dict()}
        grouped = {"reasons": reasons, "against": against, **rests}
        return {**vars(self.answer), **grouped, "terms": terms, "remainder": self.remainder}


#: Characters of the bar of the largest contribution.
BAR = 10


def _line(contribution: float, text: str, largest: float) -> str:
    decimals = _decimals(largest)
    return f"{contribution:+8.{decimals}f} {bar(contribution, largest):{BAR}} {text}"


def _line_of_rest(rest: Rest, largest: float) -> str:
    """Return the line of the reasons that are not shown: without a bar, as those compare single reasons."""
    decimals = _decimals(largest)
    return f"{rest.contribution:+8.{decimals}f} {'':{BAR}} {rest.told(decimals)}"


def _decimals(largest: float) -> int:
    """Return two, or as many as it takes to tell small contributions apart: those of a neural model."""
    return 2 if largest >= 1 else min(8, 2 - floor(log10(largest or 1.0)))


def bar(contribution: float, largest: float) -> str:
    """Return a bar as long as a contribution; the largest has the full length.

    >>> bar(2.0, 4.0), bar(-0.01, 4.0)
    ('█████', '▏')
    """
    eighths = max(1, round(8 * BAR * min(1.0, abs(contribution) / (largest or 1.0))))
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]


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
    """The rules that lack one fact each to reach an answer, the weightiest first, and those against it."""

    answer: Answer
    follows: bool
    missing_facts: tuple[MissingFact, ...]
    against: tuple[Reason, ...] = ()

    def _repr_html_(self) -> str:
        return missing_html(self)

    def __str__(self) -> str:
        return "\n".join([self._begin(), *(f"  {fact}" for fact in self.missing_facts), *self._end()])

    def _begin(self) -> str:
        place = f"rank {self.answer.rank:g} of {self.answer.num_candidates:,}"
        if self.answer.is_known:
            return f"{self.answer} is a known fact already ({place}); explain prints what speaks for it."
        if self.follows:
            return f"{self.answer} follows already ({place}); explain prints why."
        if not self.missing_facts:
            return f"{self.answer} does not follow, and no rule is just one fact short of it."
        return f"{self.answer} does not follow:"

    def _end(self) -> Iterator[str]:
        if self.against:
            yield "What speaks against it:"
        largest = max((abs(reason.contribution) for reason in self.against), default=0.0)
        yield from (f"  {_line(reason.contribution, str(reason), largest)}" for reason in self.against)

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
        against = [reason.as_dict() for reason in self.against]
        return {
            **vars(self.answer),
            "follows": self.follows,
            "missing_facts": missing_facts,
            "against": against,
        }


@dataclass(frozen=True, eq=False)
class Predictions(Tabular):
    """The best answers to many questions of one query, as columns; sorted by source, then by score."""

    kb: KnowledgeBase
    query: str
    sources: Ids
    entities: Ids
    scores: Floats
    is_known: Flags
    num_questions: int
    probabilities: Floats | None = None  # how likely each is true, where a calibration was fitted

    SCHEMA: ClassVar = {
        "head": "string",
        "relation": "string",
        "tail": "string",
        "probability": "double",
        "score": "double",
        "known": "bool",
    }

    def __len__(self) -> int:
        return len(self.sources)

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the predicted facts; a known fact has no probability, and none has without calibration."""
        names = np.array(self.kb.entities.names, dtype=object)
        heads, tails = self.ends
        told = np.full(len(self), None)
        if self.probabilities is not None:
            told = np.where(self.is_known, told, self.probabilities)
        relation = np.full(len(self), self.relation, dtype=object)
        values = names[heads], relation, names[tails], told, self.scores, self.is_known
        return dict(zip(self.SCHEMA, (each.tolist() for each in values), strict=True))

    def above(self, probability: float) -> "Predictions":
        """Return those that are known facts, or at least so likely; without probabilities, none is."""
        likely = 0.0 if self.probabilities is None else self.probabilities
        kept = self.is_known | (likely >= probability)
        columns = self.sources[kept], self.entities[kept], self.scores[kept], self.is_known[kept]
        probabilities = None if self.probabilities is None else self.probabilities[kept]
        return Predictions(self.kb, self.query, *columns, self.num_questions, probabilities)

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

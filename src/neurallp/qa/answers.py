"""Answers to a question in words, each with its rule and a path of facts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ..errors import listed, quoted
from ..graph.frames import Tabular, in_columns
from ..graph.vocabulary import is_inverse, relation_of
from ..rules.rule import Rule, facts_along


@dataclass(frozen=True)
class WordAnswer:
    """One answer: its score, the rule that leads to it, and one of the paths of facts along the rule."""

    entity: str
    score: float
    probability: float | None  # that the answer is right; None where the model is not calibrated
    confidence: float
    rule: Rule
    path: tuple[str, ...]
    num_paths: int

    @property
    def because(self) -> str:
        """The facts along the path."""
        return " and ".join(facts_along(self.rule, self.path))

    def as_dict(self) -> dict[str, object]:
        """Return the answer as one JSON object."""
        return {
            "entity": self.entity,
            "probability": self.probability,
            "score": self.score,
            "confidence": self.confidence,
            "rule": str(self.rule),
            "in_words": rule_in_words(self.rule, self.path[0]),
            "path": list(self.path),
            "because": self.because,
            "num_paths": self.num_paths,
        }


@dataclass(frozen=True)
class WordAnswers(Tabular):
    """The entity that a question is about, and its answers, best first."""

    question: str
    source: str
    answers: tuple[WordAnswer, ...]
    joined: tuple[str, ...] = ()  # further entities, of which the same was asked
    corrected: tuple[tuple[str, str], ...] = ()  # what the text has, and the name it is taken for
    unused: tuple[str, ...] = ()  # further entities that the text names
    ambiguous_mentions: tuple[str, ...] = ()  # entities that the same words of the text name
    claimed: str | None = None  # the entity of a yes/no question of which it is asked whether it is an answer
    claim: WordAnswer | None = None  # the answer that it is, where it is one

    SCHEMA: ClassVar = {
        "entity": "string",
        "probability": "double",
        "score": "double",
        "confidence": "double",
        "rule": "string",
        "in_words": "string",
        "path": "[string]",
        "because": "string",
        "num_paths": "int64",
    }
    SHOWN: ClassVar = ("entity", "probability", "because", "in_words")
    BARS: ClassVar = {"probability": 1.0}

    def __len__(self) -> int:
        return len(self.answers)

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the answers as columns."""
        return in_columns((answer.as_dict() for answer in self.answers), self.SCHEMA)

    def __getitem__(self, place: int) -> WordAnswer:
        return self.answers[place]

    @property
    def yes(self) -> bool | None:
        """The answer to a yes/no question, and None for all others."""
        return None if self.claimed is None else self.claim is not None

    @property
    def note(self) -> str:
        """Sentences on what was taken for granted: corrected, ambiguous and unused names; or nothing."""
        return " ".join([*self._corrections(), *self._ambiguities(), *self._unused()])

    def _corrections(self) -> list[str]:
        return [f"{quoted(written)} is taken for {quoted(name)}." for written, name in self.corrected]

    def _ambiguities(self) -> list[str]:
        if not self.ambiguous_mentions:
            return []
        names = listed(self.ambiguous_mentions)
        also = f"the name also fits {names}. Mark the one you mean: [name]."
        return [f"Taken to be about {quoted(self.source)}; {also}"]

    def _unused(self) -> list[str]:
        return [f"Not used: {listed(self.unused)}."] if self.unused else []

    def as_dict(self) -> dict[str, object]:
        """Return all of it as one JSON object."""
        yes_no = {} if self.claimed is None else {"claimed": self.claimed, "yes": self.yes}
        return {
            "question": self.question,
            "source": self.source,
            "joined": list(self.joined),
            "corrected": dict(self.corrected),
            "unused": list(self.unused),
            "note": self.note,
            **yes_no,
            "answers": [answer.as_dict() for answer in self.answers],
        }


def contradiction(found: WordAnswers, relation: str) -> str:
    """Return why a yes/no question is not answered with no: another relation leads to what is claimed."""
    return (
        f"Not sure what is asked of {quoted(found.source)} and {quoted(found.claimed or '')}: "
        f"understood {found[0].rule}, but they are related by {relation}. Name the relation as the facts do."
    )


def rule_in_words(rule: Rule, source: str) -> str:
    """Return the path that a rule describes as an English sentence.

    >>> body = ("directed_by", "~directed_by")
    >>> rule = Rule("answer", body, 1.0, distinct_ends=True, inequalities=((0, 1),))
    >>> rule_in_words(rule, "Alien")
    'From Alien to its directed by, then to all that have it as directed by; never back to Alien.'
    """
    steps = (
        f"to all that have it as {_relation_in_words(name)}"
        if is_inverse(name)
        else f"to its {_relation_in_words(name)}"
        for name in rule.body
    )
    end = f"; never back to {source}" if rule.never_returns else ""
    return f"From {source} {', then '.join(steps)}{end}."


def _relation_in_words(name: str) -> str:
    return relation_of(name).removeprefix("has_").replace("_", " ")

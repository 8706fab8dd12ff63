"""Answers to a question in words, each with its rule and a path of facts."""

from dataclasses import dataclass

from ..graph.vocabulary import is_inverse, relation_of
from ..reasoning.answers import facts_along
from ..rules.rule import Rule


@dataclass(frozen=True)
class WordAnswer:
    """One answer: its score, the rule that leads to it, and one of the paths of facts along the rule."""

    entity: str
    score: float
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
            "score": self.score,
            "confidence": self.confidence,
            "probability": None,  # not calibrated: an answer is what facts and the rule of the question say
            "rule": str(self.rule),
            "in_words": rule_in_words(self.rule, self.path[0]),
            "path": list(self.path),
            "because": self.because,
            "num_paths": self.num_paths,
        }


@dataclass(frozen=True)
class WordAnswers:
    """The entity that a question is about, and its answers, best first."""

    question: str
    source: str
    answers: tuple[WordAnswer, ...]
    others: tuple[str, ...] = ()  # further entities that the text may name
    ambiguous_mentions: tuple[str, ...] = ()  # those of them that the same words of the text name

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> WordAnswer:
        return self.answers[place]

    @property
    def note(self) -> str:
        """A sentence for the user where the name fits several entities, else nothing."""
        if not self.ambiguous_mentions:
            return ""
        names = ", ".join(map(repr, self.ambiguous_mentions))
        return (
            f"Taken to be about {self.source!r}; the name also fits {names}. Mark the one you mean: [name]."
        )

    def as_dict(self) -> dict[str, object]:
        """Return all of it as one JSON object."""
        return {
            "question": self.question,
            "source": self.source,
            "others": list(self.others),
            "note": self.note,
            "answers": [answer.as_dict() for answer in self.answers],
        }


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

"""What rules add to a score: terms of one path each, and reasons, which group them by rule."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..graph.spelling import one_line
from ..rules.rule import Rule, atom, facts_along

BECAUSE, ALTHOUGH = "because", "although"

#: What to call entities, by name; an entity without a label is called by its name.
Labels = Mapping[str, str]


def label_of(name: str, labels: Labels) -> str:
    """Return what to call an entity."""
    return labels.get(name, name)


@dataclass(frozen=True)
class Term:
    """One term of a score: what a rule adds along one path of facts (negative: it lowers the score)."""

    rule: Rule
    path: tuple[str, ...]
    contribution: float

    @property
    def conjunction(self) -> str:
        """The word that introduces the term in a sentence: `although` where it lowers the score."""
        return BECAUSE if self.contribution >= 0 else ALTHOUGH

    def __str__(self) -> str:
        return _facts_of(self.rule, self.path)


@dataclass(frozen=True)
class Reason:
    """What one rule, or several that predict nearly the same answers, add to a score (negative: against it).

    `path` is the strongest of the first rule's paths, of which there are `num_paths`. A prior has no path of
    its own: `num_others` counts the other sources that have the answer.
    """

    rules: tuple[Rule, ...]
    path: tuple[str, ...]
    contribution: float
    num_paths: int = 1
    num_others: int | None = None

    def with_labels(self, labels: Labels) -> "Reason":
        """Return the reason with labels along its path instead of names."""
        return replace(self, path=tuple(label_of(name, labels) for name in self.path))

    @property
    def facts(self) -> str:
        """The facts of the strongest path; of a prior, how common the answer is."""
        if self.num_others is not None:
            fact = atom(self.rules[0].target, "A", self.path[-1])
            return _commonness(fact, self.num_others, self.contribution < 0)
        return _facts_of(self.rules[0], self.path) + " or any other" * self.rules[0].ends_anywhere

    @property
    def more(self) -> str:
        """How many more paths and rules there are, in brackets, or nothing."""
        counts = ((self.num_paths - 1, "more path"), (len(self.rules) - 1, "rule alike"))
        said = [_plural(num, what) for num, what in counts if num > 0]
        return f"  (and {', '.join(said)})" if said else ""

    def __str__(self) -> str:
        return self.facts + self.more

    def as_dict(self) -> dict[str, object]:
        """Return the reason as one JSON object."""
        first, *similar = map(str, self.rules)
        return {
            "rule": first,
            "kind": self.rules[0].kind,
            "similar": similar,
            "contribution": self.contribution,
            "path": self.path,
            "num_paths": self.num_paths,
            "because": self.facts,
        }


def _facts_of(rule: Rule, path: Sequence[str]) -> str:
    """Return the facts along a path in words; of a rule that names no relation they are an example."""
    told = " and ".join(facts_along(rule, path)) or one_line(f"{path[0]} = {path[-1]}")
    return f"{rule.kind}, as {told}" if rule.names_no_relation else told


def _commonness(fact: str, num: int, against: bool) -> str:
    """Return in words how many other sources have an answer, which a prior counts for it, or against it.

    `fact` has a variable for the source: an answer may be the head of the fact or its tail.
    """
    if num == 0:
        return f"{fact} holds for no other"
    held = f"{fact} holds for {num:,} other{'s' * (num > 1)}"
    return f"{held} already" if against else f"how common the answer is: {held}"


def _plural(num: int, what: str) -> str:
    first, *rest = what.split()
    if first == "more":
        return f"{num:,} more {rest[0]}{'s' * (num > 1)}"
    return f"{num:,} {first}{'s' * (num > 1)} {' '.join(rest)}"


@dataclass(frozen=True)
class Rest:
    """The reasons on one side that are not shown: how many (None: not counted), their sum, the largest."""

    num: int | None = 0
    contribution: float = 0.0
    largest: float | None = None  # None where they are not counted, or there are none

    @classmethod
    def of(cls, contributions: Sequence[float]) -> "Rest":
        """Return the rest that has these contributions."""
        return cls(len(contributions), sum(contributions), max(contributions, key=abs, default=None))

    def told(self, decimals: int = 2) -> str:
        """Return in words how many reasons there are; of several, that they are added up, and the largest."""
        if self.num is None:
            return "more reasons together"
        if self.num == 1 or self.largest is None:
            return _plural(self.num, "more reason")
        return f"{self.num:,} more reasons together, the largest {self.largest:+.{decimals}f}"

    def __str__(self) -> str:
        return self.told()

    def as_dict(self) -> dict[str, object]:
        """Return the rest as one JSON object."""
        return {"num": self.num, "contribution": self.contribution, "largest": self.largest}


def strongest(reasons: Sequence[Reason]) -> Reason:
    """Return the reason to show where only one is: the first whose rule predicts, or else the first."""
    predicting = (reason for reason in reasons if not reason.rules[0].only_orders)
    return next(predicting, reasons[0])

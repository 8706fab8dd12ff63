"""Rules (eq. 1): what they hold, how they read as text, sets of them, and filters."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar

from ..config import KINDS
from ..errors import ConfigError, quoted
from ..graph.frames import Tabular, in_columns
from ..graph.spelling import one_line
from ..graph.vocabulary import is_inverse, relation_of


@dataclass(frozen=True)
class Rule:
    """A rule `target(X, Y) <= body`: a path along `body` from a source X leads to an answer Y of `target`.

    `target` and `body` are names of operators: a relation, or `~name` for its inverse. The body is listed in
    the order of a walk from the source. Positions along a path count from 0, the source, to the length of
    the body, the answer.
    """

    target: str
    body: tuple[str, ...]
    #: Right conclusions / conclusions, counted on facts; a neural model's alpha until that is counted.
    confidence: float
    #: The confidence (of weighted rules: the absolute weight) divided by the largest of the same target.
    normalized_confidence: float = 1.0
    #: Whether the source itself is no answer: X != Y.
    distinct_ends: bool = False
    #: The number of predicted pairs that are facts of the target; None if not counted.
    support: int | None = None
    #: The number of distinct (source, answer) pairs that the body predicts; None if not counted.
    num_predictions: int | None = None
    #: Of these, the number whose source has some answer of the target; None if not counted.
    num_answerable: int | None = None
    #: The number of paths to these pairs; None if not counted.
    num_paths: int | None = None
    #: Further inequality constraints, as pairs (i, j) of positions i < j; (0, 1) is X != A.
    inequalities: tuple[tuple[int, int], ...] = ()
    #: Weighted rules only: the most that the rule adds to a score; negative where it lowers scores.
    weight: float | None = None
    #: A name in `config.KINDS`; a rule that is not weighted is a `chain`.
    kind: str = "chain"
    #: The only answer, where the kind names it.
    answer: str | None = None
    #: The entity at which the body ends; only a rule that names its answer may name one.
    body_end: str | None = None
    #: The only source, where the kind names it.
    source: str | None = None
    #: The entity at which the body starts; a rule that names its source names this too.
    body_start: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.body, str):
            raise ConfigError(
                f"The body of a rule is a tuple of relations, got the text {quoted(self.body, 60)}: "
                f"write Rule({self.target!r:.60}, ({quoted(self.body, 60)},), …)."
            )
        if not isinstance(self.confidence, Real) or not self.confidence >= 0:
            raise ConfigError(
                f"The confidence of a rule is a number from 0 to 1, got {self.confidence!r:.60}."
            )
        if self.kind not in KINDS:
            raise ConfigError(f"The kind of a rule is one of {', '.join(KINDS)}, got {self.kind!r:.60}.")
        if KINDS[self.kind].names_answer != (self.answer is not None):
            named = [name for name, entry in KINDS.items() if entry.names_answer]
            raise ConfigError(f"Rules of the kind {' or '.join(named)} name their answer, and no others do.")
        if self.body_end is not None and self.answer is None:
            raise ConfigError("Only a rule that names its answer can name the end of its body.")
        if not KINDS[self.kind].names_source == (self.source is not None) == (self.body_start is not None):
            named = [name for name, entry in KINDS.items() if entry.names_source]
            raise ConfigError(
                f"Rules of the kind {' or '.join(named)} name their source and the start of their body, "
                "and no others do."
            )

    @property
    def measured_confidence(self) -> float | None:
        """The fraction of the predicted pairs that are facts of the target; None if not counted."""
        if self.support is None or self.num_predictions is None:
            return None
        return self.support / self.num_predictions if self.num_predictions else 0.0

    @property
    def stated_confidence(self) -> float:
        """The confidence to show and export: counted on facts, or else the number that the rule came with."""
        measured = self.measured_confidence
        return self.confidence if measured is None else measured

    @property
    def pca_confidence(self) -> float | None:
        """AMIE's confidence under the partial completeness assumption; None if not counted.

        A prediction counts as wrong only where the source has some answer: otherwise it is not known.
        """
        if self.support is None or self.num_answerable is None:
            return None
        return self.support / self.num_answerable if self.num_answerable else 0.0

    @property
    def is_against(self) -> bool:
        """Whether the rule lowers the scores of what it predicts."""
        return KINDS[self.kind].negates if self.weight is None else self.weight < 0

    @property
    def is_vacuous(self) -> bool:
        """Whether the rule states only that a fact implies itself."""
        return self.kind == "chain" and self.body == (self.target,)

    @property
    def is_deductive(self) -> bool:
        """Whether its answers follow from it: a chain that does not lower their scores."""
        return self.kind == "chain" and (self.weight is None or self.weight > 0)

    @property
    def ignores_source(self) -> bool:
        """Whether every source has the same answers: the body does not start at the source."""
        return KINDS[self.kind].ignores_source

    @property
    def only_orders(self) -> bool:
        """Whether it predicts nothing alone, but orders what other rules predict."""
        return KINDS[self.kind].only_orders

    @property
    def names_no_relation(self) -> bool:
        """Whether it follows facts of any relation; its body, if it has one, is that of an example."""
        return KINDS[self.kind].names_no_relation

    @property
    def is_path_rule(self) -> bool:
        """Whether its body is a path from the source to the answer."""
        has_body = bool(self.body) or not self.names_no_relation
        return has_body and not self.ignores_source and not self.names_entities

    @property
    def names_entities(self) -> bool:
        """Whether it is about one answer, or about one source."""
        return self.answer is not None or self.source is not None

    @property
    def ends_anywhere(self) -> bool:
        """Whether the rule names its answer and no end of its body: any path along the body will do."""
        return self.answer is not None and self.body_end is None

    @property
    def variables(self) -> list[str]:
        """The variables along the body: X, A, B, …, Y; the last is an entity where the rule names one."""
        if self.is_path_rule:
            return ["X", *_variable_names(len(self.body) - 1), "Y"]
        if self.body_end is not None:
            return ["X", *_variable_names(len(self.body) - 1), self.body_end]
        if self.body_start is not None:
            return [self.body_start, *_variable_names(len(self.body) - 1), "Y"]
        between = _variable_names(len(self.body))
        return [*between, "Y"] if self.ignores_source else ["X", *between]

    @property
    def all_inequalities(self) -> list[tuple[int, int]]:
        """All pairs of positions at which a path must have different entities, X != Y included."""
        return sorted({*self.inequalities, *([(0, len(self.body))] if self.distinct_ends else [])})

    @property
    def unequal_variables(self) -> list[tuple[str, str]]:
        """All inequality constraints as pairs of variables."""
        names = [*self.variables[: len(self.body)], "Y"]
        return [(self.variables[i], names[j]) for i, j in self.all_inequalities]

    @property
    def never_returns(self) -> bool:
        """Whether the inequality constraints exclude every path that comes back to the source."""
        return all((0, position) in self.all_inequalities for position in range(1, len(self.body) + 1))

    def satisfies_inequalities(self, path: Sequence[object]) -> bool:
        """Return whether the entities along `path` differ at every pair of positions that must differ."""
        return all(path[i] != path[j] for i, j in self.all_inequalities)

    def as_dict(self) -> dict[str, object]:
        """Return the rule as one JSON object, its text included.

        The confidence is the counted one, where it was counted; then `alpha` is that of a neural model.
        """
        stated = {"confidence": self.stated_confidence, "pca_confidence": self.pca_confidence}
        alpha = {"alpha": self.confidence} if self.stated_confidence != self.confidence else {}
        return {**vars(self), **stated, **alpha, "rule": str(self)}

    @property
    def head_text(self) -> str:
        """The head as text: what the rule concludes."""
        source = "X" if self.source is None else self.source
        answer = "Y" if self.answer is None else self.answer
        negation = "not " if KINDS[self.kind].negates else ""
        return f"{negation}{atom(self.target, source, answer)}"

    @property
    def conditions(self) -> list[str]:
        """The atoms and inequalities of the body, each as text."""
        links = zip(self.body, self.variables, self.variables[1:], strict=False)
        if self.names_no_relation:
            return [f"{self.kind}(X, Y)"]
        atoms = [atom(*link) for link in links] or ["X = Y"]
        if self.is_path_rule:
            atoms += [f"{one} != {other}" for one, other in self.unequal_variables]
        return atoms

    @property
    def body_text(self) -> str:
        """The body as text: its atoms and inequalities."""
        return ", ".join(self.conditions)

    def __str__(self) -> str:
        return f"{self.head_text} <= {self.body_text}"


def atom(operator: str, source: str, answer: str) -> str:
    """Return `name(source, answer)`, or for an inverse `name(answer, source)`, as one line to be read."""
    head, tail = (answer, source) if is_inverse(operator) else (source, answer)
    return one_line(f"{relation_of(operator)}({head}, {tail})")


def facts_along(rule: Rule, path: Sequence[str]) -> list[str]:
    """Return the facts along a path that follows a rule's body, as text."""
    return [atom(*link) for link in zip(rule.body, path, path[1:], strict=False)]


def _variable_names(num: int) -> list[str]:
    return [chr(ord("A") + i) if i < 23 else f"V{i}" for i in range(num)]


class RuleSet(Sequence[Rule], Tabular):
    """Rules in order: those of each target together, the most confident first."""

    SCHEMA: ClassVar = {
        "rule": "string",
        "target": "string",
        "body": "[string]",
        "kind": "string",
        "answer": "string",
        "body_end": "string",
        "source": "string",
        "body_start": "string",
        "weight": "double",
        "confidence": "double",
        "alpha": "double",
        "normalized_confidence": "double",
        "pca_confidence": "double",
        "support": "int64",
        "num_predictions": "int64",
        "num_answerable": "int64",
        "num_paths": "int64",
        "distinct_ends": "bool",
        "inequalities": "[[int64]]",
    }
    SHOWN: ClassVar = ("rule", "weight", "confidence", "alpha", "support")
    BARS: ClassVar = {"weight": None, "confidence": 1.0, "alpha": 1.0}

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.rules = tuple(rules)

    def __len__(self) -> int:
        return len(self.rules)

    def __getitem__(self, index: Any) -> Any:
        return self.rules[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RuleSet) and self.rules == other.rules

    def __hash__(self) -> int:
        return hash(self.rules)

    def __repr__(self) -> str:
        return f"RuleSet({len(self):,} rules for {len(self.targets):,} queries)"

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return every field of the rules, and what is derived from them, as columns."""
        return in_columns(({"alpha": None, **rule.as_dict()} for rule in self.rules), self.SCHEMA)

    @property
    def targets(self) -> list[str]:
        """The queries that have rules, in order of appearance."""
        return list(dict.fromkeys(rule.target for rule in self.rules))

    def about(self, target: str) -> "RuleSet":
        """Return the rules of one query."""
        return RuleSet(rule for rule in self.rules if rule.target == target)

    def select(self, wanted: "RuleFilter") -> "RuleSet":
        """Return the rules that a filter keeps."""
        return RuleSet(filter(wanted.keeps, self.rules))


@dataclass(frozen=True)
class RuleFilter:
    """Which rules to keep. `allow` and `deny` are relations of the body, in either direction.

    A rule that follows facts of any relation is kept only where neither is given.
    """

    min_share: float = 0.0  # of the query's best rule: normalised confidence
    max_length: int | None = None
    allow: Collection[str] | None = None
    deny: Collection[str] = ()
    #: Of rules that were counted on facts: the least confidence and support.
    min_confidence: float = 0.0
    min_support: int = 0

    def keeps_counted(self, rule: Rule) -> bool:
        """Return whether the counts of a rule suffice; a rule without counts passes."""
        measured = rule.measured_confidence
        return rule.support is None or (
            rule.support >= self.min_support and (measured or 0.0) >= self.min_confidence
        )

    def keeps(self, rule: Rule) -> bool:
        """Return whether a rule passes all conditions."""
        names = set(map(relation_of, rule.body))
        allowed = (self.allow is None or names <= set(self.allow)) and names.isdisjoint(self.deny)
        if rule.names_no_relation:
            allowed = self.allow is None and not self.deny
        return (
            allowed
            and rule.normalized_confidence >= self.min_share
            and (self.max_length is None or len(rule.body) <= self.max_length)
        )

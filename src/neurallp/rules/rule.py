"""Rules: what they are, how they print, and how they are recovered from attention (algorithm 1)."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..graph.vocabulary import is_inverse, relation_of


@dataclass(frozen=True)
class Rule:
    """`target <= body`: following `body` from a source leads to an answer of `target`.

    Names of operators, `~name` for an inverse, in order of application from the source (eq. 1).
    `confidence` is the model's alpha; `support` and `num_predictions` are counted on facts.
    """

    target: str
    body: tuple[str, ...]
    confidence: float
    normalized_confidence: float = 1.0
    distinct_ends: bool = False  # the source itself is no answer: X != Y
    support: int | None = None
    num_predictions: int | None = None
    inequalities: tuple[
        tuple[int, int], ...
    ] = ()  # further places along the path that differ; (0, 1): X != A
    weight: float | None = None  # what it adds to a score at most, where rules are weighted
    kind: str = "chain"
    answer: str | None = None  # the only one that a unary rule gives

    @property
    def measured_confidence(self) -> float | None:
        """The share of the pairs predicted by the body that are facts of the target."""
        if self.support is None or self.num_predictions is None:
            return None
        return self.support / self.num_predictions if self.num_predictions else 0.0

    @property
    def is_vacuous(self) -> bool:
        """Whether the rule only says that a fact implies itself."""
        return self.kind == "chain" and self.body == (self.target,)

    @property
    def is_deductive(self) -> bool:
        """Whether its answers follow from it: a chain, and not evidence against them."""
        return self.kind == "chain" and (self.weight is None or self.weight > 0)

    @property
    def is_path_rule(self) -> bool:
        """Whether its path leads from the source to the answer; the others begin or end elsewhere."""
        return self.kind not in ("prior", "unary")

    @property
    def variables(self) -> list[str]:
        """The variables along the body: X, those between, Y."""
        return ["X", *_variable_names(len(self.body) - 1), "Y"]

    @property
    def all_inequalities(self) -> list[tuple[int, int]]:
        """The places along the path at which different entities must stand, 0 being the source's."""
        return sorted({*self.inequalities, *([(0, len(self.body))] if self.distinct_ends else [])})

    @property
    def unequal_variables(self) -> list[tuple[str, str]]:
        """The same, told by their variables."""
        names = [*self.variables[: len(self.body)], "Y"]
        return [(self.variables[i], names[j]) for i, j in self.all_inequalities]

    @property
    def never_returns(self) -> bool:
        """Whether no step may come back to the source."""
        return all((0, place) in self.all_inequalities for place in range(1, len(self.body) + 1))

    def satisfies_inequalities(self, path: Sequence[object]) -> bool:
        """Return whether the entities along `path` differ at every pair of positions that must differ."""
        return all(path[i] != path[j] for i, j in self.all_inequalities)

    def as_dict(self) -> dict[str, object]:
        """Return the rule as one JSON object, its text included."""
        return {**vars(self), "measured_confidence": self.measured_confidence, "rule": str(self)}

    def __str__(self) -> str:
        if self.kind == "prior":
            return f"{atom(self.target, 'X', 'Y')} <= {atom(self.target, 'A', 'Y')}"
        if self.kind == "unary":
            return f"{atom(self.target, 'X', str(self.answer))} <= {atom(self.body[0], 'X', 'A')}"
        links = zip(self.body, self.variables, self.variables[1:], strict=False)
        atoms = [atom(*link) for link in links] or ["X = Y"]
        atoms += [f"{one} != {other}" for one, other in self.unequal_variables]
        return f"{atom(self.target, 'X', 'Y')} <= {', '.join(atoms)}"


def atom(operator: str, source: str, answer: str) -> str:
    """Return `name(source, answer)`, or for an inverse `name(answer, source)`."""
    if is_inverse(operator):
        return f"{relation_of(operator)}({answer}, {source})"
    return f"{operator}({source}, {answer})"


def _variable_names(num: int) -> list[str]:
    return [chr(ord("A") + i) if i < 23 else f"V{i}" for i in range(num)]


class RuleSet(Sequence[Rule]):
    """Rules, the most confident of each target first."""

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
    """Which rules to keep; `allow` and `deny` name relations of the body, whichever way they are walked."""

    min_confidence: float = 0.0  # normalised: as a share of the query's best
    max_length: int | None = None
    allow: Collection[str] | None = None
    deny: Collection[str] = ()

    def keeps(self, rule: Rule) -> bool:
        """Return whether a rule passes."""
        names = set(map(relation_of, rule.body))
        return (
            rule.normalized_confidence >= self.min_confidence
            and (self.max_length is None or len(rule.body) <= self.max_length)
            and (self.allow is None or names <= set(self.allow))
            and names.isdisjoint(self.deny)
        )

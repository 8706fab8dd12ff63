"""Rules: what they are, how they print, and how they are recovered from attention (algorithm 1)."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Literal

import numpy as np

from .engine import Operators
from .engine.counting import count_predictions, find_successors, list_pairs, predicts_anything
from .knowledge import INVERSE_MARK, Body, Flags, Floats, Ids, KnowledgeBase, Relations
from .model import NeuralLP

#: Rules of one query looked at before giving up on finding more that are wanted.
MOST_EXAMINED = 10_000


#: A chain leads from the source to the answer; a prior says that who is often an answer is one again. A unary
#: rule gives one answer to all sources that have an operator. An anchored one has a chain that leads through
#: what others share with the source, a mirrored one through what they share with the answer.
Kind = Literal["chain", "prior", "unary", "anchored", "mirrored"]


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
    apart: tuple[tuple[int, int], ...] = ()  # further places along the path that differ; (0, 1): X != A
    weight: float | None = None  # what it adds to a score at most, where rules are weighed
    kind: Kind = "chain"
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
    def concludes(self) -> bool:
        """Whether its answers follow from it: a chain, and not evidence against them."""
        return self.kind == "chain" and (self.weight is None or self.weight > 0)

    @property
    def leads(self) -> bool:
        """Whether its path leads from the source to the answer; the others begin or end elsewhere."""
        return self.kind not in ("prior", "unary")

    @property
    def variables(self) -> list[str]:
        """The variables along the body: X, those between, Y."""
        return ["X", *_variable_names(len(self.body) - 1), "Y"]

    @property
    def unequal(self) -> list[tuple[int, int]]:
        """The places along the path at which different entities must stand, 0 being the source's."""
        return sorted({*self.apart, *([(0, len(self.body))] if self.distinct_ends else [])})

    @property
    def unequal_variables(self) -> list[tuple[str, str]]:
        """The same, told by their variables."""
        names = [*self.variables[: len(self.body)], "Y"]
        return [(self.variables[i], names[j]) for i, j in self.unequal]

    @property
    def never_returns(self) -> bool:
        """Whether no step may come back to the source."""
        return all((0, place) in self.unequal for place in range(1, len(self.body) + 1))

    def admits(self, path: Sequence[object]) -> bool:
        """Return whether a path has different entities wherever the rule wants them."""
        return all(path[i] != path[j] for i, j in self.unequal)

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
    if operator.startswith(INVERSE_MARK):
        return f"{operator.removeprefix(INVERSE_MARK)}({answer}, {source})"
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
        names = {name.removeprefix(INVERSE_MARK) for name in rule.body}
        return (
            rule.normalized_confidence >= self.min_confidence
            and (self.max_length is None or len(rule.body) <= self.max_length)
            and (self.allow is None or names <= set(self.allow))
            and names.isdisjoint(self.deny)
        )


def recover_all(operator: Floats, memory: Floats) -> dict[Body, float]:
    """Return every rule of one query with its confidence: algorithm 1, equal bodies merged.

    `operator` is (rank, step, operator), `memory` (rank, step + 1, slot).
    """
    rules: defaultdict[Body, float] = defaultdict(float)
    for a, b in zip(operator, memory, strict=True):
        for body, confidence in _recover_rank(a, b).items():
            rules[body] += confidence
    return dict(rules)


def _recover_rank(operator: Floats, memory: Floats) -> dict[Body, float]:
    partial: list[dict[Body, float]] = [{(): 1.0}]  # R_0
    for a, b in zip(operator, memory, strict=False):
        read = _read(partial, b)
        partial.append({(*body, k): c * a[k] for body, c in read.items() for k in range(len(a))})
    return _read(partial, memory[-1])


def _read(partial: list[dict[Body, float]], weights: Floats) -> dict[Body, float]:
    read: defaultdict[Body, float] = defaultdict(float)
    for rules, weight in zip(partial, weights, strict=False):
        for body, confidence in rules.items():
            read[body] += confidence * weight
    return read


def recover_best(
    operator: Floats, memory: Floats, successors: Flags | None = None
) -> Iterator[tuple[Body, float]]:
    """Yield the rules of one query, most confident first, without enumerating the rest.

    A best-first search over bodies. `reach[rank, slot]` is the confidence with which a body so far ends
    in a slot; what any one completion can still be worth is bounded slot by slot, so the first finished
    rule on the heap is the best of all that are left. Equals algorithm 1, sorted, less what it gives 0.
    Where `successors` says which operators can follow which, bodies of others are not looked at.
    """
    finish, bound = memory[:, -1], completion_bounds(operator, memory)
    order = count()  # breaks ties without comparing arrays
    heap: list[tuple[float, int, Body, Floats | None]] = [(-np.inf, next(order), (), start(memory))]
    while heap:
        negative, _, body, reach = heapq.heappop(heap)
        if reach is None:
            yield body, -negative
            continue
        value = float((reach * finish).sum())
        if value > 0:
            heapq.heappush(heap, (-value, next(order), body, None))
        children = extend(reach, operator, memory)
        bounds = np.einsum("krs,rs->k", children, bound)
        if body and successors is not None:
            bounds *= successors[body[-1]]
        for k in np.flatnonzero(bounds):
            heapq.heappush(heap, (-float(bounds[k]), next(order), (*body, int(k)), children[k]))


def start(memory: Floats) -> Floats:
    """Return where the empty body ends: in slot 0 of every rank, (rank, slot)."""
    reach = np.zeros_like(memory[:, -1])
    reach[:, 0] = 1.0
    return reach


def body_confidence(body: Body, operator: Floats, memory: Floats) -> float:
    """Return the confidence of one body, summed over ranks and over the steps it can be taken in."""
    reach = start(memory)
    for k in body:
        reach = extend(reach, operator, memory)[k]
    return float((reach * memory[:, -1]).sum())


def extend(reach: Floats, operator: Floats, memory: Floats) -> Floats:
    """Return where a body ends after one more operator: (operator, rank, slot) from (rank, slot)."""
    arriving = np.einsum("rs,rts->rt", reach, memory[:, :-1])
    children = np.zeros((operator.shape[2], *reach.shape))
    children[:, :, 1:] = np.einsum("rt,rtk->krt", arriving, operator)
    return children


def completion_bounds(operator: Floats, memory: Floats) -> Floats:
    """Return for each (rank, slot) no less than what the best single completion from there is worth."""
    bound = memory[:, -1].copy()
    best_operator = operator.max(axis=2)
    for slot in reversed(range(bound.shape[1] - 1)):
        onward = memory[:, slot:-1, slot] * best_operator[:, slot:] * bound[:, slot + 1 :]
        bound[:, slot] = np.maximum(bound[:, slot], onward.sum(axis=1))
    return bound


def recover_rules(
    model: NeuralLP,
    queries: Iterable[int],
    wanted: RuleFilter,
    *,
    limit: int = 10,
    kb: KnowledgeBase | None = None,
    measured: bool = True,
) -> RuleSet:
    """Return the `limit` best rules of each query among those that `wanted` keeps.

    With `kb`, those that predict nothing there are left out: memories are divided by their sum, so attention
    spent on a body that never fires costs the model nothing. The others are measured on it, unless that is
    not wanted: counting all that long bodies predict takes its time.
    """
    operators = None if kb is None else Operators.of(kb.with_relations(model.relations))
    successors = None if operators is None else find_successors(operators)

    def fires(rule: Rule) -> bool:
        return operators is None or _fires(rule, operators, model.relations)

    def recover(query: int) -> Iterator[Rule]:
        found = _normalized(spell_out(model, query, successors), fires, wanted.min_confidence)
        return islice(filter(wanted.keeps, found), limit)

    rules = [rule for query in queries for rule in recover(query)]
    if operators is None or not measured:
        return RuleSet(rules)
    return RuleSet(_measured(rule, operators, model.relations) for rule in rules)


def _normalized(
    rules: Iterable[Rule], fires: Callable[[Rule], bool], min_confidence: float
) -> Iterator[Rule]:
    """Yield the rules of one query that fire, until their confidence falls below a share of the largest."""
    largest = 0.0
    for rule in rules:
        if rule.confidence < min_confidence * largest:
            return
        if fires(rule):
            largest = largest or rule.confidence
            yield replace(rule, normalized_confidence=rule.confidence / largest)


def spell_out(model: NeuralLP, query: int, successors: Flags | None = None) -> Iterator[Rule]:
    """Yield the rules that the attention of one query stands for, most confident first."""
    operator, memory = (
        each[:, 0].detach().double().cpu().numpy() for each in model.attend(np.array([query])).pair
    )
    excludes = bool(model.excludes_source(np.array([query]))[0])
    name = model.relations.operator_name
    for body, confidence in islice(recover_best(operator, memory, successors), MOST_EXAMINED):
        if body or not excludes:  # where the source is no answer, the empty body says nothing
            yield Rule(name(query), tuple(map(name, body)), confidence, distinct_ends=excludes)


def measure(rules: Iterable[Rule], kb: KnowledgeBase) -> RuleSet:
    """Return the rules with support and predictions counted on the facts of `kb`; a prior has neither."""
    operators = Operators.of(kb)

    def measured(rule: Rule) -> Rule:
        if rule.kind == "prior":
            return rule
        if rule.kind == "unary":
            return _measured_unary(rule, operators, kb)
        return _measured(rule, operators, kb.relations)

    return RuleSet(map(measured, rules))


def _measured_unary(rule: Rule, operators: Operators, kb: KnowledgeBase) -> Rule:
    """Return a unary rule with how many sources have its operator, and how many of them its answer."""
    name = kb.relations.operator_id
    answer = kb.entities.find(str(rule.answer))
    predicted = np.unique(operators.sources[operators.operators == name(rule.body[0])])
    if answer < 0 or rule.distinct_ends:
        predicted = predicted[(predicted != answer) & (answer >= 0)]
    right = (operators.operators == name(rule.target)) & (operators.targets == answer)
    support = int(np.isin(predicted, operators.sources[right]).sum())
    return replace(rule, support=support, num_predictions=len(predicted))


def _fires(rule: Rule, operators: Operators, relations: Relations) -> bool:
    """Return whether a rule that a model learned predicts anything."""
    return predicts_anything(operators, _body(rule, relations), distinct_ends=rule.distinct_ends)


def _measured(rule: Rule, operators: Operators, relations: Relations) -> Rule:
    target = relations.operator_id(rule.target)
    predictions, support = count_predictions(operators, _body(rule, relations), target, rule.unequal)
    return replace(rule, support=support, num_predictions=predictions)


def _body(rule: Rule, relations: Relations) -> Ids:
    return np.array([relations.operator_id(name) for name in rule.body], dtype=np.int64)


def derive(rule: Rule, kb: KnowledgeBase, operators: Operators | None = None) -> Ids:
    """Return the distinct (head, tail) of the target's relation that a rule concludes; (pair, 2), sorted.

    Give the operators of `kb` to derive many rules without making them anew.
    """
    body = [kb.relations.operator_id(name) for name in rule.body]
    pairs = list_pairs(operators or Operators.of(kb), body, rule.unequal)
    if rule.target.startswith(INVERSE_MARK):
        pairs = pairs[np.lexsort(pairs.T)][:, ::-1]
    return pairs

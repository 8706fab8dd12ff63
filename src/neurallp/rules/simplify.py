"""Simplification of rule sets: duplicates, vacuous rules, subsumed rules, inverted rules, constraints."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.vocabulary import inverse_name, is_inverse
from .rule import Rule, RuleSet
from .support import derive


@dataclass(frozen=True)
class Simplified:
    """Simplified rules, with the numbers of duplicates merged into others and of vacuous rules dropped."""

    rules: RuleSet
    num_merged: int
    num_vacuous: int


def simplify(rules: Iterable[Rule], combine: Callable[[list[float]], float] = sum) -> Simplified:
    """Return the rules with duplicates merged and vacuous rules dropped."""
    given = list(rules)
    merged = merge_duplicates(given, combine)
    kept = drop_vacuous(merged)
    return Simplified(kept, num_merged=len(given) - len(merged), num_vacuous=len(merged) - len(kept))


def merge_duplicates(rules: Iterable[Rule], combine: Callable[[list[float]], float] = sum) -> RuleSet:
    """Return each rule once, at the position of its first occurrence.

    The confidences of duplicates are combined by `combine`: added for those of a neural model, as in
    algorithm 1; for measured ones use `max`.
    """
    groups: defaultdict[object, list[Rule]] = defaultdict(list)
    for rule in rules:
        named = rule.kind, rule.target, rule.body, rule.answer, rule.body_end, rule.source, rule.body_start
        groups[*named, *rule.all_inequalities].append(rule)
    return RuleSet(_merge(group, combine) for group in groups.values())


def _merge(group: list[Rule], combine: Callable[[list[float]], float]) -> Rule:
    if len(group) == 1:
        return group[0]
    return replace(
        next((rule for rule in group if rule.support is not None), group[0]),
        confidence=combine([rule.confidence for rule in group]),
        normalized_confidence=min(1.0, combine([rule.normalized_confidence for rule in group])),
    )


def drop_vacuous(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules without those whose body is their target, or whose body is X = Y with X != Y."""
    return RuleSet(rule for rule in rules if not (rule.is_vacuous or _contradicts_itself(rule)))


def _contradicts_itself(rule: Rule) -> bool:
    return rule.distinct_ends and not rule.body and not rule.names_no_relation


def require_distinct_ends(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules with X != Y; counts made without the constraint are removed."""
    return RuleSet(
        rule if rule.distinct_ends else replace(_uncounted(rule), distinct_ends=True) for rule in rules
    )


def _uncounted(rule: Rule) -> Rule:
    return replace(rule, support=None, num_predictions=None, num_answerable=None, num_paths=None)


def require_distinct_variables(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules with inequality constraints between all variables; counts made without are removed."""
    return RuleSet(map(_with_distinct_variables, rules))


def _with_distinct_variables(rule: Rule) -> Rule:
    pairs = combinations(range(len(rule.body) + 1), 2)
    inequalities = tuple(pair for pair in pairs if pair != (0, len(rule.body)))
    if rule.distinct_ends and rule.inequalities == inequalities:
        return rule
    return replace(_uncounted(rule), distinct_ends=True, inequalities=inequalities)


def normalize(rules: Iterable[Rule]) -> RuleSet:
    """Return the rules with their confidences normalised by the largest of their target."""
    given = list(rules)
    largest: defaultdict[str, float] = defaultdict(float)
    for rule in given:
        largest[rule.target] = max(largest[rule.target], rule.confidence)
    return RuleSet(
        replace(rule, normalized_confidence=rule.confidence / (largest[rule.target] or 1.0)) for rule in given
    )


def find_subsumed(rules: Iterable[Rule], kb: KnowledgeBase) -> dict[Rule, Rule]:
    """Return each subsumed rule with the rule that subsumes it.

    A rule is subsumed on the facts of `kb` if a more confident rule of the same target makes all of its
    predictions. A rule without predictions there is not subsumed.
    """
    operators = Operators.of(kb)
    groups: defaultdict[str, list[tuple[Rule, Ids]]] = defaultdict(list)
    deductive = (rule for rule in rules if rule.is_deductive)
    for rule in sorted(deductive, key=lambda rule: -rule.confidence):
        pairs = derive(rule, kb, operators)
        if len(pairs):
            groups[rule.target].append((rule, pairs[:, 0] * len(kb.entities) + pairs[:, 1]))
    return {rule: better for group in groups.values() for rule, better in _subsumed(group)}


def _subsumed(group: list[tuple[Rule, Ids]]) -> Iterable[tuple[Rule, Rule]]:
    for position, (rule, keys) in enumerate(group):
        for better, wider in group[:position]:
            if better.confidence > rule.confidence and np.isin(keys, wider, assume_unique=True).all():
                yield rule, better
                break


def invert_rule(rule: Rule) -> Rule:
    """Return the rule for the inverse query: `~uncle <= ~brother, ~father` for `uncle <= father, brother`.

    Both predict the same facts: one answers questions about the tail, the other about the head. The rule must
    be a chain, or one that names both an answer, or a source, and the other end of its body.
    """
    body = tuple(map(inverse_name, reversed(rule.body)))
    inequalities = tuple(sorted((len(body) - j, len(body) - i) for i, j in rule.inequalities))
    turned = replace(rule, target=inverse_name(rule.target), body=body, inequalities=inequalities)
    if not rule.names_entities:
        return turned
    return replace(
        turned,
        kind="unary" if rule.kind == "sourced" else "sourced",
        answer=rule.source,
        body_end=rule.body_start,
        source=rule.answer,
        body_start=rule.body_end,
    )


def face_forward(rule: Rule) -> Rule:
    """Return the rule, inverted if its target is an inverse, so that its target is a relation."""
    return invert_rule(rule) if is_inverse(rule.target) else rule

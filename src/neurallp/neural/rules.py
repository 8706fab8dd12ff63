"""The rules of a trained model, extracted from its attention."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from ..graph.arrays import Flags
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..rules.extraction import extract_best
from ..rules.rule import Rule, RuleFilter, RuleSet
from ..rules.support import find_successors, measure_on, predicts_on
from .model import NeuralLP

#: Rules of one query that are examined at most, to find those that are wanted.
MAX_EXAMINED = 10_000


def best_rules(
    model: NeuralLP,
    queries: Iterable[int],
    wanted: RuleFilter,
    *,
    limit: int = 10,
    kb: KnowledgeBase | None = None,
    measured: bool = True,
) -> RuleSet:
    """Return the `limit` best rules of each query among those that `wanted` keeps.

    With `kb`, rules that predict nothing on it are left out: memories are divided by their sum, so attention
    on a body that reaches nothing costs the model nothing. The others are measured on it, unless `measured`
    is false: counting the predictions of long bodies takes time.
    """
    operators = None if kb is None else Operators.of(kb.with_relations(model.relations))
    successors = None if operators is None else find_successors(operators)

    def fires(rule: Rule) -> bool:
        return operators is None or predicts_on(rule, operators, model.relations)

    def recover(query: int) -> Iterator[Rule]:
        found = _normalized(extract_rules(model, query, successors), fires, wanted.min_share)
        return islice(filter(wanted.keeps, found), limit)

    rules = [rule for query in queries for rule in recover(query)]
    if operators is None or not measured:
        return RuleSet(rules)
    return RuleSet(measure_on(rule, operators, model.relations) for rule in rules)


def _normalized(rules: Iterable[Rule], fires: Callable[[Rule], bool], min_share: float) -> Iterator[Rule]:
    """Yield the rules of one query that predict something, down to a part of the largest confidence."""
    largest = 0.0
    for rule in rules:
        if rule.confidence < min_share * largest:
            return
        if fires(rule):
            largest = largest or rule.confidence
            yield replace(rule, normalized_confidence=rule.confidence / largest)


def extract_rules(model: NeuralLP, query: int, successors: Flags | None = None) -> Iterator[Rule]:
    """Yield the rules that the attention of one query encodes, most confident first."""
    operator, memory = (
        each[:, 0].detach().double().cpu().numpy() for each in model.attend(np.array([query])).pair
    )
    excludes = bool(model.excludes_source(np.array([query]))[0])
    name = model.relations.operator_name
    for body, confidence in islice(extract_best(operator, memory, successors), MAX_EXAMINED):
        if body or not excludes:  # the empty body predicts only the source
            yield Rule(name(query), tuple(map(name, body)), confidence, distinct_ends=excludes)

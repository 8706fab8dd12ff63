"""What a rule body predicts: its distinct (source, answer) pairs, counted or listed.

A rule may want different entities at some places of its path. Pairs of places are enough to say so: (0, 2)
keeps the second step from coming back to the source. Where only the ends must differ, pairs are followed step
by step; anything more takes the paths themselves.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..graph.arrays import Flags, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.scores import Scores
from ..graph.vocabulary import Relations, is_inverse
from .rule import Rule, RuleSet

Places = Collection[tuple[int, int]]

#: Entities looked at together, which bounds memory.
ENTITIES_AT_ONCE = 4096


def count_predictions(
    operators: Operators, body: Ids, target: int, all_inequalities: Places
) -> tuple[int, int]:
    """Return how many distinct pairs `body` leads to, and how many of them `target` links too."""
    if _concerns_more_than_ends(all_inequalities, len(body)):
        predicted = _keys(list_pairs(operators, body.tolist(), all_inequalities), operators)
        linked = _keys(list_pairs(operators, [target], ()), operators)
        return len(predicted), int(np.isin(predicted, linked, assume_unique=True).sum())
    return _count(operators, body, target, bool(all_inequalities))


def predicts_anything(operators: Operators, body: Ids, *, distinct_ends: bool) -> bool:
    """Return whether `body` leads to any pair; the first to be found will do."""
    return _count(operators, body, 0, distinct_ends, most=1)[0] > 0


def find_successors(operators: Operators) -> Flags:
    """Return which operators can be followed by which: [k, l] where k leads to an entity that l leaves."""
    num = operators.num_operators
    found = np.zeros((num, num), dtype=np.bool_)
    for first in range(0, operators.num_entities, ENTITIES_AT_ONCE):
        offsets = operators.offsets[first : first + ENTITIES_AT_ONCE + 1]
        edges = slice(offsets[0], offsets[-1])
        leaving = np.zeros((len(offsets) - 1, num), dtype=np.float32)
        leaving[operators.sources[edges] - first, operators.operators[edges]] = 1
        arriving = np.roll(leaving, operators.num_relations, axis=1)  # by the inverse of what leaves
        found |= arriving.T @ leaving > 0
    return found


def _count(
    operators: Operators, body: Ids, target: int, distinct_ends: bool, most: int = np.iinfo(np.int64).max
) -> tuple[int, int]:
    from .support_kernels import count_pairs

    graph = operators.offsets, operators.operators, operators.targets
    seen = np.full((2, operators.num_entities), -1, dtype=np.int64)
    predictions, support = count_pairs(*graph, body, target, distinct_ends, seen, np.empty_like(seen), most)
    return int(predictions), int(support)


def _concerns_more_than_ends(all_inequalities: Places, length: int) -> bool:
    return not set(all_inequalities) <= {(0, length)}


def _keys(pairs: Ids, operators: Operators) -> Ids:
    keys: Ids = pairs[:, 0] * operators.num_entities + pairs[:, 1]
    return keys


def count_paths(operators: Operators, body: Sequence[int], all_inequalities: Places, sources: Ids) -> Scores:
    """Return how many paths along `body` lead from each source to each entity, entity by entity."""
    from .support_kernels import list_counts

    differ = np.zeros((len(body) + 1, len(body) + 1), dtype=np.bool_)
    for one, other in all_inequalities:
        differ[one, other] = True
    graph = operators.offsets, operators.operators, operators.targets
    rows, entities, counts = list_counts(*graph, np.array(body, dtype=np.int64), differ, sources)
    offsets = np.searchsorted(rows, np.arange(len(sources) + 1))
    return Scores(operators.num_entities, offsets, entities, counts.astype(np.float64))


def list_pairs(operators: Operators, body: Sequence[int], all_inequalities: Places) -> Ids:
    """Return the distinct (source, answer) pairs that `body` leads to; (pair, 2), sorted."""
    if _concerns_more_than_ends(all_inequalities, len(body)):
        paths = count_paths(operators, body, all_inequalities, np.arange(operators.num_entities))
        return np.stack([paths.rows, paths.entities], axis=1)
    pairs = _follow_all(operators, body)
    return pairs[pairs[:, 0] != pairs[:, 1]] if all_inequalities else pairs


def _follow_all(operators: Operators, body: Iterable[int]) -> Ids:
    num_entities = operators.num_entities
    keys = np.arange(num_entities) * (num_entities + 1)  # source * num_entities + where it leads so far
    for operator in body:
        edges = operators.operators == operator
        keys = _follow(keys, operators.sources[edges], operators.targets[edges], num_entities)
    return np.stack(np.divmod(keys, num_entities), axis=1)


def _follow(keys: Ids, sources: Ids, targets: Ids, num_entities: int) -> Ids:
    """Return where pairs lead by edges that are sorted by source: a join, then distinct."""
    starts, ends = np.divmod(keys, num_entities)
    first = np.searchsorted(sources, ends, side="left")
    count = np.searchsorted(sources, ends, side="right") - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    reached = targets[np.repeat(first, count) + within]
    return np.unique(np.repeat(starts, count) * num_entities + reached)


def measure(rules: Iterable[Rule], kb: KnowledgeBase) -> RuleSet:
    """Return the rules with support and predictions counted on the facts of `kb`; a prior has neither."""
    operators = Operators.of(kb)

    def measured(rule: Rule) -> Rule:
        if rule.kind == "prior":
            return rule
        if rule.kind == "unary":
            return _measured_unary(rule, operators, kb)
        return measure_on(rule, operators, kb.relations)

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


def predicts_on(rule: Rule, operators: Operators, relations: Relations) -> bool:
    """Return whether a rule that a model learned predicts anything."""
    return predicts_anything(operators, _body(rule, relations), distinct_ends=rule.distinct_ends)


def measure_on(rule: Rule, operators: Operators, relations: Relations) -> Rule:
    """Return the rule with its predictions and support counted on the edges of `operators`."""
    target = relations.operator_id(rule.target)
    predictions, support = count_predictions(operators, _body(rule, relations), target, rule.all_inequalities)
    return replace(rule, support=support, num_predictions=predictions)


def _body(rule: Rule, relations: Relations) -> Ids:
    return np.array([relations.operator_id(name) for name in rule.body], dtype=np.int64)


def derive(rule: Rule, kb: KnowledgeBase, operators: Operators | None = None) -> Ids:
    """Return the distinct (head, tail) of the target's relation that a rule concludes; (pair, 2), sorted.

    Give the operators of `kb` to derive many rules without making them anew.
    """
    body = [kb.relations.operator_id(name) for name in rule.body]
    pairs = list_pairs(operators or Operators.of(kb), body, rule.all_inequalities)
    if is_inverse(rule.target):
        pairs = pairs[np.lexsort(pairs.T)][:, ::-1]
    return pairs

"""What a rule predicts on facts: its distinct (source, answer) pairs, its support, and its number of paths.

Inequality constraints are pairs of positions along a path: (0, 2) requires that the entity after the second
step is not the source. Where only the ends must differ, the reachable sets decide; other constraints require
an enumeration of paths.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..graph.arrays import Body, Flags, Floats, Ids, concatenate_ranges
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.scores import Scores
from ..graph.vocabulary import Relations, is_inverse
from .paths import Path, find_paths, follow, reachable_sets
from .rule import Rule, RuleSet

Inequalities = Collection[tuple[int, int]]

#: Entities whose edges `find_successors` handles at a time, to bound memory.
ENTITIES_AT_ONCE = 4096

#: Sums are taken in a dense array up to this many cells for each number that is added.
DENSE_CELLS = 4


def body_ids(rule: Rule, relations: Relations) -> Body:
    """Return the ids of the operators in a rule's body."""
    return tuple(map(relations.operator_id, rule.body))


def find_named(name: str | None, kb: KnowledgeBase) -> Ids:
    """Return the entity that a rule names, as an array; an empty one where the graph lacks it."""
    found = -1 if name is None else kb.entities.find(name)
    return np.array([found] if found >= 0 else [], dtype=np.int64)


# Support


def measure(rules: Iterable[Rule], kb: KnowledgeBase, operators: Operators | None = None) -> RuleSet:
    """Return the rules with support and predictions counted on the facts of `kb`.

    A rule that only orders has neither. `operators` are those of `kb`, where they are made already.
    """
    operators = operators or Operators.of(kb)

    def measured(rule: Rule) -> Rule:
        if rule.only_orders:
            return rule
        if rule.answer is not None:
            return _measure_answer(rule, operators, kb)
        if rule.source is not None:
            return _measure_source(rule, operators, kb)
        return measure_on(rule, operators, kb.relations)

    return RuleSet(map(measured, rules))


def measure_on(rule: Rule, operators: Operators, relations: Relations) -> Rule:
    """Return a path rule with its predictions and support counted on the edges of `operators`."""
    body, target = body_ids(rule, relations), relations.operator_id(rule.target)
    return _counted(rule, count_conclusions(operators, body, target, rule.all_inequalities))


class Conclusions(NamedTuple):
    """What a rule concludes: pairs, those that are facts, those whose source has an answer, and paths."""

    num_predictions: int
    support: int
    num_answerable: int
    num_paths: int


def _counted(rule: Rule, counts: Conclusions) -> Rule:
    """Return a rule with its counts. Its confidence is then counted too, but for a neural model's alpha."""
    counted = replace(rule, **counts._asdict())
    if rule.weight is None:
        return counted
    return replace(counted, confidence=counted.measured_confidence or 0.0)


def _measure_answer(rule: Rule, operators: Operators, kb: KnowledgeBase) -> Rule:
    """Return a rule that names its answer with how many sources have its body, and how many its answer."""
    answer, target = kb.entities.find(str(rule.answer)), kb.relations.operator_id(rule.target)
    predicted = _sources_of_body(rule, operators, kb) if answer >= 0 else np.zeros(0, np.int64)
    if rule.distinct_ends:
        predicted = predicted[predicted != answer]
    starts, stops = operators.spans(predicted, target)
    support = np.isin(predicted, follow(operators, np.array([answer]), operators.inverse(target))).sum()
    answerable = int((stops > starts).sum())
    return _counted(rule, Conclusions(len(predicted), int(support), answerable, len(predicted)))


def _measure_source(rule: Rule, operators: Operators, kb: KnowledgeBase) -> Rule:
    """Return a rule that names its source with how many answers it predicts, and how many are known."""
    source = find_named(rule.source, kb)
    predicted = _answers_of_body(rule, operators, kb)[: None if len(source) else 0]
    known = follow(operators, source, kb.relations.operator_id(rule.target))
    support = int(np.isin(predicted, known).sum())
    answerable = len(predicted) if len(known) else 0
    return _counted(rule, Conclusions(len(predicted), support, answerable, len(predicted)))


def _answers_of_body(rule: Rule, operators: Operators, kb: KnowledgeBase) -> Ids:
    """Return the answers that a rule gives to the source that it names, ascending."""
    found = find_named(rule.body_start, kb)
    for k in body_ids(rule, kb.relations):
        found = follow(operators, found, k)
    return found[found != kb.entities.find(str(rule.source))] if rule.distinct_ends else found


def _sources_of_body(rule: Rule, operators: Operators, kb: KnowledgeBase) -> Ids:
    """Return the entities at which some path along a rule's body begins, ascending; walked from its end."""
    ends = np.arange(operators.num_entities)
    if rule.body_end is not None:
        ends = find_named(rule.body_end, kb)
    for k in reversed(body_ids(rule, kb.relations)):
        ends = follow(operators, ends, operators.inverse(k))
    return ends


def predicts_on(rule: Rule, operators: Operators, relations: Relations) -> bool:
    """Return whether a rule without constraints but X != Y predicts any pair; stops at the first."""
    return _count_pairs(operators, body_ids(rule, relations), 0, rule.distinct_ends, max_pairs=1)[0] > 0


def count_conclusions(
    operators: Operators, body: Body, target: int, inequalities: Inequalities
) -> Conclusions:
    """Return the counts of the distinct pairs that `body` predicts for a query, over all sources."""
    if _constrains_only_ends(inequalities, len(body)):
        return _count_pairs(operators, body, target, bool(inequalities))
    paths = count_paths(operators, body, inequalities, np.arange(operators.num_entities))
    pairs = np.stack([paths.rows, paths.entities], axis=1)
    facts = list_pairs(operators, [target], ())
    right = np.isin(_keys(pairs, operators), _keys(facts, operators), assume_unique=True)
    answerable = np.isin(pairs[:, 0], facts[:, 0])
    return Conclusions(len(pairs), int(right.sum()), int(answerable.sum()), int(paths.values.sum()))


def _count_pairs(
    operators: Operators,
    body: Body,
    target: int,
    distinct_ends: bool,
    max_pairs: int = np.iinfo(np.int64).max,
) -> Conclusions:
    from .support_kernels import count_pairs

    graph = operators.offsets, operators.operators, operators.targets
    seen = np.full((2, operators.num_entities), -1, dtype=np.int64)
    asked = np.array(body, dtype=np.int64), target, distinct_ends
    ways = np.empty(seen.shape)
    counts = count_pairs(*graph, *asked, seen, np.empty_like(seen), ways, max_pairs)
    return Conclusions(*map(int, counts))


def _constrains_only_ends(inequalities: Inequalities, length: int) -> bool:
    return set(inequalities) <= {(0, length)}


def _keys(pairs: Ids, operators: Operators) -> Ids:
    keys: Ids = pairs[:, 0] * operators.num_entities + pairs[:, 1]
    return keys


def find_successors(operators: Operators) -> Flags:
    """Return (operator, operator) flags: whether some entity that k leads to has an edge of l."""
    num = operators.num_operators
    found = np.zeros((num, num), dtype=np.bool_)
    for first in range(0, operators.num_entities, ENTITIES_AT_ONCE):
        offsets = operators.offsets[first : first + ENTITIES_AT_ONCE + 1]
        edges = slice(offsets[0], offsets[-1])
        leaving = np.zeros((len(offsets) - 1, num), dtype=np.float32)
        leaving[operators.sources[edges] - first, operators.operators[edges]] = 1
        # k leads to an entity exactly where the inverse of k leaves it.
        arriving = np.roll(leaving, operators.num_relations, axis=1)
        found |= arriving.T @ leaving > 0
    return found


# Pairs


def predict_pairs(rule: Rule, kb: KnowledgeBase, operators: Operators, sources: Ids) -> tuple[Ids, Ids]:
    """Return (row of the source, answer) of each distinct pair that a rule predicts from some sources.

    The body must start at the source, or the rule name it (not `ignores_source`).
    """
    body = body_ids(rule, kb.relations)
    if rule.source is not None:
        rows = np.flatnonzero(sources == kb.entities.find(rule.source))
        predicted = _answers_of_body(rule, operators, kb)
        return np.repeat(rows, len(predicted)), np.tile(predicted, len(rows))
    if rule.inequalities:
        found = count_paths(operators, body, rule.all_inequalities, sources)
    else:
        found = PathCounter(operators, sources).count(body)
    rows, answers = found.rows, found.entities
    if rule.body_end is not None:
        rows = rows[answers == kb.entities.find(rule.body_end)]
    if rule.answer is not None:
        answer = kb.entities.find(rule.answer)
        rows = np.unique(rows)[: None if answer >= 0 else 0]
        answers = np.full(len(rows), answer)
    kept = sources[rows] != answers if rule.distinct_ends else slice(None)
    return rows[kept], answers[kept]


def predicting_paths(
    rule: Rule, kb: KnowledgeBase, operators: Operators, source: int, answer: int
) -> Iterator[Path]:
    """Yield the paths along a rule's body by which it predicts an answer for a source."""
    body = body_ids(rule, kb.relations)
    if rule.source is not None:
        if kb.entities.find(rule.source) == source and answer in _answers_of_body(rule, operators, kb):
            yield from find_paths(operators, body, kb.entities.find(str(rule.body_start)), answer)
    elif rule.answer is None:
        found = find_paths(operators, body, source, answer)
        yield from (path for path in found if rule.satisfies_inequalities(path))
    elif kb.entities.find(rule.answer) == answer:
        ends = reachable_sets(operators, body, source)[-1].tolist()
        named = None if rule.body_end is None else kb.entities.find(rule.body_end)
        for end in ends if named is None else {*ends} & {named}:
            yield from find_paths(operators, body, source, end)


def derive(rule: Rule, kb: KnowledgeBase, operators: Operators | None = None) -> Ids:
    """Return the distinct (head, tail) of the target's relation that a rule predicts; (pair, 2), sorted.

    Pass the operators of `kb` to derive many rules without building them each time.
    """
    pairs = list_pairs(operators or Operators.of(kb), body_ids(rule, kb.relations), rule.all_inequalities)
    if is_inverse(rule.target):
        pairs = pairs[np.lexsort(pairs.T)][:, ::-1]
    return pairs


def list_pairs(operators: Operators, body: Sequence[int], inequalities: Inequalities) -> Ids:
    """Return the distinct (source, answer) pairs that `body` predicts; (pair, 2), sorted."""
    if not _constrains_only_ends(inequalities, len(body)):
        paths = count_paths(operators, body, inequalities, np.arange(operators.num_entities))
        return np.stack([paths.rows, paths.entities], axis=1)
    pairs = _follow_all(operators, body)
    return pairs[pairs[:, 0] != pairs[:, 1]] if inequalities else pairs


def _follow_all(operators: Operators, body: Iterable[int]) -> Ids:
    num_entities = operators.num_entities
    keys = np.arange(num_entities) * (num_entities + 1)  # source * num_entities + entity reached so far
    for k in body:
        sources, entities = np.divmod(keys, num_entities)
        starts, stops = operators.spans(entities, k)
        reached = operators.targets[concatenate_ranges(starts, stops)]
        keys = np.unique(np.repeat(sources, stops - starts) * num_entities + reached)
    return np.stack(np.divmod(keys, num_entities), axis=1)


# Paths


def count_paths(
    operators: Operators, body: Sequence[int], inequalities: Inequalities, sources: Ids
) -> Scores:
    """Return the number of paths along `body` from each source to each entity, by enumeration."""
    from .support_kernels import list_counts

    must_differ = np.zeros((len(body) + 1, len(body) + 1), dtype=np.bool_)
    for i, j in inequalities:
        must_differ[i, j] = True
    graph = operators.offsets, operators.operators, operators.targets
    rows, entities, counts = list_counts(*graph, np.array(body, dtype=np.int64), must_differ, sources)
    offsets = np.searchsorted(rows, np.arange(len(sources) + 1))
    return Scores(operators.num_entities, offsets, entities, counts.astype(np.float64))


class PathCounter:
    """Counts the paths along bodies from several sources, without inequality constraints.

    Counts are propagated operator by operator, so they cost no more where there are many paths. Those of the
    last body's prefixes are kept: count bodies in ascending order to reuse them.
    """

    def __init__(self, operators: Operators, sources: Ids) -> None:
        self.operators, self.num_rows = operators, len(sources)
        start = Scores(operators.num_entities, np.arange(len(sources) + 1), sources, np.ones(len(sources)))
        self._prefixes: list[tuple[Body, Scores]] = [((), start)]

    def count(self, body: Body) -> Scores:
        """Return the number of paths along `body` from each source to each entity."""
        while self._prefixes[-1][0] != body[: len(self._prefixes) - 1]:
            self._prefixes.pop()
        for k in body[len(self._prefixes) - 1 :]:
            prefix, counts = self._prefixes[-1]
            self._prefixes.append(((*prefix, k), self._extend(counts, k)))
        return self._prefixes[len(body)][1]

    def _extend(self, counts: Scores, k: int) -> Scores:
        """Return the counts after one more operator."""
        starts, stops = self.operators.spans(counts.entities, k)
        lengths = stops - starts
        reached = self.operators.targets[concatenate_ranges(starts, stops)]
        keys = np.repeat(counts.rows, lengths) * counts.num_entities + reached
        cells, values = _sum_by_key(
            keys, np.repeat(counts.values, lengths), self.num_rows * counts.num_entities
        )
        rows, entities = np.divmod(cells, counts.num_entities)
        offsets = np.searchsorted(rows, np.arange(self.num_rows + 1))
        return Scores(counts.num_entities, offsets, entities, values)


def _sum_by_key(keys: Ids, values: Floats, num_keys: int) -> tuple[Ids, Floats]:
    """Return the distinct keys, ascending, and the sum of the positive values of each."""
    if num_keys <= DENSE_CELLS * len(keys):
        sums = np.bincount(keys, values, num_keys).astype(np.float64, copy=False)
        distinct = np.flatnonzero(sums)
        return distinct, sums[distinct]
    distinct, place = np.unique(keys, return_inverse=True)
    return distinct, np.bincount(place, values, len(distinct)).astype(np.float64, copy=False)

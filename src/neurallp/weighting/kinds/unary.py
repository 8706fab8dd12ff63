"""Unary rules: r(X, c) where X has an edge of one operator, to any entity or to one that the rule names.

Their one feature is the indicator.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...graph.arrays import Ids, concatenate_ranges
from ...graph.compilation import kernel, kernel_function
from ...graph.questions import Questions
from ...graph.vocabulary import Relations
from ...rules.paths import Path, follow
from ...rules.rule import Rule
from ..features import FeatureWalker
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    Small,
    mask_facts,
    masks_edge,
    unmask_facts,
)
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate, CandidateSearch, Kind, RuleFeatures

#: Rules found for a query, at most: with any end of their edge, and with an end that they name.
MAX_RULES = 300
MAX_ENDED = 1500

#: How many times the penalty of other rules their weights have: there are many, and each predicts rarely.
PENALTY = 50.0

#: Facts of a query for each rule, at least; counted apart for rules with any end and with one that they name.
FACTS_PER_RULE = 5

#: Known answers that a rule must predict to be a candidate: ten keep the people of most family trees from
#: being named, but not the genres of films.
MIN_SUPPORT = 10

#: Edges of sources that are looked at to find rules that name the end of their edge.
MAX_EDGES = 5_000_000


class UnaryRules(NamedTuple):
    """Unary rules grouped by operator: those that name no end, then by end those that name one."""

    offsets: Small  # (operator + 1,)
    answers: Small  # (rule,)
    numbers: Small  # (rule,)
    ended_offsets: Small  # (operator + 1,)
    ends: Small  # (ended rule,) ascending within an operator
    ended_answers: Small  # (ended rule,)
    ended_numbers: Small  # (ended rule,)


class Unary(Kind):
    """The operator is the rule's one operator; the constant is its answer, the end that of its edge."""

    name = "unary"
    num_features = 1
    predicts_rarely = True
    penalty = PENALTY

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return operators, and edges to one entity, whose sources have an answer more than by chance."""
        mask_pair, names = all(search.mask_pair_choices), search.index.kb.entities
        edges, pairs = search.index.segments, search.questions(query)
        limit = len(pairs) // FACTS_PER_RULE
        found = find_unary(edges, pairs, mask_pair, min(limit, MAX_RULES), MIN_SUPPORT)
        sample = search.sample(query, len(pairs))
        ended = find_ended(edges, sample, mask_pair, min(limit, MAX_ENDED), MIN_SUPPORT)
        return [
            *(Candidate(self.name, (k,), names[answer]) for k, answer in found),
            *(Candidate(self.name, (k,), names[answer], names[end]) for k, end, answer in ended),
        ]

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> UnaryRules:
        """Return the rules grouped by operator, without those of entities that the graph does not have."""
        find = index.kb.entities.find
        rows = [
            (rule.operators[0], -1 if rule.end is None else find(rule.end), find(str(rule.constant)), number)
            for number, rule in rules.items()
            if rule.end is None or find(rule.end) >= 0
        ]
        known = np.array([row for row in rows if row[2] >= 0], dtype=np.int32).reshape(-1, 4)
        known = known[np.lexsort((known[:, 1], known[:, 0]))]
        every, named = known[known[:, 1] < 0], known[known[:, 1] >= 0]
        operators = np.arange(index.num_operators + 1)
        offsets, ended_offsets = (
            np.searchsorted(each[:, 0], operators).astype(np.int32) for each in (every, named)
        )
        _, _, answers, numbers = every.T.copy()
        _, ends, ended_answers, ended_numbers = named.T.copy()
        return UnaryRules(offsets, answers, numbers, ended_offsets, ends, ended_answers, ended_numbers)

    def gather(
        self, plan: UnaryRules, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_unary(walker.edges, plan, walker.scratch, batch, entries, ends)

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the rule's answer, where the graph has it and the source has such an edge."""
        answer = graph.find(str(candidate.constant))
        targets = graph.targets(graph.source, candidate.operators[0])
        holds = len(targets) > 0 if candidate.end is None else graph.find(candidate.end) in targets
        found = np.array([answer] if answer >= 0 and holds else [], dtype=np.int64)
        return RuleFeatures(found, np.ones(len(found)), np.ones(len(found)))

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the rule's answer, where the graph has it."""
        answer = index.kb.entities.find(str(candidate.constant))
        return np.array([answer] if answer >= 0 else [], dtype=np.int64)

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query(X, constant) <= operator(X, A)`, or with the end of the edge instead of A."""
        name = relations.operator_name
        return Rule(
            name(query),
            (name(candidate.operators[0]),),
            0.0,
            distinct_ends=exclude_source,
            kind=self.name,
            answer=candidate.constant,
            body_end=candidate.end,
        )

    def candidate(self, rule: Rule, relations: Relations) -> Candidate:
        """Return the operator, the answer and the end of a rule."""
        return Candidate(self.name, (relations.operator_id(rule.body[0]),), str(rule.answer), rule.body_end)

    def invert(self, candidate: Candidate, relations: Relations) -> Candidate | None:
        """Return the sourced rule that states the same, which names the end of its edge."""
        if candidate.end is None:
            return None
        return candidate._replace(kind="sourced", operators=(relations.inverse(candidate.operators[0]),))

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield one edge of the operator that leaves the source, to the end that the rule names if any."""
        (operator,) = index.body_ids(rule.body)
        if rule.body_end is None:
            end = int(follow(index.operators, np.array(ends[:1]), operator)[0])
        else:
            end = index.kb.entities.id(rule.body_end)
        yield (ends[0], end), 1.0


def find_unary(
    edges: CsrSegments, pairs: Questions, mask_pair: bool, limit: int, min_support: int
) -> list[tuple[int, int]]:
    """Return (operator, answer) such that sources with the operator have the answer, the best first."""
    offsets = edges.offsets.astype(np.int64)
    rows = np.repeat(np.arange(len(pairs)), np.diff(edges.offsets)[pairs.sources])
    segments = concatenate_ranges(offsets[pairs.sources], offsets[pairs.sources + 1])
    operators, answers = edges.operators[segments].astype(np.int64), pairs.answers[rows]
    alone = (np.diff(edges.starts)[segments] == 1) & (edges.targets[edges.starts[segments]] == answers)
    visible = ~(alone & (mask_pair | (operators == pairs.queries[rows])))  # otherwise it is the fact asked
    return _most_surprising(operators[visible], answers[visible], pairs, min_support, limit)


def find_ended(
    edges: CsrSegments, pairs: Questions, mask_pair: bool, limit: int, min_support: int
) -> list[tuple[int, int, int]]:
    """Return (operator, end, answer) such that sources with this edge have the answer, the best first.

    The pairs are in random order; the first are looked at, as many as have few enough edges.
    """
    offsets, starts = edges.offsets.astype(np.int64), edges.starts.astype(np.int64)
    first, last = starts[offsets[pairs.sources]], starts[offsets[pairs.sources + 1]]
    pairs = pairs[: int(np.searchsorted(np.cumsum(last - first), MAX_EDGES, side="right"))]
    first, last = first[: len(pairs)], last[: len(pairs)]
    rows, places = np.repeat(np.arange(len(pairs)), last - first), concatenate_ranges(first, last)
    operators = edges.operators[np.searchsorted(starts, places, side="right") - 1].astype(np.int64)
    ends, answers = edges.targets[places].astype(np.int64), pairs.answers[rows]
    visible = ~((ends == answers) & (mask_pair | (operators == pairs.queries[rows])))
    num_entities = len(edges.offsets) - 1
    bodies = operators[visible] * num_entities + ends[visible]
    found = _most_surprising(bodies, answers[visible], pairs, min_support, limit)
    return [(*divmod(body, num_entities), answer) for body, answer in found]


def _most_surprising(
    bodies: Ids, answers: Ids, pairs: Questions, min_support: int, limit: int
) -> list[tuple[int, int]]:
    """Return (body, answer) seen together more often than by chance, the best first.

    Their score is support x log(support / the support expected if body and answer were independent).
    """
    num_answers = int(pairs.answers.max(initial=0)) + 1
    distinct, places = np.unique(bodies, return_inverse=True)
    keys, support = np.unique(places * num_answers + answers, return_counts=True)
    of_body, of_answer = np.bincount(places), np.bincount(pairs.answers)
    expected = of_body[keys // num_answers] * of_answer[keys % num_answers] / max(len(pairs), 1)
    scores = np.where(support >= min_support, support * np.log(support / expected), 0.0)
    order = np.argsort(-scores, kind="stable")[:limit]
    chosen = keys[order[scores[order] > 0]]
    return [(int(distinct[key // num_answers]), int(key % num_answers)) for key in chosen]


@kernel_function()
def _is_masked(edges: CsrSegments, scratch: Scratch, segment: int, source: int, answer: int) -> bool:
    """Return whether the one edge of a source's segment is masked."""
    operator, first = edges.operators[segment], edges.starts[segment]
    if edges.starts[segment + 1] - first > 1 or edges.targets[first] != answer:
        return False
    return masks_edge(scratch, operator, source, answer)


@kernel_function()
def _write_answer(answer: int, number: int, excluded: int, entries: Entries, last: int) -> int:
    """Write a rule's answer as one segment, unless it is excluded; return as `write_segment` does."""
    start = entries.bounds[last]
    if answer == excluded:
        return last
    if start == len(entries.entities):
        return -1
    entries.entities[start] = answer
    entries.forward[start] = entries.backward[start] = 1.0
    entries.rules[last], entries.bounds[last + 1] = number, start + 1
    return last + 1


@kernel_function()
def _write_ended(
    edges: CsrSegments,
    rules: UnaryRules,
    segment: int,
    masked: int,
    excluded: int,
    entries: Entries,
    last: int,
) -> int:
    """Write the rules that name the end of an edge of a segment; the edge to `masked` does not count."""
    operator = edges.operators[segment]
    first, stop = rules.ended_offsets[operator], rules.ended_offsets[operator + 1]
    if first == stop:
        return last
    for edge in range(edges.starts[segment], edges.starts[segment + 1]):
        end = edges.targets[edge]
        i = first + np.searchsorted(rules.ends[first:stop], end)
        while last >= 0 and i < stop and rules.ends[i] == end and end != masked:
            last = _write_answer(rules.ended_answers[i], rules.ended_numbers[i], excluded, entries, last)
            i += 1
    return last


@kernel_function()
def _write_question(
    edges: CsrSegments,
    rules: UnaryRules,
    scratch: Scratch,
    batch: QuestionBatch,
    question: int,
    entries: Entries,
    last: int,
) -> int:
    """Write the rules of every operator that the source has an edge of; return -1 without room."""
    source, answer = batch.sources[question], batch.answers[question]
    excluded = source if batch.exclude_source else -1
    for segment in range(edges.offsets[source], edges.offsets[source + 1]):
        operator = edges.operators[segment]
        if _is_masked(edges, scratch, segment, source, answer):
            continue
        for i in range(rules.offsets[operator], rules.offsets[operator + 1]):
            if last >= 0:
                last = _write_answer(rules.answers[i], rules.numbers[i], excluded, entries, last)
        masked = answer if masks_edge(scratch, operator, source, answer) else -1
        if last >= 0:
            last = _write_ended(edges, rules, segment, masked, excluded, entries, last)
        if last < 0:
            return -1
    return last


@kernel()
def gather_unary(
    edges: CsrSegments,
    rules: UnaryRules,
    scratch: Scratch,
    batch: QuestionBatch,
    entries: Entries,
    ends: Ids,
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        mask_facts(edges, scratch, batch, i)
        last = _write_question(edges, rules, scratch, batch, i, entries, last)
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)


KIND = Unary()

"""Unary rules: r(X, c) where X has any edge of one operator. Their one feature is the indicator."""

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
    invert,
    mask_facts,
    unmask_facts,
)
from ..graph_index import GraphIndex
from .base import Candidate, CandidateSearch, Kind

#: Unary rules found for a query, at most.
MAX_RULES = 200

#: Known answers that a unary rule must predict to be a candidate.
MIN_SUPPORT = 3


class UnaryRules(NamedTuple):
    """Unary rules grouped by operator."""

    offsets: Small  # (operator + 1,)
    answers: Small  # (rule,)
    numbers: Small  # (rule,)


class Unary(Kind):
    """The operator is the rule's one operator; the constant is its answer."""

    name = "unary"
    num_features = 1

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the operators whose sources have some answer more often than by chance."""
        mask_pair, entities = all(search.mask_pair_choices), search.index.kb.entities
        found = find_unary(search.index.segments, search.questions(query), mask_pair, MAX_RULES)
        return [Candidate(self.name, (operator,), entities[answer]) for operator, answer in found]

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> UnaryRules:
        """Return the rules grouped by operator, without those of entities that the graph does not have."""
        find = index.kb.entities.find
        rows = [(rule.operators[0], find(str(rule.constant)), number) for number, rule in rules.items()]
        known = np.array([row for row in rows if row[1] >= 0], dtype=np.int32).reshape(-1, 3)
        known = known[np.argsort(known[:, 0], kind="stable")]
        offsets = np.searchsorted(known[:, 0], np.arange(index.num_operators + 1)).astype(np.int32)
        return UnaryRules(offsets, known[:, 1].copy(), known[:, 2].copy())

    def gather(
        self, plan: UnaryRules, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_unary(walker.edges, plan, walker.scratch, batch, entries, ends)

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the rule's answer, where the graph has it."""
        answer = index.kb.entities.find(str(candidate.constant))
        return np.array([answer] if answer >= 0 else [], dtype=np.int64)

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query(X, constant) <= operator(X, A)`."""
        name = relations.operator_name
        return Rule(
            name(query),
            (name(candidate.operators[0]),),
            0.0,
            distinct_ends=exclude_source,
            kind=self.name,
            answer=candidate.constant,
        )

    def candidate(self, rule: Rule, relations: Relations) -> Candidate:
        """Return the operator and the answer of a rule."""
        return Candidate(self.name, (relations.operator_id(rule.body[0]),), str(rule.answer))

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield one edge of the operator that leaves the source."""
        (operator,) = index.body_ids(rule.body)
        yield (ends[0], int(follow(index.operators, np.array(ends[:1]), operator)[0])), 1.0


def find_unary(edges: CsrSegments, pairs: Questions, mask_pair: bool, limit: int) -> list[tuple[int, int]]:
    """Return (operator, answer) such that sources with the operator have the answer, the best first.

    Their score is support x log(support / the support expected if operator and answer were independent).
    """
    offsets = edges.offsets.astype(np.int64)
    rows = np.repeat(np.arange(len(pairs)), np.diff(edges.offsets)[pairs.sources])
    segments = concatenate_ranges(offsets[pairs.sources], offsets[pairs.sources + 1])
    operators, answers = edges.operators[segments].astype(np.int64), pairs.answers[rows]
    alone = (np.diff(edges.starts)[segments] == 1) & (edges.targets[edges.starts[segments]] == answers)
    visible = ~(alone & (mask_pair | (operators == pairs.queries[rows])))  # otherwise it is the fact asked
    operators, answers = operators[visible], answers[visible]
    num_entities = len(edges.offsets) - 1
    keys, support = np.unique(operators * num_entities + answers, return_counts=True)
    of_operator, of_answer = np.bincount(operators), np.bincount(pairs.answers)
    expected = of_operator[keys // num_entities] * of_answer[keys % num_entities] / max(len(pairs), 1)
    scores = np.where(support >= MIN_SUPPORT, support * np.log(support / expected), 0.0)
    order = np.argsort(-scores, kind="stable")[:limit]
    return [divmod(int(key), num_entities) for key in keys[order[scores[order] > 0]]]


@kernel_function()
def _is_masked(edges: CsrSegments, scratch: Scratch, segment: int, source: int, answer: int) -> bool:
    """Return whether the one edge of a source's segment is masked."""
    operator, first = edges.operators[segment], edges.starts[segment]
    if edges.starts[segment + 1] - first > 1 or edges.targets[first] != answer:
        return False
    return scratch.masked[operator] or (source == answer and scratch.masked[invert(operator, scratch)])


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
            start = entries.bounds[last]
            if rules.answers[i] == excluded:
                continue
            if start == len(entries.entities):
                return -1
            entries.entities[start] = rules.answers[i]
            entries.forward[start] = entries.backward[start] = 1.0
            entries.rules[last], entries.bounds[last + 1] = rules.numbers[i], start + 1
            last += 1
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

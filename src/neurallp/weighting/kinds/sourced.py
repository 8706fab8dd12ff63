"""Sourced rules: r(c, Y) where Y has an edge to one entity that the rule names; c is its one source.

They tell what the answers of one source have in common: who is a member, which films are of a genre. Asked
the other way round the same statement is a unary rule. Their one feature is the indicator.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ...graph.arrays import Ids
from ...graph.compilation import kernel, kernel_function
from ...graph.questions import Questions
from ...graph.vocabulary import Relations
from ...rules.paths import Path
from ...rules.rule import Rule
from ..features import FeatureWalker
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    Small,
    find_segment,
    invert,
    mask_facts,
    masks_edge,
    unmask_facts,
)
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate, CandidateSearch, Kind, RuleFeatures
from .unary import FACTS_PER_RULE, MIN_SUPPORT, PENALTY, find_ended

#: Rules found for a query, at most.
MAX_RULES = 1500

#: Answers that a rule predicts, at most: one that predicts more says little about each.
MAX_PREDICTED = 500


class SourcedRules(NamedTuple):
    """Sourced rules, those of each source together."""

    sources: Small  # (rule,) ascending
    operators: Small  # (rule,)
    starts: Small  # (rule,) where the edge to an answer leaves
    numbers: Small  # (rule,)


class Sourced(Kind):
    """The operator leads from the named entity to the answers; the constant is the rule's one source."""

    name = "sourced"
    num_features = 1
    predicts_rarely = True
    penalty = PENALTY

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return edges to one entity that answers of a source have more often than other answers."""
        names, operators = search.index.kb.entities, search.index.operators
        pairs = search.sample(query, len(search.questions(query)))
        turned = Questions(pairs.answers, operators.inverse(pairs.queries), pairs.sources)
        limit, mask_pair = len(pairs) // FACTS_PER_RULE, all(search.mask_pair_choices)
        found = find_ended(search.index.segments, turned, mask_pair, limit, MIN_SUPPORT)
        rules = [(operators.inverse(k), start, source) for k, start, source in found if start != source]
        kept = [
            Candidate(self.name, (k,), names[source], names[start])
            for k, start, source in rules
            if len(_targets(search.index, start, k)) <= MAX_PREDICTED
        ]
        return kept[:MAX_RULES]

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> SourcedRules:
        """Return the rules by source, without those of entities that the graph does not have."""
        find = index.kb.entities.find
        rows = [
            (find(str(rule.constant)), rule.operators[0], find(str(rule.end)), number)
            for number, rule in rules.items()
        ]
        # Those of a source in their own order: scores are the same sums however entities are numbered.
        known = sorted((row for row in rows if row[0] >= 0 and row[2] >= 0), key=lambda row: row[0])
        columns = np.array(known, dtype=np.int32).reshape(-1, 4).T
        return SourcedRules(*map(np.ascontiguousarray, columns))

    def gather(
        self, plan: SourcedRules, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_sourced(walker.edges, plan, walker.scratch, batch, entries, ends)

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the answers of the rule, where it is about the question's source."""
        start, found = graph.find(str(candidate.end)), np.zeros(0, np.int64)
        if start >= 0 and graph.find(str(candidate.constant)) == graph.source:
            found = graph.targets(start, candidate.operators[0])
        return RuleFeatures(found, np.ones(len(found)), np.ones(len(found)))

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the answers that the rule gives to its source."""
        start = index.kb.entities.find(str(candidate.end))
        return _targets(index, start, candidate.operators[0]) if start >= 0 else np.zeros(0, np.int64)

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query(constant, Y) <= operator(start, Y)`."""
        name = relations.operator_name
        return Rule(
            name(query),
            (name(candidate.operators[0]),),
            0.0,
            distinct_ends=exclude_source,
            kind=self.name,
            source=candidate.constant,
            body_start=candidate.end,
        )

    def candidate(self, rule: Rule, relations: Relations) -> Candidate:
        """Return the operator, the source and the start of the body of a rule."""
        return Candidate(self.name, (relations.operator_id(rule.body[0]),), rule.source, rule.body_start)

    def invert(self, candidate: Candidate, relations: Relations) -> Candidate:
        """Return the unary rule that states the same."""
        return candidate._replace(kind="unary", operators=(relations.inverse(candidate.operators[0]),))

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield the edge from the named entity to the answer."""
        yield (index.kb.entities.id(str(rule.body_start)), ends[1]), 1.0


def _targets(index: GraphIndex, entity: int, operator: int) -> Ids:
    """Return the entities that an operator leads to from an entity."""
    (start,), (stop,) = index.operators.spans(np.array([entity]), operator)
    return index.operators.targets_at(slice(start, stop))


@kernel_function()
def _masked_answer(rules: SourcedRules, place: int, scratch: Scratch, source: int, answer: int) -> int:
    """Return the answer of a rule whose edge is masked, or -1; the edge may start at either end."""
    start, operator = rules.starts[place], rules.operators[place]
    if start == source and masks_edge(scratch, operator, source, answer):
        return answer
    if start == answer and scratch.masked[invert(operator, scratch)]:
        return source
    return -1


@kernel_function()
def _write_rule(
    edges: CsrSegments,
    rules: SourcedRules,
    place: int,
    masked: int,
    excluded: int,
    entries: Entries,
    last: int,
) -> int:
    """Write one rule's answers but two as a segment; return the number of segments, or -1 without room."""
    segment = find_segment(edges, rules.starts[place], rules.operators[place])
    if segment < 0:
        return last
    stop = first = entries.bounds[last]
    if first + edges.starts[segment + 1] - edges.starts[segment] > len(entries.entities):
        return -1
    for edge in range(edges.starts[segment], edges.starts[segment + 1]):
        target = edges.targets[edge]
        if target != masked and target != excluded:
            entries.entities[stop] = target
            entries.forward[stop] = entries.backward[stop] = 1.0
            stop += 1
    if stop == first:
        return last
    entries.rules[last], entries.bounds[last + 1] = rules.numbers[place], stop
    return last + 1


@kernel()
def gather_sourced(
    edges: CsrSegments,
    rules: SourcedRules,
    scratch: Scratch,
    batch: QuestionBatch,
    entries: Entries,
    ends: Ids,
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        source, answer = batch.sources[i], batch.answers[i]
        excluded = source if batch.exclude_source else -1
        place = np.searchsorted(rules.sources, source)
        mask_facts(edges, scratch, batch, i)
        while last >= 0 and place < len(rules.sources) and rules.sources[place] == source:
            masked = _masked_answer(rules, place, scratch, source, answer)
            last = _write_rule(edges, rules, place, masked, excluded, entries, last)
            place += 1
        unmask_facts(scratch)
        if last < 0:
            return i
        ends[i] = last
    return len(batch.sources)


KIND = Sourced()

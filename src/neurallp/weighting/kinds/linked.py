"""Links: r(X, Y) is less likely where a fact other than r(X, Y) links X and Y, in either direction.

One weight for the facts of all relations together: a soft form of leaving linked entities out, for graphs
where they are rarely right, but sometimes.
"""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...graph.arrays import Ids
from ...graph.compilation import kernel, kernel_function
from ...rules.paths import Path
from ...rules.rule import Rule
from ..features import FeatureWalker
from ..features_kernels import (
    CsrSegments,
    Entries,
    QuestionBatch,
    Scratch,
    mask_facts,
    masks_edge,
    unmask_facts,
)
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate, CandidateSearch, RuleFeatures, UnnamedKind


class Linked(UnnamedKind):
    """An edge from the source to the answer of any operator but the query, whose indicator lowers the score.

    The inverse of the query is another operator: the fact r(Y, X) links X and Y.
    """

    name = "linked"
    num_features = 1
    penalty = 0.0

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the one rule of a query; none where linked entities are no candidates."""
        return [] if search.excludes_linked else super().find(search, query, max_length)

    def gather(
        self, plan: int, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_linked(walker.edges, plan, walker.scratch, batch, entries, ends)

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the entities that an edge of the source leads to by another operator than the query."""
        edges = graph.edges_from(np.array([graph.source]))
        others = edges[graph.operators.operators_at(edges) != graph.query]
        found = np.unique(graph.operators.targets_at(others))
        return RuleFeatures(found, np.ones(len(found)), np.ones(len(found)))

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield the step from source to answer."""
        yield ends, 1.0

    def along(self, index: GraphIndex, rule: Rule, path: Path) -> Rule:
        """Return the rule with the first operator that links the pair as its body."""
        relations = index.kb.relations
        links = index.operators_between(*path)
        first = links[links != relations.operator_id(rule.target)][0]
        return replace(rule, body=(relations.operator_name(int(first)),))


@kernel_function()
def _write_links(
    edges: CsrSegments,
    scratch: Scratch,
    batch: QuestionBatch,
    question: int,
    entries: Entries,
    start: int,
) -> int:
    """Write the entities linked to the source from `start` on; return where they end, or -1 without room."""
    source, answer = batch.sources[question], batch.answers[question]
    excluded = source if batch.exclude_source else -1
    stop, has_room = start, True
    for segment in range(edges.offsets[source], edges.offsets[source + 1]):
        operator = edges.operators[segment]
        masked = answer if masks_edge(scratch, operator, source, answer) else -1
        for edge in range(edges.starts[segment], edges.starts[segment + 1]):
            target = edges.targets[edge]
            if operator != batch.query and target not in (masked, excluded) and not scratch.marks[target]:
                has_room = has_room and stop < len(entries.entities)
                if has_room:
                    scratch.marks[target] = 1
                    entries.entities[stop] = target
                    entries.forward[stop] = entries.backward[stop] = 1.0
                    stop += 1
    for place in range(start, stop):
        scratch.marks[entries.entities[place]] = 0
    return stop if has_room else -1


@kernel()
def gather_linked(
    edges: CsrSegments, number: int, scratch: Scratch, batch: QuestionBatch, entries: Entries, ends: Ids
) -> int:
    """Write the features of questions one after the other; return how many questions fit."""
    last = 0
    for i in range(len(batch.sources)):
        mask_facts(edges, scratch, batch, i)
        stop = _write_links(edges, scratch, batch, i, entries, entries.bounds[last])
        unmask_facts(scratch)
        if stop < 0:
            return i
        if stop > entries.bounds[last]:
            entries.rules[last], entries.bounds[last + 1] = number, stop
            last += 1
        ends[i] = last
    return len(batch.sources)


KIND = Linked()

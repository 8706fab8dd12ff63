"""Nearness: r(X, Y) where walks along edges of any relation lead from X to Y.

Chains name their relations, so an answer that no mined chain reaches has no score. Nearness reaches it. A
walk leaves an entity by any of its edges, of all relations and directions, with equal probability, and goes
on with probability `GOING_ON` at each step. The probability of an entity is summed over the steps.
"""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np

from ...graph.arrays import Floats, Ids
from ...rules.paths import Path
from ...rules.rule import Rule
from ..features import FeatureWalker, ask
from ..features_kernels import Entries, QuestionBatch
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate, RuleFeatures, UnnamedKind
from .near_kernels import GOING_ON, LEAST, NUM_STEPS, TAKEN, gather_near


class Near(UnnamedKind):
    """Forward is the probability of a walk from the source, backward that of the walk back, on log scales."""

    name = "near"

    def max_depth(self, candidate: Candidate) -> int:
        """Return 2: a walk has the sum, where it is, and where it goes."""
        return 2

    def gather(
        self, plan: int, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_near(walker.edges, plan, walker.scratch, batch, entries, ends)

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the probabilities of walks from the source and back to it."""
        probabilities = np.zeros(graph.num_entities)
        for edges, carried in walk(graph):
            np.add.at(probabilities, graph.operators.targets_at(edges), carried)
        found = np.flatnonzero(probabilities)
        leaving = graph.num_edges_from(np.append(graph.source, found))
        forward = probabilities[found]
        return RuleFeatures(found, near_scale(forward), near_scale(forward * leaving[0] / leaving[1:]))

    def paths(self, index: GraphIndex, rule: Rule, ends: tuple[int, int]) -> Iterator[tuple[Path, float]]:
        """Yield one of the shortest walks, at each entity by the edge that carries most."""
        source, answer = ends
        query = index.kb.relations.operator_id(rule.target)
        came_from: dict[int, int] = {}
        for edges, carried in walk(MaskedGraph(index, ask(query, np.array([source])), 0)):
            strongest = edges[np.argsort(-carried, kind="stable")]
            reached, first = np.unique(index.operators.targets_at(strongest), return_index=True)
            starts = index.operators.sources_at(strongest[first])
            came_from = dict(zip(reached.tolist(), starts.tolist(), strict=True)) | came_from
            if answer in came_from:
                break
        path = [answer]
        while path[-1] != source or len(path) == 1:
            path.append(came_from[path[-1]])
        yield tuple(reversed(path)), 1.0

    def along(self, index: GraphIndex, rule: Rule, path: Path) -> Rule:
        """Return the rule with the first operator of each step of a path as its body."""
        links = (index.operators_between(start, end) for start, end in pairwise(path))
        name = index.kb.relations.operator_name
        return replace(rule, body=tuple(name(int(operators[0])) for operators in links))


def near_scale(probabilities: Floats) -> Floats:
    """Return log(1 + p / LEAST) / log(1 + 1 / LEAST) for each p: entities far away are told apart, too."""
    scaled: Floats = np.log1p(probabilities / LEAST) / np.log1p(1 / LEAST)
    return scaled


def walk(graph: MaskedGraph) -> Iterator[tuple[Ids, Floats]]:
    """Yield the edges of each step of a walk from the source, and the probability carried along each."""
    entities, masses = np.array([graph.source]), np.ones(1)
    for _ in range(NUM_STEPS):
        num = graph.num_edges_from(entities)
        shares = GOING_ON * masses / np.maximum(num, 1)
        followed = (num > 0) & (shares >= TAKEN)
        edges = graph.edges_from(entities[followed])
        carried = np.repeat(shares[followed], num[followed])
        if not len(edges):
            return
        yield edges, carried
        entities, places = np.unique(graph.operators.targets_at(edges), return_inverse=True)
        masses = np.bincount(places.reshape(-1), carried).astype(np.float64)


KIND = Near()

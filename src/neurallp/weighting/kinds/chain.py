"""Chains: r(X, Y) where a path along the body leads from X to Y. Features are walk probabilities."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from ...graph.arrays import Body, Ids
from ...graph.vocabulary import Relations
from ...rules.rule import Rule
from ..counting_kernels import CONCLUSIONS, count_chains
from ..features import FeatureWalker
from ..features_kernels import Entries, QuestionBatch
from ..graph_index import GraphIndex, MaskedGraph
from ..masking import Filters
from ..mining import mine_bodies
from .base import Candidate, CandidateSearch, Kind, RuleFeatures, log_scale
from .chain_kernels import Trie, gather_chains

if TYPE_CHECKING:
    from ..features_gpu import GpuFeatureWalker, Layout

#: Questions after which bodies that conclude too much are given up, and after which the work is checked.
ROUNDS = (10, 30, 100)

#: Edges that are visited to count for one query, about; further questions are not counted.
MAX_EDGES = 200_000_000


class Chain(Kind):
    """Forward is the probability of a random walk along the body to the entity, backward of one back.

    Both are sums over paths of 1 / (edges that leave, or arrive, at each step), on a logarithmic scale.
    """

    name = "chain"
    is_optional = False
    depends_on_length = True
    adds_to_given = True
    has_gpu_features = True

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the bodies found between known pairs."""
        return [Candidate(self.name, body) for body in mine_bodies(search, query, max_length)]

    def accepts(self, query: int, candidate: Candidate) -> bool:
        """Return whether a body is not empty, and not the fact asked itself."""
        return candidate.operators not in ((), (query,))

    def is_direct_link(self, candidate: Candidate) -> bool:
        """Return whether the body has one step."""
        return len(candidate.operators) == 1

    def max_depth(self, candidate: Candidate) -> int:
        """Return the length of the body."""
        return len(candidate.operators)

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> Trie:
        """Return the bodies as a trie."""
        return build_trie({number: rule.operators for number, rule in rules.items()})

    def gather(
        self, plan: Trie, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_chains(walker.edges, plan, walker.scratch, batch, entries, ends)

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the walk probabilities of one body."""
        forward, backward = graph.walks.probabilities(candidate.operators)
        entities = np.flatnonzero(forward)
        return RuleFeatures(entities, log_scale(forward[entities]), log_scale(backward[entities]))

    def reachable(self, index: GraphIndex, query: int, candidate: Candidate) -> Ids:
        """Return the targets of the last operator."""
        return index.targets_of(candidate.operators[-1])

    def gpu_numbers(self, walker: "GpuFeatureWalker", plan: Trie) -> int:
        """Return the size of the frontiers along one path through the trie, and of one step's edges."""
        return walker.numbers_of_walk(plan)

    def fill_block(
        self, walker: "GpuFeatureWalker", plan: Trie, layout: "Layout", batch: QuestionBatch, values: Any
    ) -> None:
        """Walk the trie for all questions at once."""
        walker.walk(plan, layout, batch, values)

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `query <= body`."""
        name = relations.operator_name
        return Rule(name(query), tuple(map(name, candidate.operators)), 0.0, distinct_ends=exclude_source)

    def candidate(self, rule: Rule, relations: Relations) -> Candidate:
        """Return the body of a rule."""
        return Candidate(self.name, tuple(map(relations.operator_id, rule.body)))

    def invert(self, candidate: Candidate, relations: Relations) -> Candidate:
        """Return the reversed body of inverse operators."""
        return candidate._replace(operators=tuple(map(relations.inverse, reversed(candidate.operators))))


def build_trie(bodies: Mapping[int, Body]) -> Trie:
    """Return bodies, by rule number, as a trie: the steps of a common prefix are walked once."""
    root: dict[int, Any] = {}
    for rule, body in bodies.items():
        node = root
        for k in body:
            node = node.setdefault(k, {})
        node[-1] = rule
    nodes = np.array(list(_list_nodes(root, 1)), dtype=np.int32).reshape(-1, 3)
    return Trie(*np.ascontiguousarray(nodes.T))


def _list_nodes(node: dict[int, Any], depth: int) -> Iterator[tuple[int, int, int]]:
    for k in sorted(k for k in node if k >= 0):
        yield depth, k, node[k].get(-1, -1)
        yield from _list_nodes(node[k], depth + 1)


def count_conclusions(
    walker: FeatureWalker,
    bodies: Sequence[Body],
    batch: QuestionBatch,
    filters: Filters,
    max_conclusions: float = inf,
) -> tuple[Ids, float]:
    """Return (conclusions, right ones, hits) of each body, (body, 3), and the share of questions counted.

    A body with more than `max_conclusions` is not followed any further: its counts are too low then, but
    still above that number. The work is bounded by edges visited, not by time.
    """
    counts, alive = np.zeros((len(bodies), 3), dtype=np.int64), np.arange(len(bodies))
    ends, num_edges = [0, *(end for end in ROUNDS if end < batch.size), batch.size], 0
    for start, stop in pairwise(ends):
        if num_edges > MAX_EDGES:
            return counts, start / batch.size
        trie = build_trie({body: bodies[body] for body in alive.tolist()})
        own = filters.offsets[start : stop + 1], filters.known_ends[start:stop], filters.entities
        rows = batch.rows(start, stop)
        num_edges += int(count_chains(walker.edges, trie, walker.scratch, rows, *own, counts))
        alive = np.flatnonzero(counts[:, CONCLUSIONS] <= max_conclusions)
    return counts, 1.0


KIND = Chain()

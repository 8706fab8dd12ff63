"""Conclusions of many bodies, counted on questions without writing features down."""

from collections.abc import Sequence
from itertools import pairwise
from math import inf

import numpy as np

from ..graph.arrays import Body, Ids
from .counting_kernels import CONCLUSIONS, count_chains
from .features import FeatureWalker
from .features_kernels import QuestionBatch
from .kinds.chain import build_trie
from .masking import Filters

#: Questions after which bodies that conclude too much are given up, and after which the work is checked.
ROUNDS = (10, 30, 100)

#: Edges that are visited to count for one query, about; further questions are not counted.
MAX_EDGES = 200_000_000


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

"""Conclusions of many bodies, counted on questions without writing features down."""

from collections.abc import Sequence

import numpy as np

from ..graph.arrays import Body, Ids
from .counting_kernels import count_chains
from .features import FeatureWalker
from .features_kernels import QuestionBatch
from .kinds.chain import build_trie
from .masking import Filters


def count_conclusions(
    walker: FeatureWalker, bodies: Sequence[Body], batch: QuestionBatch, filters: Filters
) -> tuple[Ids, int]:
    """Return (conclusions, right ones, hits) of each body, (body, 3), and the number of edges visited."""
    counts = np.zeros((len(bodies), 3), dtype=np.int64)
    trie = build_trie(dict(enumerate(bodies)))
    known = filters.offsets, filters.known_ends, filters.entities
    return counts, int(count_chains(walker.edges, trie, walker.scratch, batch, *known, counts))

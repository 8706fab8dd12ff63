"""What a rule body predicts: its distinct (source, answer) pairs, counted or listed."""

from collections.abc import Iterable

import numpy as np

from ..knowledge import Ids
from .operators import Operators


def count_predictions(operators: Operators, body: Ids, target: int, distinct_ends: bool) -> tuple[int, int]:
    """Return how many distinct pairs `body` leads to, and how many of them `target` links too."""
    from .counting_kernel import count_pairs

    seen = np.full((2, operators.num_entities), -1, dtype=np.int64)
    predictions, support = count_pairs(
        operators.offsets, operators.operators, operators.targets, body, target, distinct_ends, seen
    )
    return int(predictions), int(support)


def list_pairs(operators: Operators, body: Iterable[int], distinct_ends: bool) -> Ids:
    """Return the distinct (source, answer) pairs that `body` leads to; (pair, 2), sorted."""
    num_entities = operators.num_entities
    keys = np.arange(num_entities) * (num_entities + 1)  # source * num_entities + where it leads so far
    for operator in body:
        edges = operators.operators == operator
        keys = _follow(keys, operators.sources[edges], operators.targets[edges], num_entities)
    pairs = np.stack(np.divmod(keys, num_entities), axis=1)
    return pairs[pairs[:, 0] != pairs[:, 1]] if distinct_ends else pairs


def _follow(keys: Ids, sources: Ids, targets: Ids, num_entities: int) -> Ids:
    """Return where pairs lead by edges that are sorted by source: a join, then distinct."""
    starts, ends = np.divmod(keys, num_entities)
    first = np.searchsorted(sources, ends, side="left")
    count = np.searchsorted(sources, ends, side="right") - first
    within = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count)
    reached = targets[np.repeat(first, count) + within]
    return np.unique(np.repeat(starts, count) * num_entities + reached)

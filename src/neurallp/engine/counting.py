"""Counts what a rule body predicts: distinct (source, answer) pairs, and those that are facts."""

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

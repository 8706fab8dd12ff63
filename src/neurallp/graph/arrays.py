"""Array types, and helpers for ragged arrays in CSR form (values and offsets)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ids = NDArray[np.int64]  # triples are (n, 3): head, relation, tail


Flags = NDArray[np.bool_]


Floats = NDArray[np.floating[Any]]


Body = tuple[int, ...]  # the operators of a chain, from the source on


def distinct(triples: Ids) -> Ids:
    """Return the triples without repetitions, in order of first appearance."""
    # A stable sort keeps first appearances first; np.unique over rows takes four times as long.
    order = np.lexsort(triples.T)
    ranked = triples[order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (ranked[1:] != ranked[:-1]).any(axis=1)
    return triples[np.sort(order[is_new])]


def concatenate_ranges(starts: Ids, stops: Ids) -> Ids:
    """Return the integers from each start up to its stop, one range after the other.

    >>> concatenate_ranges(np.array([0, 7]), np.array([2, 10])).tolist()
    [0, 1, 7, 8, 9]
    """
    lengths = stops - starts
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())

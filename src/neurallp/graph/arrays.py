"""Array types, and helpers for ragged arrays in CSR form (values and offsets)."""

from collections.abc import Sequence
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


def offsets_of(lengths: Ids | Sequence[int]) -> Ids:
    """Return where groups of given lengths begin when they are concatenated, and where the last one ends.

    >>> offsets_of([2, 0, 3]).tolist()
    [0, 2, 2, 5]
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def group_offsets(sorted_keys: Ids, num_groups: int) -> Ids:
    """Return where each key's entries begin among ascending keys, and where the last one's end.

    >>> group_offsets(np.array([0, 0, 2]), 4).tolist()
    [0, 2, 2, 3, 3]
    """
    return np.searchsorted(sorted_keys, np.arange(num_groups + 1))


def group_by(keys: Ids, num_groups: int) -> tuple[Ids, Ids]:
    """Return the order that sorts entries by key, equal keys in their given order, and the groups' offsets.

    >>> order, offsets = group_by(np.array([1, 0, 1]), 2)
    >>> order.tolist(), offsets.tolist()
    ([1, 0, 2], [0, 1, 3])
    """
    order = np.argsort(keys, kind="stable")
    return order, group_offsets(keys[order], num_groups)


def group_rows(offsets: Ids) -> Ids:
    """Return the number of the group that each entry belongs to.

    >>> group_rows(np.array([0, 2, 2, 5])).tolist()
    [0, 0, 2, 2, 2]
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))

"""Finding candidates: bodies that link known pairs, meeting in the middle, and answers of like sources."""

from collections.abc import Sequence
from math import log2
from time import monotonic

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Body, Ids
from ..graph.questions import Questions
from .features_kernels import CsrSegments
from .mining_kernels import Meetings, Trails, link

#: Paths followed between two entities, at most; from hubs there are millions.
MAX_PATHS = 1 << 20

#: Pairs between which a body must be found to count, where there are many pairs to look at.
MIN_PAIRS = 2
MANY_PAIRS = 30

#: Known answers of which a unary rule must tell to count.
MIN_SUPPORT = 3


class Miner:
    """Finds the bodies that link pairs; one for each thread, as it holds the space it works in."""

    def __init__(self, runs: CsrSegments, num_operators: int, max_length: int) -> None:
        self.runs, self.base = runs, num_operators + 1
        length = min(max_length, int(63 / log2(self.base)))  # a body is one number of 63 bits
        self.steps = (length - length // 2, length // 2)
        self._there, self._back = _room_for_trails(), _room_for_trails()
        num_entities = len(runs.offsets) - 1
        self._meetings = Meetings(np.full(num_entities, -1), np.empty(MAX_PATHS, np.int64))
        self._codes, self._probabilities = np.empty(MAX_PATHS, np.int64), np.empty(MAX_PATHS)

    def mine(self, pairs: Questions, mask_pair: bool, limit: int, deadline: float = np.inf) -> list[Body]:
        """Return the bodies found between most pairs with most probability, at most `limit`.

        The pairs are of one query, whose own fact is not walked (nor any that links the `whole_pair`).
        Stops looking at the `deadline`.
        """
        found: list[tuple[Ids, NDArray[np.float64]]] = []
        for source, query, answer in zip(pairs.sources, pairs.queries, pairs.answers, strict=True):
            found.append(self._link((int(source), int(query), int(answer), mask_pair)))
            if monotonic() > deadline:
                break
        return [self._body(code) for code in _best(found, limit)]

    def _link(self, ends: tuple[int, int, int, bool]) -> tuple[Ids, NDArray[np.float64]]:
        """Return the distinct bodies between one pair, and the probability of walking each."""
        room = self._there, self._back, self._meetings, self._codes, self._probabilities
        num = link(self.runs, ends, self.steps, self.base, *room)
        codes, places = np.unique(self._codes[:num], return_inverse=True)
        sums = np.bincount(places, self._probabilities[:num], minlength=len(codes))
        return codes, sums.astype(np.float64)

    def _body(self, code: int) -> Body:
        body = []
        while code:
            code, k = divmod(code, self.base)
            body.append(k - 1)
        return tuple(reversed(body))


def _room_for_trails() -> Trails:
    entities, codes, lengths = (np.empty(MAX_PATHS, np.int64) for _ in range(3))
    return Trails(entities, codes, lengths, np.empty(MAX_PATHS))


def _best(found: Sequence[tuple[Ids, NDArray[np.float64]]], limit: int) -> list[int]:
    """Return the codes of the bodies with the largest product of pairs linked and probability."""
    codes, places = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(c for c, _ in found)]), return_inverse=True
    )
    if not len(codes):
        return []
    num_pairs = np.bincount(places)
    probability = np.bincount(places, np.concatenate([p for _, p in found]))
    worth = np.where(
        num_pairs >= (MIN_PAIRS if len(found) >= MANY_PAIRS else 1), num_pairs * probability, -1.0
    )
    order = np.argsort(-worth, kind="stable")[:limit]
    return [int(code) for code in codes[order[worth[order] >= 0]]]


def find_unary(runs: CsrSegments, pairs: Questions, mask_pair: bool, limit: int) -> list[tuple[int, int]]:
    """Return (operator, answer) such that sources with the operator have the answer, the most telling first.

    How telling is how often they do x the logarithm of how much more often than by chance.
    """
    first, num = runs.offsets[pairs.sources], np.diff(runs.offsets)[pairs.sources]
    rows = np.repeat(np.arange(len(pairs)), num)
    of_row = np.repeat(first - np.cumsum(num) + num, num) + np.arange(num.sum())
    operators, answers = runs.operators[of_row].astype(np.int64), pairs.answers[rows]
    alone = (np.diff(runs.starts)[of_row] == 1) & (runs.targets[runs.starts[of_row]] == answers)
    seen = ~(alone & (mask_pair | (operators == pairs.queries[rows])))  # else it is what is asked
    operators, answers = operators[seen], answers[seen]
    num_entities = len(runs.offsets) - 1
    keys, support = np.unique(operators * num_entities + answers, return_counts=True)
    of_operator, of_answer = np.bincount(operators), np.bincount(pairs.answers)
    expected = of_operator[keys // num_entities] * of_answer[keys % num_entities] / max(len(pairs), 1)
    worth = np.where(support >= MIN_SUPPORT, support * np.log(support / expected), 0.0)
    order = np.argsort(-worth, kind="stable")[:limit]
    return [divmod(int(key), num_entities) for key in keys[order[worth[order] > 0]]]

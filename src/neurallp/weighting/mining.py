"""Mining chains: the bodies that link known pairs, found by a search from both ends, and the best of them.

Work is bounded by the number of paths followed, not by time, so results do not depend on the machine. Each
length has a quota of its own, as long bodies are many and would leave no room for short ones.
"""

from collections.abc import Sequence
from math import log2
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..graph.arrays import Body, Floats, Ids
from ..graph.questions import Questions
from .counting_kernels import CONCLUSIONS, HITS, RIGHT
from .graph_index import GraphIndex
from .mining_kernels import Meetings, Trails, link

if TYPE_CHECKING:
    from .kinds.base import CandidateSearch

#: Paths followed between two entities, at most; hubs have millions.
MAX_PATHS = 1 << 20

#: Pairs that a body must link to be a candidate, where at least MANY_PAIRS pairs are searched.
MIN_PAIRS = 2
MANY_PAIRS = 30

#: Pairs are searched in rounds of this many, until the share of new bodies in a round falls below SATURATED.
PAIRS_OF_ROUND = 50
SATURATED = 0.05

#: Added to conclusions, so that a body that is right in one case of one does not come first.
SMOOTHING = 5.0

#: The share of a query's feature values that one body may have.
MAX_SHARE = 0.25


def mine_bodies(search: "CandidateSearch", query: int, max_length: int) -> list[Body]:
    """Return the best bodies found between known pairs of a query, for each way of masking that is used."""
    config, choices = search.config, search.mask_pair_choices
    num_facts = len(search.questions(query))
    pairs = search.sample(query, config.pairs_for(num_facts))
    limit = -(-config.num_mined // len(choices))
    key = Miner, max_length
    if key not in search.workspace:
        search.workspace[key] = Miner(search.index, max_length)
    miner: Miner = search.workspace[key]
    found = [body for mask in choices for body in miner.mine(pairs, mask, limit, config.max_paths)]
    bodies = [body for body in dict.fromkeys(found) if body != (query,)]
    budget = config.first_entries_for(num_facts) * config.counted_for(num_facts)  # of all counted questions
    counts, share = search.count_chains(query, bodies, MAX_SHARE * budget)
    counts[counts[:, CONCLUSIONS] > MAX_SHARE * budget] = 0
    return select_bodies(bodies, counts, share * budget, config.candidates_for(num_facts))


class Miner:
    """Finds the bodies that link pairs. Each thread needs its own, as it holds working memory."""

    def __init__(self, index: GraphIndex, max_length: int) -> None:
        self.edges, self.base = index.segments, index.num_operators + 1
        length = min(max_length, int(63 / log2(self.base)))  # a body is one number of 63 bits
        self.steps = (length - length // 2, length // 2)
        self._forward, self._backward = _room_for_trails(), _room_for_trails()
        self._meetings = Meetings(np.full(index.num_entities, -1), np.empty(MAX_PATHS, np.int64))
        self._codes, self._probabilities = np.empty(MAX_PATHS, np.int64), np.empty(MAX_PATHS)

    def mine(self, pairs: Questions, mask_pair: bool, limit: int, max_paths: int) -> list[Body]:
        """Return the bodies that link most pairs with most probability, at most `limit` of each length.

        The pairs are of one query. The asked fact of a pair is not walked (with `mask_pair` no fact that
        links it). No further pair is searched once `max_paths` paths were followed, or few new bodies come.
        """
        found: list[tuple[Ids, NDArray[np.float64]]] = []
        best: Ids = np.zeros(0, np.int64)
        num_paths = 0
        for source, query, answer in zip(pairs.sources, pairs.queries, pairs.answers, strict=True):
            if num_paths >= max_paths:
                break
            bodies, followed = self._link((int(source), int(query), int(answer), mask_pair))
            found.append(bodies)
            num_paths += followed
            if len(found) % PAIRS_OF_ROUND == 0:
                before, best = best, self._best(found, limit)
                if np.isin(best, before, invert=True).sum() < SATURATED * len(best):
                    break
        return [self._body(code) for code in self._best(found, limit).tolist()]

    def _link(self, ends: tuple[int, int, int, bool]) -> tuple[tuple[Ids, NDArray[np.float64]], int]:
        """Return the distinct bodies between one pair, their probabilities, and the paths followed."""
        room = self._forward, self._backward, self._meetings, self._codes, self._probabilities
        num, followed = link(self.edges, ends, self.steps, self.base, *room)
        codes, places = np.unique(self._codes[:num], return_inverse=True)
        sums = np.bincount(places, self._probabilities[:num], minlength=len(codes))
        return (codes, sums.astype(np.float64)), int(followed)

    def _best(self, found: Sequence[tuple[Ids, NDArray[np.float64]]], limit: int) -> Ids:
        """Return the codes with the largest product of pairs and probability, at most `limit` a length."""
        codes = _rank_codes(found)
        lengths = (codes[:, None] >= self.base ** np.arange(sum(self.steps))).sum(axis=1)
        nth = np.zeros(len(codes), np.int64)
        for length in np.unique(lengths):
            nth[lengths == length] = np.arange((lengths == length).sum())
        return codes[nth < limit]

    def _body(self, code: int) -> Body:
        """Return the body that a number stands for: its digits are operators, counted from 1."""
        body = []
        while code:
            code, k = divmod(code, self.base)
            body.append(k - 1)
        return tuple(reversed(body))


def _room_for_trails() -> Trails:
    entities, codes, lengths = (np.empty(MAX_PATHS, np.int64) for _ in range(3))
    return Trails(entities, codes, lengths, np.empty(MAX_PATHS))


def _rank_codes(found: Sequence[tuple[Ids, NDArray[np.float64]]]) -> Ids:
    """Return the codes found between enough pairs, by pairs linked x probability, the largest first."""
    codes, places = np.unique(
        np.concatenate([np.zeros(0, np.int64), *(c for c, _ in found)]), return_inverse=True
    )
    if not len(codes):
        return codes
    num_pairs = np.bincount(places)
    probability = np.bincount(places, np.concatenate([p for _, p in found]))
    min_pairs = MIN_PAIRS if len(found) >= MANY_PAIRS else 1
    order = np.argsort(-num_pairs * probability, kind="stable")
    ranked: Ids = codes[order[num_pairs[order] >= min_pairs]]
    return ranked


# Selection by what bodies conclude on sampled questions


def select_bodies(bodies: Sequence[Body], counts: Ids, budget: float, num: int) -> list[Body]:
    """Return the `num` best bodies: each length has the same share, and all together a budget of conclusions.

    `counts` are conclusions, right ones and hits, (body, 3). The budget is for as many questions as were to
    be counted: a query with fewer questions than that may have more conclusions for each.
    """
    values = value_of(counts)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 0]
    lengths = np.array([len(bodies[i]) for i in order], dtype=np.int64)
    chosen = order[share_by_length(lengths, num)]
    kept = chosen[within_budget(counts[chosen, CONCLUSIONS].astype(np.float64), budget)]
    return [bodies[i] for i in kept]


def value_of(counts: Ids) -> Floats:
    """Return sqrt(hits) x right / (conclusions + 5): a body of the same value that concludes less is better.

    >>> value_of(np.array([[5, 4, 4], [95, 4, 4]])).round(2).tolist()
    [0.8, 0.08]
    """
    confidence = counts[:, RIGHT] / (counts[:, CONCLUSIONS] + SMOOTHING)
    values: Floats = np.sqrt(counts[:, HITS]) * confidence
    return values


def share_by_length(lengths: Ids, num: int) -> Ids:
    """Return the places of the first `num`, with equal shares for each length as far as it can fill them.

    >>> share_by_length(np.array([3, 3, 3, 1, 3]), 3).tolist()
    [0, 1, 3]
    """
    names, counts = np.unique(lengths, return_counts=True)
    places, left = [np.zeros(0, np.int64)], num
    for i, rarest in enumerate(np.argsort(counts, kind="stable")):
        own = np.flatnonzero(lengths == names[rarest])[: left // (len(names) - i)]
        left -= len(own)
        places.append(own)
    return np.sort(np.concatenate(places))


def within_budget(costs: Floats, budget: float) -> Ids:
    """Return the places of those that fit into a budget, taken in order; what does not fit is passed over.

    >>> within_budget(np.array([3.0, 9.0, 2.0]), 6).tolist()
    [0, 2]
    """
    kept, left = [], float(budget)
    for place, cost in enumerate(costs.tolist()):
        if cost <= left:
            kept.append(place)
            left -= cost
    return np.array(kept, dtype=np.int64)

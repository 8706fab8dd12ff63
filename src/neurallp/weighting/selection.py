"""Selection of mined bodies by what they conclude on sampled questions."""

from collections.abc import Sequence

import numpy as np

from ..config import WeightingConfig
from ..graph.arrays import Body, Floats, Ids
from .counting_kernels import CONCLUSIONS, HITS, RIGHT

#: Added to conclusions, so that a body that is right in one case of one does not come first.
SMOOTHING = 5.0


def select_bodies(bodies: Sequence[Body], counts: Ids, share: float, config: WeightingConfig) -> list[Body]:
    """Return the best bodies: every length has the same share, and all together the budget of entries.

    `counts` are conclusions, right ones and hits, (body, 3), on a `share` of at most `config.num_counted`
    questions. A query with fewer questions than that may have more entries for each.
    """
    values = value_of(counts)
    order = np.argsort(-values, kind="stable")
    order = order[values[order] > 0]
    lengths = np.array([len(bodies[i]) for i in order], dtype=np.int64)
    chosen = order[share_by_length(lengths, config.num_candidates)]
    costs = counts[chosen, CONCLUSIONS] / (max(share, 1e-9) * config.num_counted)
    kept = chosen[within_budget(costs, config.max_entries)]
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

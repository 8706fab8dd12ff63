"""Random knowledge bases with awkward names, and weighted rules of every kind for them."""

import numpy as np

from neurallp import KnowledgeBase
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

#: Names that need quoting in one language or the other.
NAMES = ["anna", "it's", 'say "hi"', "Ümit", "e 4", "back\\slash", "g", "~h"]
RELATIONS = ["r", "it's s", "T"]


def random_kb(seed, num_facts=26):
    rng = np.random.default_rng(seed)
    rows = [
        (NAMES[h], RELATIONS[r], NAMES[t])
        for h, r, t in zip(*(rng.integers(0, n, num_facts) for n in (8, 3, 8)), strict=True)
        if (r, h) != (2, t)
    ]
    return KnowledgeBase.from_triples(rows)


def random_rules(kb, seed, excludes_linked=False):
    """Return weighted rules of every kind for every query, with weights of both signs."""
    rng = np.random.default_rng(seed)
    num = kb.relations.num_operators
    queries = {}
    for query in range(num):
        bodies = {tuple(rng.integers(0, num, rng.integers(1, 4)).tolist()) for _ in range(6)} - {(query,)}
        candidates = [Candidate("chain", body) for body in sorted(bodies)]
        candidates += [Candidate("prior", (query,)), Candidate("against", (int(rng.integers(num)),))]
        candidates += [Candidate("unary", (int(rng.integers(num)),), name) for name in ("anna", "nobody")]
        ends = [*(NAMES[place] for place in rng.integers(0, len(NAMES), 4)), "nobody"]
        candidates += [Candidate("unary", (int(rng.integers(num)),), "it's", end) for end in ends]
        candidates += [
            Candidate(kind, (k,))
            for kind in ("anchored", "mirrored")
            for k in rng.permutation(num)[:3].tolist()
        ]
        weights = rng.normal(size=(len(candidates), 3))
        single = [candidate.kind in ("prior", "unary", "against") for candidate in candidates]
        weights[np.ix_(single, [1, 2])] = 0
        queries[query] = WeightedQuery(tuple(candidates), weights, rng.random(len(candidates)))
    return WeightedRules(kb.relations, kb.reflexive_relations, queries, excludes_linked=excludes_linked)

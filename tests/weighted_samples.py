"""Random knowledge bases with awkward names, and weighted rules of every kind for them."""

from contextlib import contextmanager

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.weighting.kinds import sourced, unary
from neurallp.weighting.kinds.base import Candidate, Kind
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

#: Names that need quoting in one language or the other.
NAMES = ["anna", "it's", 'say "hi"', "Ümit", "e 4", "back\\slash", "g", "~h"]
RELATIONS = ["r", "it's s", "T"]

#: Weights of two rules.
WEIGHTS = np.array([[0.5, 2.0, -0.75], [1.0, 0.25, 0.5]])


@contextmanager
def every_kind():
    """Within it, no query leaves a kind of rules out, and few facts are enough for rules with constants."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Kind, "is_optional", False)
        for module, kind in ((unary, unary.Unary), (sourced, sourced.Sourced)):
            patch.setattr(module, "MIN_SUPPORT", 3)
            patch.setattr(module, "FACTS_PER_RULE", 1)
            patch.setattr(kind, "penalty", 1.0)
        yield


def random_kb(seed, num_facts=26):
    rng = np.random.default_rng(seed)
    rows = [
        (NAMES[h], RELATIONS[r], NAMES[t])
        for h, r, t in zip(*(rng.integers(0, n, num_facts) for n in (8, 3, 8)), strict=True)
        if (r, h) != (2, t)
    ]
    return KnowledgeBase.from_triples(rows)


def hub_kb(num_leaves=60):
    """Return facts in which walks of nearness end: each of three hubs in a row has many leaves."""
    rows = [(f"hub{i}", "s", f"hub{i + 1}") for i in range(2)]
    rows += [(f"hub{i}", "r", f"leaf{i}_{leaf}") for i in range(3) for leaf in range(num_leaves)]
    return KnowledgeBase.from_triples([*rows, ("hub0", "r", "hub1"), ("leaf0_0", "s", "leaf0_0")])


def near_rules(kb):
    """Return weighted rules of which one query has a nearness, and others have none."""
    near = WeightedQuery((Candidate("near", ()), Candidate("chain", (1,))), WEIGHTS, np.ones(2))
    other = WeightedQuery((Candidate("chain", (0,)),), WEIGHTS[:1], np.ones(1))
    return WeightedRules(kb.relations, kb.reflexive_relations, {0: near, 1: other})


def linked_rules(kb):
    """Return weighted rules of which one query has a rule about links, and others have none."""
    weights = np.array([[-0.5, 0.0, 0.0], WEIGHTS[1]])
    linked = WeightedQuery((Candidate("linked", ()), Candidate("chain", (1,))), weights, np.ones(2))
    other = WeightedQuery((Candidate("chain", (0,)),), WEIGHTS[:1], np.ones(1))
    return WeightedRules(kb.relations, kb.reflexive_relations, {0: linked, 1: other})


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
        starts = [*rng.choice(NAMES, 3).tolist(), "it's", "nobody"]
        candidates += [Candidate("sourced", (int(rng.integers(num)),), "it's", start) for start in starts]
        sources = [*rng.choice(NAMES, 3).tolist(), "nobody"]
        candidates += [Candidate("sourced", (int(rng.integers(num)),), name, "anna") for name in sources]
        candidates += [
            Candidate(kind, (k,))
            for kind in ("anchored", "mirrored")
            for k in rng.permutation(num)[:3].tolist()
        ]
        candidates += [Candidate("near", ()), Candidate("linked", ())]
        candidates = list(dict.fromkeys(candidates))
        weights = rng.normal(size=(len(candidates), 3))
        single = ("prior", "unary", "sourced", "against", "linked")
        weights[np.ix_([candidate.kind in single for candidate in candidates], [1, 2])] = 0
        queries[query] = WeightedQuery(tuple(candidates), weights, rng.random(len(candidates)))
    return WeightedRules(kb.relations, kb.reflexive_relations, queries, excludes_linked=excludes_linked)

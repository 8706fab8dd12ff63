import numpy as np
import oracle
import pytest
from hypothesis import strategies as st

from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Vocabulary
from neurallp.weighting.features import Clue, FeatureWalker, build_trie, csr_segments, list_clues

bodies_over = st.lists(
    st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1, max_size=5, unique=True
)
NAMES = Vocabulary(f"e{i}" for i in range(5))
clues_over = st.lists(
    st.one_of(
        st.builds(Clue, st.just("unary"), st.integers(0, 3), st.sampled_from(NAMES)),
        st.builds(Clue, st.sampled_from(["anchored", "mirrored"]), st.integers(0, 3)),
    ),
    min_size=1,
    max_size=6,
    unique=True,
)


def walker_over(kb, max_length=3, max_entries=1000):
    operators = Operators.of(kb)
    return FeatureWalker(csr_segments(operators), operators.num_operators, max_length, max_entries)


def gather_all(
    walker, bodies, query, sources, answers=None, clues=(), entities=NAMES, *, mask_pair=False, excluded=False
):
    """Return {(rule, entity): (there, back)} for each question, however many parts they come in."""
    told, tree = [], build_trie(bodies)
    listed = list_clues(clues, len(bodies), len(walker.scratch.hidden), entities)
    while len(told) < len(sources):
        rest = None if answers is None else answers[len(told) :]
        flags = np.broadcast_to(mask_pair, len(sources))[len(told) :]
        asked = sources[len(told) :], rest
        found = walker.gather(tree, listed, query, *asked, mask_pair=flags, excluded=excluded)
        assert len(found) > 0
        for question in range(len(found)):
            rows = list(zip(*(column.tolist() for column in found.told(question)), strict=True))
            told.append({(rule, entity): (there, back) for entity, rule, there, back in rows})
            assert len(told[-1]) == len(rows)  # an entity is told once for each rule
    return told


def oracle_evidence(graph, source, bodies, excluded=False):
    """Return what `gather_all` must tell of one question."""
    return {
        (rule, entity): tuple(map(oracle.log_scale, probabilities))
        for rule, body in enumerate(bodies)
        for entity, probabilities in oracle.walk_evidence(graph, source, body).items()
        if not (excluded and entity == source)
    }


def oracle_clues(kb, graph, source, query, clues, excluded=False):
    """Return what `gather_all` must tell of one question by clues alone."""
    return {
        (rule, entity): tuple(map(oracle.log_scale, shares))
        for rule, (kind, operator, answer) in enumerate(clues)
        for entity, shares in oracle.clue_evidence(
            graph, source, query, kind, operator, kb.entities.find(answer)
        ).items()
        if entity >= 0 and not (excluded and entity == source)
    }


def assert_equal_evidence(told, expected):
    assert told.keys() == expected.keys()
    for key, pair in expected.items():
        assert told[key] == pytest.approx(pair, rel=1e-5), key


def questions_of(kb, query):
    """Return sources and answers of a query's facts."""
    own = kb.facts[kb.facts[:, 1] == query % len(kb.relations)]
    ends = own[:, [0, 2]] if query < len(kb.relations) else own[:, [2, 0]]
    return np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])


# Walks

"""Candidates of every kind, and their features by the walker, by the GPU's walker, and by the oracle."""

import numpy as np
import oracle
import pytest
from hypothesis import strategies as st

from neurallp.weighting.features import FeatureWalker, ask
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import compile_rules
from neurallp.weighting.kinds.base import Candidate

NAMES = [f"e{i}" for i in range(5)]
operator = st.integers(0, 3)
chain = st.builds(
    Candidate, st.just("chain"), st.lists(operator, min_size=1, max_size=3).map(tuple), st.none(), st.none()
)
unary = st.builds(
    Candidate,
    st.just("unary"),
    st.tuples(operator),
    st.sampled_from(NAMES),
    st.none() | st.sampled_from(NAMES),
)
sourced = st.builds(
    Candidate, st.just("sourced"), st.tuples(operator), st.sampled_from(NAMES), st.sampled_from(NAMES)
)
shared = st.builds(
    Candidate, st.sampled_from(["anchored", "mirrored"]), st.tuples(operator), st.none(), st.none()
)
unnamed = st.sampled_from([Candidate("near", ()), Candidate("linked", ())])


def rules_of(*kinds, max_size=6):
    """Draw distinct candidates of some kinds."""
    return st.lists(st.one_of(*kinds), min_size=1, max_size=max_size, unique=True)


chains, non_chains, rules_of_all_kinds = (
    rules_of(chain),
    rules_of(unary, sourced, shared, unnamed),
    rules_of(chain, unary, sourced, shared, unnamed),
)


def chain_rules(*bodies):
    return [Candidate("chain", body) for body in bodies]


def walker_over(kb, max_length=3, max_entries=1000):
    return FeatureWalker(GraphIndex.of(kb), max_length, max_entries)


def gather_all(walker, rules, query, sources, answers=None, *, mask_pair=False, exclude_source=False):
    """Return {(rule, entity): (forward, backward)} for each question, however many calls that takes."""
    found, plans = [], compile_rules(walker.index, query, rules).plans
    batch = ask(query, sources, answers, mask_pair, exclude_source)
    while len(found) < len(sources):
        features = walker.gather(plans, batch.rows(len(found)))
        assert len(features) > 0
        for question in range(len(features)):
            rows = list(zip(*(column.tolist() for column in features.rows(question)), strict=True))
            found.append({(rule, entity): pair for entity, rule, *pair in rows})
            assert len(found[-1]) == len(rows)  # a rule lists an entity once
    return found


def gather_blocks(blocks, rules, query, sources, answers=None, *, mask_pair=False, exclude_source=False):
    """Return the same from the dense blocks of the GPU's walker."""
    found, plans = [], compile_rules(blocks.index, query, rules).plans
    layout = blocks.layout(query, rules)
    keys = list(zip(layout.rules.tolist(), layout.entities.tolist(), strict=True))
    batch = ask(query, sources, answers, mask_pair, exclude_source)
    while len(found) < len(sources):
        block = blocks.gather(plans, layout, batch.rows(len(found)))
        assert len(block) > 0
        found += [
            {key: pair for key, pair in zip(keys, column, strict=True) if pair[0] > 0}
            for column in block.values.permute(2, 0, 1).tolist()
        ]
    return found


def oracle_features(kb, graph, source, query, rules, exclude_source=False):
    """Return what `gather_all` must find for one question on a graph of edges."""
    return {
        (number, entity): tuple(map(oracle.near_scale if rule.kind == "near" else oracle.log_scale, pair))
        for number, rule in enumerate(rules)
        for entity, pair in _oracle_rule(kb, graph, source, query, rule).items()
        if entity >= 0 and not (exclude_source and entity == source)
    }


def _oracle_rule(kb, graph, source, query, rule):
    if rule.kind == "chain":
        return oracle.walk_features(graph, source, rule.operators)
    if rule.kind == "unary":
        end = None if rule.end is None else kb.entities.find(rule.end)
        answer = kb.entities.find(rule.constant)
        return oracle.unary_features(graph, source, rule.operators[0], answer, end)
    if rule.kind == "sourced":
        named, start = map(kb.entities.find, (rule.constant, rule.end))
        return oracle.sourced_features(graph, source, rule.operators[0], named, start)
    if rule.kind == "near":
        return oracle.near_features(graph, source)
    if rule.kind == "linked":
        return oracle.linked_features(graph, source, query)
    return oracle.shared_features(graph, source, query, rule.kind, rule.operators[0])


def masked_graph(edges, source, query, answer, num_relations, mask_pair):
    """Return the edges that are left to one question."""
    if mask_pair:
        return oracle.without_pair(edges, source, answer)
    return oracle.without_fact(edges, source, query, answer, num_relations)


def assert_equal_features(found, expected):
    assert found.keys() == expected.keys()
    for key, pair in expected.items():
        assert found[key] == pytest.approx(pair, rel=1e-5), key


def questions_of(kb, query):
    """Return sources and answers of a query's facts."""
    own = kb.facts[kb.facts[:, 1] == query % len(kb.relations)]
    ends = own[:, [0, 2]] if query < len(kb.relations) else own[:, [2, 0]]
    return np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import (
    assert_equal_features,
    chain_rules,
    gather_all,
    masked_graph,
    oracle_features,
    questions_of,
    rules_of_all_kinds,
    walker_over,
)
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase
from neurallp.graph.operators import Operators
from neurallp.weighting.features import FeatureWalker, ask
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph
from neurallp.weighting.kinds.base import Candidate


@settings(max_examples=100, deadline=None)
@given(
    kb=knowledge_bases(most_facts=14),
    rules=rules_of_all_kinds,
    query=st.integers(0, 3),
    exclude_source=st.booleans(),
    room=st.integers(1, 40),
)
def test_features_of_every_kind_equal_the_oracle_s_in_any_room(kb, rules, query, exclude_source, room):
    sources = np.arange(len(kb.entities))
    walker = walker_over(kb, max_entries=room)
    found = gather_all(walker, rules, query, sources, exclude_source=exclude_source)
    for source, features in enumerate(found):
        expected = oracle_features(kb, edges(kb), source, query, rules, exclude_source)
        assert_equal_features(features, expected)


@settings(max_examples=150, deadline=None)
@given(
    kb=knowledge_bases(num_entities=4, most_facts=14),
    rules=rules_of_all_kinds,
    query=st.integers(0, 3),
    mask_pair=st.booleans(),
    room=st.sampled_from([1, 15, 1000]),
)
def test_masked_facts_are_removed_from_the_graph(kb, rules, query, mask_pair, room):
    sources, answers = questions_of(kb, query)
    walker = walker_over(kb, max_entries=room)
    found = gather_all(walker, rules, query, sources, answers, mask_pair=mask_pair)
    for source, answer, features in zip(sources.tolist(), answers.tolist(), found, strict=True):
        graph = masked_graph(edges(kb), source, query, answer, len(kb.relations), mask_pair)
        assert_equal_features(features, oracle_features(kb, graph, source, query, rules))


@settings(max_examples=40, deadline=None)
@given(kb=knowledge_bases(num_entities=4, most_facts=14), query=st.integers(0, 3), mask_pair=st.booleans())
def test_a_masked_graph_has_the_targets_that_are_left(kb, query, mask_pair):
    sources, answers = questions_of(kb, query)
    batch, index = ask(query, sources, answers, mask_pair), GraphIndex.of(kb)
    for question, (source, answer) in enumerate(zip(sources.tolist(), answers.tolist(), strict=True)):
        left = masked_graph(edges(kb), source, query, answer, len(kb.relations), mask_pair)
        graph = MaskedGraph(index, batch, question)
        for entity in range(index.num_entities):
            for k in range(index.num_operators):
                expected = sorted({end for start, by, end in left if (start, by) == (entity, k)})
                assert graph.targets(entity, k).tolist() == expected


def test_nothing_stays_masked_for_the_next_question():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "b"), ("b", "r", "b")])
    rules = [*chain_rules((0,), (1,), (0, 0)), Candidate("unary", (1,), "b"), Candidate("anchored", (0,))]
    walker, source = walker_over(kb), np.array([0])
    before = gather_all(walker, rules, 0, source)
    assert gather_all(walker, rules, 0, source, np.array([1]), mask_pair=True) == [{}]
    assert gather_all(walker, rules, 0, source) == before


def test_an_entity_without_facts_has_no_features():
    facts = np.array([[0, 0, 1]])
    kb = KnowledgeBase.from_triples([("a", "r", "b")])
    index = GraphIndex(kb, Operators.of_facts(facts, num_entities=4, num_relations=1))
    found = gather_all(FeatureWalker(index, 2), chain_rules((0,), (0, 1), (1, 0)), 0, np.arange(4))
    assert found == [{(0, 1): [1, 1], (1, 0): [1, 1]}, {(2, 1): [1, 1]}, {}, {}]


def test_without_rules_or_questions_there_are_no_features():
    kb = KnowledgeBase.from_triples([("a", "r", "b")])
    assert gather_all(walker_over(kb), [], 0, np.array([0, 1])) == [{}, {}]
    assert gather_all(walker_over(kb), chain_rules((0,)), 0, np.zeros(0, dtype=np.int64)) == []


def test_a_certain_walk_has_feature_1():
    assert oracle.log_scale(1) == 1
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "r", "c"), ("d", "r", "c")])
    [found] = gather_all(walker_over(kb), chain_rules((0,)), 0, np.array([0]))
    half = pytest.approx(oracle.log_scale(0.5), rel=1e-6)
    assert found == {(0, 1): [half, 1], (0, 2): [half, half]}


def test_buffers_are_as_large_as_the_questions_need_and_grow_with_them():
    kb = KnowledgeBase.from_triples((f"e{i}", "r", f"e{i + 1}") for i in range(40))
    walker, rules = FeatureWalker(GraphIndex.of(kb), 2), chain_rules((0,), (0, 0))
    few = gather_all(walker, rules, 0, np.arange(1))
    assert sum(column.nbytes for column in walker._buffers[0]) < 50_000
    every = gather_all(walker, rules, 0, np.arange(41))
    assert sum(column.nbytes for column in walker._buffers[0]) < 1_000_000
    assert (len(every), every[0]) == (41, few[0])
    assert gather_all(walker_over(kb, max_entries=1), rules, 0, np.arange(41)) == every

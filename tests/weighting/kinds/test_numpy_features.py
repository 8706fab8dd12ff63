"""Features of one question in numpy equal those of the compiled loops and of the oracle."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import assert_equal_features, oracle_features, rules_of_all_kinds, walker_over
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase
from neurallp.config import KINDS
from neurallp.weighting.features import ask
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import can_use_numpy, compile_rules, gather_in_numpy
from neurallp.weighting.kinds.base import Candidate

few = settings(max_examples=30, deadline=None)


def as_dict(features):
    columns = (column.tolist() for column in features.rows(0))
    return {(rule, entity): pair for entity, rule, *pair in zip(*columns, strict=True)}


@few
@given(kb=knowledge_bases(most_facts=14), rules=rules_of_all_kinds, query=st.integers(0, 3))
def test_features_in_numpy_equal_the_oracle_s(kb, rules, query):
    index = GraphIndex.of(kb)
    for source in range(len(kb.entities)):
        found = as_dict(gather_in_numpy(index, query, rules, source))
        assert_equal_features(found, oracle_features(kb, edges(kb), source, query, rules))


@few
@given(kb=knowledge_bases(most_facts=14), rules=rules_of_all_kinds, query=st.integers(0, 3))
def test_scores_in_numpy_equal_those_of_the_compiled_loops(kb, rules, query):
    walker = walker_over(kb)
    weights = np.random.default_rng(0).normal(size=(len(rules), 3))
    plans = compile_rules(walker.index, query, rules).plans
    for source in range(len(kb.entities)):
        rows = np.zeros((2, len(kb.entities)))
        walker.gather(plans, ask(query, np.array([source]))).add_scores(0, weights, rows[0])
        gather_in_numpy(walker.index, query, rules, source).add_scores(0, weights, rows[1])
        np.testing.assert_allclose(rows[0], rows[1], rtol=1e-5, atol=1e-6)


def test_a_dense_rule_has_no_entries_and_the_others_keep_their_numbers():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("b", "s", "c")])
    rules = [Candidate("prior", (0,)), Candidate("chain", (0, 1)), Candidate("chain", (0,))]
    found = as_dict(gather_in_numpy(GraphIndex.of(kb), 0, rules, kb.entities.id("a")))
    assert found.keys() == {(1, kb.entities.id("c")), (2, kb.entities.id("b"))}


def test_a_question_that_no_rule_answers_has_no_entries():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("b", "s", "c")])
    found = gather_in_numpy(GraphIndex.of(kb), 0, [Candidate("chain", (0, 0))], kb.entities.id("c"))
    assert as_dict(found) == {}
    row = np.full(3, 0.5)
    found.add_scores(0, np.ones((1, 3)), row)
    assert row.tolist() == [0.5] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_ours_can_be_computed_in_numpy(kind):
    assert can_use_numpy([Candidate(kind, (0,), "a")])


def test_no_rules_can_be_computed_in_numpy():
    assert can_use_numpy([])

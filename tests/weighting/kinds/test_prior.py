"""The prior: how often an entity is an answer, with and without the asked fact."""

from math import log

import numpy as np
import pytest

from neurallp import KnowledgeBase
from neurallp.graph.vocabulary import Relations
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds import compile_rules, get_kind, is_dense
from neurallp.weighting.kinds.base import Candidate

KIND = get_kind("prior")
FACTS = [
    ("ann", "speaks", "french"),
    ("bea", "speaks", "french"),
    ("bea", "speaks", "german"),
    ("cid", "speaks", "french"),
    ("ann", "knows", "bea"),
]


@pytest.fixture
def index():
    return GraphIndex.of(KnowledgeBase.from_triples(FACTS))


def by_name(index, values):
    return {index.kb.entities[i]: value for i, value in enumerate(values.tolist()) if value}


def test_the_feature_is_the_logarithm_of_one_more_than_the_frequency(index):
    values = KIND.values(index, index.kb.relations.operator_id("speaks"))
    assert by_name(index, values) == pytest.approx({"french": log(4), "german": log(2)})


def test_an_inverse_query_counts_the_heads(index):
    values = KIND.values(index, index.kb.relations.operator_id("~speaks"))
    assert by_name(index, values) == pytest.approx({"ann": log(2), "bea": log(3), "cid": log(2)})


def test_the_asked_fact_is_not_counted_for_its_own_answer(index):
    values = KIND.masked_values(index, index.kb.relations.operator_id("speaks"))
    assert by_name(index, values) == pytest.approx({"french": log(3)})
    assert (values >= 0).all()


def test_the_prior_is_one_dense_feature_beside_other_rules(index):
    rules = [Candidate("chain", (1, 0)), Candidate("prior", (0,))]
    compiled = compile_rules(index, 0, rules)
    assert [is_dense(rule) for rule in rules] == [False, True]
    assert compiled.dense.number == 1
    assert np.array_equal(compiled.dense.values, KIND.values(index, 0))
    assert [plan.rules for plan in compiled.plans] == [(0,)]


def test_without_a_prior_the_dense_feature_is_zero(index):
    compiled = compile_rules(index, 0, [Candidate("chain", (1, 0))])
    assert compiled.dense.number == -1
    assert not compiled.dense.values.any()
    assert not compiled.dense.masked_values.any()


def test_every_query_has_one_and_none_is_read_from_a_file():
    assert KIND.find(None, 3, 2) == [Candidate("prior", (3,))]
    relations = Relations(["speaks", "knows"])
    rule = KIND.rule(relations, 2, Candidate("prior", (2,)), True)
    assert (rule.target, rule.body, str(rule)) == ("~speaks", ("~speaks",), "speaks(Y, X) <= speaks(Y, A)")
    assert KIND.candidate(rule, relations) is None


@pytest.mark.parametrize(("source", "witness"), [("ann", "bea"), ("bea", "ann"), ("german", "ann")])
def test_its_proof_is_a_fact_of_another_source_where_there_is_one(index, source, witness):
    entities = index.kb.entities
    rule = KIND.rule(index.kb.relations, 0, Candidate("prior", (0,)), True)
    [(path, share)] = KIND.paths(index, rule, (entities.id(source), entities.id("french")))
    assert tuple(entities[each] for each in path) == (witness, "french")
    assert share == 1.0


def test_the_only_fact_of_an_answer_proves_it_for_want_of_another(index):
    entities = index.kb.entities
    rule = KIND.rule(index.kb.relations, 0, Candidate("prior", (0,)), True)
    [(path, _)] = KIND.paths(index, rule, (entities.id("bea"), entities.id("german")))
    assert tuple(entities[each] for each in path) == ("bea", "german")

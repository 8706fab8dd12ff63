from dataclasses import replace
from itertools import islice

import numpy as np
import oracle
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st
from samples import (
    attention_of,
    attentions,
    edges,
    knowledge_bases,
    model_settings,
    neural_program,
    untrained,
)

from neurallp import KnowledgeBase
from neurallp.controller.attention import Attention
from neurallp.engines.base import QueryBatch
from neurallp.engines.reference import ReferenceEngine
from neurallp.graph.operators import Operators
from neurallp.neural.rules import best_rules
from neurallp.rules.extraction import extract_all, extract_best
from neurallp.rules.rule import RuleFilter
from neurallp.rules.support import measure

few = settings(max_examples=60, deadline=None)
fewer = settings(max_examples=25, deadline=None)

FAMILY = [
    ("anna", "father", "bob"),
    ("bob", "brother", "carl"),
    ("bob", "brother", "dirk"),
    ("anna", "uncle", "carl"),
    ("emma", "uncle", "dirk"),
]


def oracle_rules(ranks):
    """Return {body: confidence} of (operator, memory) pairs, ranks added up."""
    rules = {}
    for operator, memory in ranks:
        for body, confidence in oracle.merged_rules(operator, memory).items():
            rules[body] = rules.get(body, 0) + confidence
    return rules


def family_program(**settings_):
    kb = KnowledgeBase.from_triples(FAMILY)
    return neural_program(untrained(kb, **settings_), kb)


# Algorithm 1


@few
@given(attention=attentions())
def test_algorithm_1_extracts_every_chain_rule(attention):
    expected = oracle_rules(zip(*attention, strict=True))
    found = extract_all(*attention)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-15)


@few
@given(attention=attentions())
def test_the_confidences_of_a_query_sum_to_1_per_controller(attention):
    operator, memory = attention
    for rank in range(len(operator)):
        assert sum(extract_all(operator[[rank]], memory[[rank]]).values()) == pytest.approx(1)
    assert sum(extract_all(operator, memory).values()) == pytest.approx(len(operator))


#: A long rule that can be walked in two ways and so outweighs the empty one, though neither way does alone.
TWO_WAYS = (
    np.array([[[0.55, 0.45], [1, 0], [1, 0]]]),
    np.array([[[1, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0], [0.3, 0, 0.35, 0.35]]]),
)


@few
@given(attention=attentions())
@example(attention=TWO_WAYS)
def test_best_first_extraction_is_algorithm_1_in_descending_order(attention):
    everything = {body: c for body, c in extract_all(*attention).items() if c > 0}
    found = list(extract_best(*attention))
    assert len(dict(found)) == len(found)
    assert dict(found) == pytest.approx(everything, abs=1e-15)
    confidences = np.array([confidence for _, confidence in found])
    assert (np.diff(confidences) <= 1e-15).all()


@few
@given(attention=attentions(), n=st.integers(1, 12))
def test_the_first_rules_extracted_are_the_best(attention, n):
    best = sorted(extract_all(*attention).values(), reverse=True)[:n]
    found = [confidence for _, confidence in islice(extract_best(*attention), n)]
    assert found == pytest.approx([c for c in best if c > 0], abs=1e-15)


def test_attention_that_is_not_a_number_has_no_rules_and_the_search_ends():
    operator, memory = np.full((1, 2, 3), np.nan), np.full((1, 3, 3), np.nan)
    assert list(islice(extract_best(operator, memory), 5)) == []


def test_a_few_rules_are_found_without_enumerating_the_rest():
    rng = np.random.default_rng(0)
    operator = torch.tensor(rng.normal(scale=4, size=(1, 6, 50))).softmax(-1).numpy()
    memory = np.eye(7)[None, [0, 1, 2, 3, 4, 5, 6]]  # 50^6 rules, all of length 6
    (body, confidence), *_ = islice(extract_best(operator, memory), 3)
    assert body == tuple(operator[0].argmax(-1))
    assert confidence == pytest.approx(operator[0].max(-1).prod())


@fewer
@given(kb=knowledge_bases(), attention=attentions(most_steps=3, num_operators=4))
def test_rules_times_paths_add_up_to_the_engine_s_score(kb, attention):
    walked = Attention(*(torch.tensor(each).unsqueeze(1) for each in attention))
    engine = ReferenceEngine(Operators.of(kb))
    scores = engine.scores(
        walked, QueryBatch.unmasked(np.array([0]), np.array([0])), normalize=False
    ).dense()[0]
    expected = np.zeros(len(kb.entities))
    for body, confidence in extract_all(*attention).items():
        for path in oracle.enumerate_paths(edges(kb), 0, body):
            expected[path[-1]] += confidence
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-15)


@fewer
@given(kb=knowledge_bases(), settings_=model_settings, query=st.integers(0, 3))
def test_a_model_s_rules_are_those_of_its_attention(kb, settings_, query):
    model = untrained(kb, **settings_)
    excludes = model.excludes_source(np.array([query]))[0]
    name = kb.relations.operator_name
    expected = {
        tuple(map(name, body)): confidence
        for body, confidence in oracle_rules(attention_of(model, query)).items()
        if confidence > 0 and (body or not excludes)
    }
    rules = best_rules(model, [query], RuleFilter(), limit=10**6)
    assert {rule.body: rule.confidence for rule in rules} == pytest.approx(expected)
    best = max(expected.values())
    assert [rule.normalized_confidence for rule in rules] == pytest.approx(
        sorted((confidence / best for confidence in expected.values()), reverse=True)
    )
    assert {rule.target for rule in rules} == {name(query)}
    assert {rule.distinct_ends for rule in rules} == {bool(excludes)}


@fewer
@given(kb=knowledge_bases(), settings_=model_settings, query=st.integers(0, 3))
def test_on_facts_only_rules_that_predict_something_are_extracted(kb, settings_, query):
    model = untrained(kb, **settings_)
    every = best_rules(model, [query], RuleFilter(), limit=10**6)
    fire = [rule for rule in measure(every, kb) if rule.num_predictions]
    found = best_rules(model, [query], RuleFilter(), limit=10**6, kb=kb)
    assert [replace(rule, normalized_confidence=0) for rule in found] == [
        replace(rule, normalized_confidence=0) for rule in fire
    ]
    uncounted = best_rules(model, [query], RuleFilter(), limit=10**6, kb=kb, measured=False)
    none = dict.fromkeys(("support", "num_predictions", "num_answerable", "num_paths"))
    assert list(uncounted) == [replace(rule, **none) for rule in found]


# Rules of a program


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"max_length": 1},
        {"allow": ["father", "brother"]},
        {"deny": ["uncle"]},
        {"min_share": 0.3},
        {"min_share": 0.05, "max_length": 2, "deny": ["father"]},
    ],
)
@pytest.mark.parametrize("query", ["uncle", "~father"])
def test_a_program_s_rules_are_the_best_of_those_a_filter_keeps(query, wanted):
    program = family_program(num_steps=3, num_controllers=2)
    everything = program.rules(query, limit=10**6, min_share=0)
    expected = list(everything.select(RuleFilter(**wanted)))
    assert expected
    found = program.rules(query, **{"min_share": 0} | wanted, limit=10**6)
    assert list(found) == expected
    assert list(program.rules(query, **{"min_share": 0} | wanted, limit=5)) == expected[:5]


def test_a_program_gives_the_rules_of_every_query_both_ways():
    program = family_program()
    rules = program.rules(limit=3)
    assert rules.targets == ["father", "brother", "uncle", "~father", "~brother", "~uncle"]
    assert list(rules.about("~uncle")) == list(program.rules("~uncle", limit=3))


def test_support_is_counted_on_the_knowledge_base_given():
    program = family_program()
    other = KnowledgeBase.from_triples([*FAMILY, ("anna", "uncle", "dirk"), ("anna", "likes", "dirk")])
    wanted = {"limit": 10**6, "min_share": 0, "allow": ["father", "brother"]}
    supports = [
        next(rule for rule in program.rules("uncle", **wanted, kb=kb) if rule.body == ("father", "brother"))
        for kb in (None, other)
    ]
    assert [rule.support for rule in supports] == [1, 2]

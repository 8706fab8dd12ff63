import json
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
    rules_over,
    untrained,
)

from neurallp import KnowledgeBase, Rule, RuleSet
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
def test_algorithm_1_recovers_every_chain_rule(attention):
    expected = oracle_rules(zip(*attention, strict=True))
    found = extract_all(*attention)
    assert found.keys() == expected.keys()
    assert found == pytest.approx(expected, abs=1e-15)


@few
@given(attention=attentions())
def test_the_confidences_of_a_query_sum_to_1_per_rank(attention):
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
def test_best_first_recovery_is_algorithm_1_in_descending_order(attention):
    everything = {body: c for body, c in extract_all(*attention).items() if c > 0}
    found = list(extract_best(*attention))
    assert len(dict(found)) == len(found)
    assert dict(found) == pytest.approx(everything, abs=1e-15)
    confidences = np.array([confidence for _, confidence in found])
    assert (np.diff(confidences) <= 1e-15).all()


@few
@given(attention=attentions(), n=st.integers(1, 12))
def test_the_first_rules_recovered_are_the_best(attention, n):
    best = sorted(extract_all(*attention).values(), reverse=True)[:n]
    found = [confidence for _, confidence in islice(extract_best(*attention), n)]
    assert found == pytest.approx([c for c in best if c > 0], abs=1e-15)


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
def test_a_model_s_rules_are_those_its_attention_spells_out(kb, settings_, query):
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
def test_on_facts_only_rules_that_predict_something_are_recovered(kb, settings_, query):
    model = untrained(kb, **settings_)
    every = best_rules(model, [query], RuleFilter(), limit=10**6)
    fire = [rule for rule in measure(every, kb) if rule.num_predictions]
    found = best_rules(model, [query], RuleFilter(), limit=10**6, kb=kb)
    assert [replace(rule, normalized_confidence=0) for rule in found] == [
        replace(rule, normalized_confidence=0) for rule in fire
    ]
    uncounted = best_rules(model, [query], RuleFilter(), limit=10**6, kb=kb, measured=False)
    assert list(uncounted) == [replace(rule, support=None, num_predictions=None) for rule in found]


# How rules read


@pytest.mark.parametrize(
    ("target", "body", "text"),
    [
        ("uncle", ("father", "brother"), "uncle(X, Y) <= father(X, A), brother(A, Y)"),
        ("uncle", ("father", "~brother"), "uncle(X, Y) <= father(X, A), brother(Y, A)"),
        ("~uncle", ("brother", "~father"), "uncle(Y, X) <= brother(X, A), father(Y, A)"),
        ("uncle", ("uncle",), "uncle(X, Y) <= uncle(X, Y)"),
        ("uncle", ("~nephew",), "uncle(X, Y) <= nephew(Y, X)"),
        ("same", (), "same(X, Y) <= X = Y"),
        ("r", ("a", "b", "c", "d"), "r(X, Y) <= a(X, A), b(A, B), c(B, C), d(C, Y)"),
    ],
)
def test_a_rule_reads_from_the_source_to_the_answer(target, body, text):
    assert str(Rule(target, body, 0.5)) == text
    assert str(Rule(target, body, 0.5, distinct_ends=True)) == f"{text}, X != Y"


def test_a_long_rule_never_uses_a_variable_twice():
    text = str(Rule("r", ("s",) * 40, 0.5)).split("<= ")[1]
    variables = [atom.split(", ")[0] for atom in text.split("s(")[1:]]
    assert len(set(variables)) == 40


def test_a_rule_is_one_json_object_that_reads_itself():
    rule = Rule("uncle", ("father", "brother"), 0.5, 1.0, True, support=1, num_predictions=2)
    found = json.loads(json.dumps(rule.as_dict()))
    assert found == {
        "target": "uncle",
        "body": ["father", "brother"],
        "confidence": 0.5,
        "normalized_confidence": 1.0,
        "distinct_ends": True,
        "support": 1,
        "num_predictions": 2,
        "inequalities": [],
        "weight": None,
        "kind": "chain",
        "answer": None,
        "measured_confidence": 0.5,
        "rule": "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y",
    }


def test_a_rule_is_vacuous_only_when_its_body_is_its_target():
    assert Rule("uncle", ("uncle",), 1.0).is_vacuous
    assert Rule("~uncle", ("~uncle",), 1.0).is_vacuous
    assert not Rule("uncle", ("~uncle",), 1.0).is_vacuous
    assert not Rule("uncle", ("uncle", "uncle"), 1.0).is_vacuous


# Rule sets and filters


def test_a_rule_set_is_a_sequence_that_knows_its_targets():
    rules = [Rule("uncle", ("a",), 0.5), Rule("aunt", ("b",), 0.4), Rule("uncle", ("c",), 0.3)]
    found = RuleSet(rules)
    assert list(found) == rules
    assert found == RuleSet(iter(rules))
    assert found.targets == ["uncle", "aunt"]
    assert list(found.about("uncle")) == [rules[0], rules[2]]
    assert repr(found) == "RuleSet(3 rules for 2 queries)"


def kept(wanted):
    rules = RuleSet(
        [
            Rule("uncle", ("father", "brother"), 0.5, 1.0),
            Rule("uncle", ("mother", "~brother"), 0.3, 0.6),
            Rule("uncle", ("~nephew",), 0.1, 0.2),
            Rule("uncle", (), 0.05, 0.1),
        ]
    )
    return [rule.body for rule in rules.select(wanted)]


def test_filters_keep_what_they_say():
    father, mother, nephew, same = kept(RuleFilter())
    assert kept(RuleFilter(min_confidence=0.2)) == [father, mother, nephew]
    assert kept(RuleFilter(max_length=1)) == [nephew, same]
    assert kept(RuleFilter(max_length=0)) == [same]
    assert kept(RuleFilter(allow=["father", "brother"])) == [father, same]
    assert kept(RuleFilter(allow=[])) == [same]
    assert kept(RuleFilter(deny=["brother"])) == [nephew, same]
    assert kept(RuleFilter(min_confidence=0.5, deny=["father"])) == [mother]


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"max_length": 1},
        {"allow": ["father", "brother"]},
        {"deny": ["uncle"]},
        {"min_confidence": 0.3},
        {"min_confidence": 0.05, "max_length": 2, "deny": ["father"]},
    ],
)
@pytest.mark.parametrize("query", ["uncle", "~father"])
def test_a_program_s_rules_are_the_best_of_those_a_filter_keeps(query, wanted):
    program = family_program(num_steps=3, num_controllers=2)
    everything = program.rules(query, limit=10**6, min_confidence=0)
    expected = list(everything.select(RuleFilter(**wanted)))
    assert expected
    found = program.rules(query, **{"min_confidence": 0} | wanted, limit=10**6)
    assert list(found) == expected
    assert list(program.rules(query, **{"min_confidence": 0} | wanted, limit=5)) == expected[:5]


def test_a_program_gives_the_rules_of_every_query_both_ways():
    program = family_program()
    rules = program.rules(limit=3)
    assert rules.targets == ["father", "brother", "uncle", "~father", "~brother", "~uncle"]
    assert list(rules.about("~uncle")) == list(program.rules("~uncle", limit=3))


# Measured on facts


def pairs_of(kb, body):
    """Return every (source, end) that a body links: composition of sets, an operator at a time."""
    ends = {(e, e) for e in range(len(kb.entities))}
    for k in map(kb.relations.operator_id, body):
        links = {(source, target) for source, operator, target in edges(kb) if operator == k}
        ends = {(x, z) for x, y in ends for start, z in links if start == y}
    return ends


@few
@given(
    kb=knowledge_bases(num_relations=2, most_facts=12),
    rule=rules_over("r0", "r1"),
)
def test_measured_support_equals_a_count_of_all_pairs(kb, rule):
    (rule,) = measure([rule], kb)
    body = tuple(map(kb.relations.operator_id, rule.body))
    predicted = {
        (path[0], path[-1])
        for source in range(len(kb.entities))
        for path in oracle.enumerate_paths(edges(kb), source, body)
        if oracle.is_apart(path, rule)
    }
    right = predicted & pairs_of(kb, [rule.target])
    assert (rule.num_predictions, rule.support) == (len(predicted), len(right))
    assert rule.measured_confidence == (len(right) / len(predicted) if predicted else 0)


def test_measuring_changes_nothing_else():
    rule = Rule("uncle", ("father", "brother"), 0.5, 0.9, distinct_ends=True)
    (measured,) = measure([rule], KnowledgeBase.from_triples(FAMILY))
    assert rule.measured_confidence is None
    assert measured == Rule("uncle", ("father", "brother"), 0.5, 0.9, True, support=1, num_predictions=2)
    assert measured.measured_confidence == 0.5


def test_support_is_counted_on_the_knowledge_base_given():
    program = family_program()
    other = KnowledgeBase.from_triples([*FAMILY, ("anna", "uncle", "dirk"), ("anna", "likes", "dirk")])
    wanted = {"limit": 10**6, "min_confidence": 0, "allow": ["father", "brother"]}
    supports = [
        next(rule for rule in program.rules("uncle", **wanted, kb=kb) if rule.body == ("father", "brother"))
        for kb in (None, other)
    ]
    assert [rule.support for rule in supports] == [1, 2]

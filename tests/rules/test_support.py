"""Predictions, support and path counts of rules, against enumeration."""

from dataclasses import replace

import numpy as np
import oracle
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases, rules_over

from neurallp import KnowledgeBase, Rule
from neurallp.graph.operators import Operators
from neurallp.rules.support import (
    PathCounter,
    count_paths,
    find_successors,
    measure,
    predict_pairs,
    predicting_paths,
    predicts_on,
)

few = settings(max_examples=60, deadline=None)
bodies = st.lists(st.lists(st.integers(0, 3), max_size=3).map(tuple), min_size=1, max_size=6)

FAMILY = [
    ("anna", "father", "bob"),
    ("bob", "brother", "carl"),
    ("bob", "brother", "dirk"),
    ("anna", "uncle", "carl"),
    ("emma", "uncle", "dirk"),
]


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
    paths = [
        path
        for source in range(len(kb.entities))
        for path in oracle.enumerate_paths(edges(kb), source, body)
        if oracle.is_apart(path, rule)
    ]
    predicted, facts = {(path[0], path[-1]) for path in paths}, pairs_of(kb, [rule.target])
    right, with_answer = predicted & facts, {pair for pair in predicted if pair[0] in dict(facts)}
    assert (rule.num_predictions, rule.support) == (len(predicted), len(right))
    assert (rule.num_answerable, rule.num_paths) == (len(with_answer), len(paths))
    assert rule.measured_confidence == (len(right) / len(predicted) if predicted else 0)
    assert rule.pca_confidence == (len(right) / len(with_answer) if with_answer else 0)


def test_measuring_changes_nothing_else():
    rule = Rule("uncle", ("father", "brother"), 0.5, 0.9, distinct_ends=True)
    (measured,) = measure([rule], KnowledgeBase.from_triples(FAMILY))
    assert (rule.measured_confidence, rule.pca_confidence) == (None, None)
    counts = {"support": 1, "num_predictions": 2, "num_answerable": 2, "num_paths": 2}
    assert measured == replace(rule, **counts)
    assert measured.measured_confidence == measured.pca_confidence == 0.5


def test_the_confidence_of_a_weighted_rule_is_the_counted_one():
    rule = Rule("uncle", ("father", "brother"), 0.9, distinct_ends=True, weight=2.0)
    (measured,) = measure([rule], KnowledgeBase.from_triples(FAMILY))
    assert measured.confidence == measured.measured_confidence == 0.5


def test_a_source_without_any_answer_counts_against_confidence_but_not_against_pca_confidence():
    kb = KnowledgeBase.from_triples([("a", "s", "b"), ("c", "s", "d"), ("a", "r", "b")])
    (rule,) = measure([Rule("r", ("s",), 1.0)], kb)
    assert (rule.measured_confidence, rule.pca_confidence) == (0.5, 1.0)
    unary = Rule("r", ("s",), 1.0, kind="unary", answer="b")
    (rule,) = measure([unary], kb)
    assert (rule.measured_confidence, rule.pca_confidence) == (0.5, 1.0)


def path_counts(kb, body, source):
    """Return {entity: number of paths}, every path enumerated."""
    counts = {}
    for path in oracle.enumerate_paths(edges(kb), source, body):
        counts[path[-1]] = counts.get(path[-1], 0) + 1
    return counts


def row_of(scores, row):
    return dict(zip(*(column.tolist() for column in scores.row(row)), strict=True))


@few
@given(kb=knowledge_bases(most_facts=14), bodies=bodies)
def test_propagated_path_counts_equal_enumeration_in_any_order_of_bodies(kb, bodies):
    sources = np.arange(len(kb.entities))[::-1].copy()
    counter = PathCounter(Operators.of(kb), sources)
    for body in bodies:
        found = counter.count(body)
        for row, source in enumerate(sources):
            assert row_of(found, row) == path_counts(kb, body, source)


@few
@given(kb=knowledge_bases(most_facts=14), body=st.lists(st.integers(0, 3), max_size=3).map(tuple))
def test_propagation_and_enumeration_of_paths_agree(kb, body):
    sources = np.array([0, 0, len(kb.entities) - 1])
    operators = Operators.of(kb)
    enumerated = count_paths(operators, body, (), sources)
    assert (enumerated.dense() == PathCounter(operators, sources).count(body).dense()).all()


def test_parallel_facts_and_self_loops_each_make_a_path():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("a", "s", "b"), ("b", "r", "b"), ("a", "r", "c")])
    r, s = map(kb.relations.operator_id, "rs")
    counter = PathCounter(Operators.of(kb), np.array([kb.entities.id("a")]))
    b = kb.entities.id("b")
    assert row_of(counter.count((r, r)), 0) == {b: 1}
    assert row_of(counter.count((s, r, r)), 0) == {b: 1}
    assert row_of(counter.count((r, kb.relations.inverse(s), s)), 0) == {b: 1}
    assert row_of(counter.count(()), 0) == {kb.entities.id("a"): 1}


@few
@given(kb=knowledge_bases(), rule=rules_over("r0", "r1"))
def test_a_rule_predicts_something_exactly_where_its_predictions_are_counted(kb, rule):
    plain = Rule(rule.target, rule.body, 1.0, distinct_ends=rule.distinct_ends)
    (counted,) = measure([plain], kb)
    assert predicts_on(plain, Operators.of(kb), kb.relations) == (counted.num_predictions > 0)


@few
@given(kb=knowledge_bases())
def test_an_operator_can_follow_another_where_they_share_an_entity(kb):
    graph = edges(kb)
    expected = {(k, m) for _, k, there in graph for here, m, _ in graph if there == here}
    assert {tuple(pair) for pair in np.argwhere(find_successors(Operators.of(kb))).tolist()} == expected


def test_a_unary_rule_counts_the_sources_that_have_its_operator():
    kb = KnowledgeBase.from_triples([*FAMILY, ("carl", "father", "dirk")])
    rule = Rule("uncle", ("father",), 1.0, kind="unary", answer="carl", distinct_ends=True)
    (measured,) = measure([rule], kb)
    assert (measured.support, measured.num_predictions) == (1, 1)  # anna; carl is no answer to himself
    unknown = Rule("uncle", ("father",), 1.0, kind="unary", answer="nobody")
    assert measure([unknown], kb)[0].num_predictions == 0


def test_a_unary_rule_that_names_an_end_counts_the_sources_with_that_edge():
    facts = [
        *((x, "eats", "hay") for x in "abc"),
        ("d", "eats", "fish"),
        ("a", "is", "calm"),
        ("b", "is", "shy"),
    ]
    kb = KnowledgeBase.from_triples(facts)
    rule = Rule("is", ("eats",), 1.0, kind="unary", answer="calm", body_end="hay")
    (measured,) = measure([rule], kb)
    assert (measured.support, measured.num_answerable, measured.num_predictions) == (1, 2, 3)
    every = np.arange(len(kb.entities))
    rows, answers = predict_pairs(rule, kb, Operators.of(kb), every)
    assert {kb.entities[row] for row in rows} == set("abc")
    assert {kb.entities[each] for each in answers} == {"calm"}
    assert measure([replace(rule, body_end="nothing")], kb)[0].num_predictions == 0


def test_a_sourced_rule_counts_the_answers_that_it_gives_to_its_source():
    facts = [
        *((film, "director", "wilder") for film in "abcd"),
        ("e", "director", "lang"),
        ("a", "genre", "noir"),
        ("b", "genre", "noir"),
        ("c", "genre", "comedy"),
        ("e", "genre", "noir"),
    ]
    kb = KnowledgeBase.from_triples(facts)
    rule = Rule("~genre", ("~director",), 1.0, kind="sourced", source="noir", body_start="wilder")
    (measured,) = measure([rule], kb)
    counts = measured.support, measured.num_answerable, measured.num_predictions, measured.num_paths
    assert counts == (2, 4, 4, 4)
    assert (measured.measured_confidence, measured.confidence) == (0.5, 1.0)
    assert measure([replace(rule, weight=1.0)], kb)[0].confidence == 0.5
    operators, names = Operators.of(kb), kb.entities
    rows, answers = predict_pairs(rule, kb, operators, np.arange(len(names)))
    assert {names[row] for row in rows} == {"noir"}
    assert [names[each] for each in answers] == list("abcd")
    rows, answers = predict_pairs(rule, kb, operators, np.array([names.id("comedy")]))
    assert (rows.tolist(), answers.tolist()) == ([], [])
    for unknown in ({"source": "nothing"}, {"body_start": "nobody"}):
        other = replace(rule, **unknown)
        assert measure([other], kb)[0].num_predictions == 0
        assert predict_pairs(other, kb, operators, np.arange(len(names)))[0].tolist() == []


def test_a_source_without_answers_leaves_the_predictions_of_its_rule_open():
    facts = [("a", "director", "wilder"), ("b", "genre", "noir"), ("noir", "is", "x")]
    kb = KnowledgeBase.from_triples(facts)
    rule = Rule("~genre", ("~director",), 1.0, kind="sourced", source="x", body_start="wilder")
    (measured,) = measure([rule], kb)
    assert (measured.num_predictions, measured.num_answerable, measured.pca_confidence) == (1, 0, 0.0)


def test_a_sourced_rule_has_a_path_to_its_answers_alone():
    facts = [("a", "director", "wilder"), ("b", "director", "lang"), ("a", "is", "b")]
    kb = KnowledgeBase.from_triples(facts)
    rule = Rule("~is", ("~director",), 1.0, kind="sourced", source="b", body_start="wilder")
    a, b, wilder = map(kb.entities.id, ("a", "b", "wilder"))
    operators = Operators.of(kb)
    assert list(predicting_paths(rule, kb, operators, b, a)) == [(wilder, a)]
    assert list(predicting_paths(rule, kb, operators, b, b)) == []
    assert list(predicting_paths(rule, kb, operators, a, a)) == []
    itself = replace(rule, source="a")
    assert list(predicting_paths(itself, kb, operators, a, a)) == [(wilder, a)]
    assert list(predicting_paths(replace(itself, distinct_ends=True), kb, operators, a, a)) == []


def test_a_prior_is_not_measured():
    prior = Rule("uncle", ("uncle",), 0.0, kind="prior", weight=1.0)
    assert measure([prior], KnowledgeBase.from_triples(FAMILY))[0] == prior

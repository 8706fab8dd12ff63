"""Unary and shared-neighbour rules: scores, proofs, text forms, and learning."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import NAMES, non_chains, oracle_features
from samples import edges, knowledge_bases, weighted_program
from weighted_samples import every_kind

from neurallp import ConfigError, KnowledgeBase, Reasoner, Rule, RuleProgram
from neurallp.config import WeightingConfig
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import name_parts
from neurallp.graph.questions import ask_both_ways
from neurallp.io.rules.table import read_rules, write_rules
from neurallp.pipeline.learn import weigh_rules
from neurallp.rules.simplify import simplify
from neurallp.rules.support import measure
from neurallp.weighting.fitting import Weighting
from neurallp.weighting.graph_index import GraphIndex
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.kinds.unary import find_unary
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

ALL = 10**6
EVERY = ("chain", "prior", "unary", "sourced", "anchored", "mirrored")
QUICK = WeightingConfig(
    max_length=2, num_candidates=20, num_pairs=40, min_steps=40, max_questions=300, kinds=EVERY
)


def weighted_rules(kb, query, rules):
    """Return rules for one query, each with weights of its own."""
    weights = np.random.default_rng(0).normal(size=(len(rules), 3))
    weights[[rule.constant is not None for rule in rules], 1:] = 0.0  # they have no such features
    each = WeightedQuery(tuple(rules), weights, np.ones(len(rules)))
    return WeightedRules(kb.relations, kb.reflexive_relations, {query: each})


# Scores and proofs


@settings(max_examples=60, deadline=None)
@given(
    kb=knowledge_bases(most_facts=14),
    rules=non_chains,
    query=st.integers(0, 3),
    pair=st.tuples(st.sampled_from(NAMES), st.sampled_from(NAMES)),
)
def test_scores_are_sums_of_features_and_proofs_add_up_along_real_paths(kb, rules, query, pair):
    head, tail = (name if name in kb.entities else kb.entities[0] for name in pair)
    source, answer = kb.entities.id(head), kb.entities.id(tail)
    weighted = weighted_rules(kb, query, rules)
    reasoner = Reasoner(kb, weighted)
    evidence = oracle_features(kb, edges(kb), source, query, rules)
    weights = weighted.queries[query].weights
    if source == answer and weighted.excludes_source(query):
        return
    expected = sum(
        weights[rule] @ [1, *pair] for (rule, entity), pair in evidence.items() if entity == answer
    )
    assert reasoner.scores(np.array([source]), np.array([query])).dense()[0, answer] == pytest.approx(
        expected, abs=1e-5
    )
    terms = list(reasoner.scorer.terms(source, query, answer))
    assert sum(contribution for *_, contribution in terms) == pytest.approx(expected, abs=1e-5)
    for rule, path, _ in terms:
        links = zip(path, rule.body, path[1:], strict=False)
        assert {(a, kb.relations.operator_id(k), b) for a, k, b in links} <= set(edges(kb))
        assert rule.satisfies_inequalities(path) or rule.names_entities


COLOURS = [
    *((f"apple{i}", "grows on", "tree") for i in range(4)),
    *((f"apple{i}", "colour", "red") for i in range(3)),
    *((f"plum{i}", "grows on", "tree") for i in range(2)),
    *((f"plum{i}", "colour", "blue") for i in range(2)),
    ("apple3", "eaten by", "eve"),
]


@pytest.fixture
def kb():
    return KnowledgeBase.from_triples(COLOURS)


def program_of(kb, *rules):
    return weighted_program(weighted_rules(kb, kb.relations.id("colour"), rules), QUICK, kb)


def test_a_proof_names_the_entities_with_the_same_neighbour(kb):
    k = kb.relations.operator_id
    proof = program_of(kb, Candidate("anchored", (k("grows on"),))).explain("apple3", "colour", "red", k=ALL)
    assert [term.path for term in proof.terms] == [("apple3", "tree", f"apple{i}", "red") for i in range(3)]
    assert proof.remainder == pytest.approx(0, abs=1e-9)
    assert "colour(apple0, red)" in str(proof)
    assert ">apple0<" in proof.svg()


def test_the_proof_of_a_unary_rule_is_one_fact_of_the_source(kb):
    k = kb.relations.operator_id
    proof = program_of(kb, Candidate("unary", (k("eaten by"),), "red")).explain(
        "apple3", "colour", "red", k=ALL
    )
    assert [(term.path, str(term)) for term in proof.terms] == [(("apple3", "eve"), "eaten by(apple3, eve)")]
    assert ">eve<" not in proof.svg()  # a drawing shows paths from the source to the answer


def test_the_proof_of_a_sourced_rule_is_one_fact_of_the_answer(kb):
    k, red = kb.relations.operator_id, ("red", "~colour")
    rules = [Candidate("sourced", (k("~grows on"),), "red", "tree")]
    rules.append(Candidate("sourced", (k("~eaten by"),), "red", "eve"))
    reasoner = Reasoner(kb, weighted_rules(kb, k("~colour"), rules))
    proof = reasoner.explain(*red, "apple3", k=ALL)
    assert {(term.path, str(term)) for term in proof.terms} == {
        (("tree", "apple3"), "grows on(apple3, tree)"),
        (("eve", "apple3"), "eaten by(apple3, eve)"),
    }
    assert {str(reason) for reason in (*proof.reasons, *proof.against)} == set(map(str, proof.terms))
    assert proof.remainder == pytest.approx(0, abs=1e-9)
    assert ">eve<" not in proof.svg()  # a drawing shows paths from the source to the answer
    assert reasoner.explain("blue", "~colour", "apple3").terms == ()


def test_each_kind_is_named_printed_and_measured(kb, tmp_path):
    k = kb.relations.operator_id
    rules = (
        Candidate("unary", (k("grows on"),), "red"),
        Candidate("anchored", (k("grows on"),)),
        Candidate("mirrored", (k("~eaten by"),)),
    )
    rules = program_of(kb, *rules).rules("colour", min_share=0)
    found = {rule.kind: (str(rule), rule.support, rule.num_predictions) for rule in rules}
    assert found == {
        "unary": ("colour(X, red) <= grows on(X, A)", 3, 6),
        "anchored": (
            "colour(X, Y) <= grows on(X, A), grows on(B, A), colour(B, Y), X != A, X != B, X != Y",
            5,
            12,
        ),
        "mirrored": (
            "colour(X, Y) <= colour(X, A), eaten by(B, A), eaten by(B, Y), X != A, X != B, X != Y, A != Y",
            0,
            0,
        ),
    }
    write_rules(tmp_path / "rules.tsv", rules)
    assert read_rules(tmp_path / "rules.tsv") == rules


def test_a_unary_rule_of_an_unknown_entity_predicts_nothing(kb):
    k = kb.relations.operator_id
    program = program_of(kb, Candidate("unary", (k("grows on"),), "green"))
    assert program.ask(head="apple3", relation="colour") == []
    [rule] = program.rules("colour", min_share=0)
    assert (rule.support, rule.num_predictions) == (0, 0)


def test_a_sourced_rule_is_named_printed_and_measured(kb, tmp_path):
    k = kb.relations.operator_id
    rules = [Candidate("sourced", (k("~grows on"),), source, "tree") for source in ("red", "green")]
    weighted = weighted_rules(kb, k("~colour"), rules)
    found = weighted_program(weighted, QUICK, kb).rules("~colour", min_share=0)
    assert {(str(rule), rule.support, rule.num_answerable, rule.num_predictions) for rule in found} == {
        ("colour(Y, red) <= grows on(Y, tree)", 3, 6, 6),
        ("colour(Y, green) <= grows on(Y, tree)", 0, 0, 0),  # the graph has no green
    }
    write_rules(tmp_path / "rules.tsv", found)
    assert read_rules(tmp_path / "rules.tsv") == found


def test_only_chains_are_deductive():
    kb = KnowledgeBase.from_triples(COLOURS)
    k = kb.relations.operator_id
    rules = program_of(
        kb, Candidate("unary", (k("grows on"),), "red"), Candidate("anchored", (k("grows on"),))
    ).rules("colour")
    assert not any(rule.is_deductive for rule in rules)
    answers = RuleProgram(rules).ask(head="apple3", relation="colour", kb=kb)
    assert [answer.entity for answer in answers] == ["red"]  # a rule that names its answer needs no chain
    shared = [rule for rule in rules if rule.kind == "anchored"]
    assert RuleProgram(shared).ask(head="apple3", relation="colour", kb=kb) == []


def test_rules_of_other_kinds_or_answers_are_no_duplicates():
    chain = Rule("uncle", ("father",), 0.5)
    unary = [Rule("uncle", ("father",), 0.5, kind="unary", answer=name) for name in ("bob", "carl")]
    ends = [("ann", "bob"), ("ann", "carl"), ("bob", "ann")]
    sourced = [
        Rule("uncle", ("father",), 0.5, kind="sourced", source=one, body_start=other) for one, other in ends
    ]
    prior = Rule("uncle", ("uncle",), 0.5, kind="prior")
    assert list(simplify([*unary, *sourced, chain, prior]).rules) == [*unary, *sourced, chain, prior]
    assert len(simplify([*unary, *unary, *sourced, *sourced]).rules) == 5


def test_an_excluded_source_is_not_predicted_by_a_unary_rule():
    kb = KnowledgeBase.from_triples([("a", "r", "b"), ("b", "s", "b"), ("a", "s", "a")])
    rule = Rule("r", ("s",), 1.0, kind="unary", answer="b", distinct_ends=True)
    [strict], [loose] = measure([rule], kb), measure([replace(rule, distinct_ends=False)], kb)
    assert (strict.support, strict.num_predictions, loose.num_predictions) == (1, 1, 2)


def test_an_excluded_source_is_not_predicted_by_a_sourced_rule():
    kb = KnowledgeBase.from_triples([("c", "r", "a"), ("d", "s", "a"), ("d", "s", "c"), ("d", "s", "b")])
    rule = Rule("r", ("s",), 1.0, kind="sourced", source="c", body_start="d", distinct_ends=True)
    [strict], [loose] = measure([rule], kb), measure([replace(rule, distinct_ends=False)], kb)
    assert (strict.support, strict.num_predictions, loose.num_predictions) == (1, 2, 3)


# Candidates


def test_unary_candidates_predict_more_than_chance_and_never_by_the_asked_fact(kb):
    relations, num = kb.relations, len(kb.relations)
    questions = ask_both_ways(kb.facts, num)
    own = questions[questions.queries == relations.id("colour")]
    segments = GraphIndex.of(kb).segments
    found = [(relations.operator_name(k), kb.entities[c]) for k, c in find_unary(segments, own, False, 10, 3)]
    assert found == []  # everything grows on trees, so that predicts nothing
    more = KnowledgeBase.from_triples([*COLOURS, *((f"sky{i}", "colour", "blue") for i in range(5))])
    questions = ask_both_ways(more.facts, num)
    own = questions[questions.queries == relations.id("colour")]
    segments = GraphIndex.of(more).segments
    found = [
        (relations.operator_name(k), more.entities[c]) for k, c in find_unary(segments, own, False, 10, 3)
    ]
    assert found == [("grows on", "red")]


# Learning and keeping


@pytest.fixture(scope="module")
def program(split):
    return weigh_rules(split, QUICK)


@pytest.mark.parametrize("kind", ["unary", "sourced", "anchored", "mirrored"])
def test_each_kind_is_learned_only_where_it_is_wanted(split, kind):
    with every_kind():
        assert kind in Weighting(split, QUICK).run().num_of_kinds
    rest = tuple(each for each in EVERY if each != kind)
    fewer = weigh_rules(split, replace(QUICK, kinds=rest, num_candidates=3, max_questions=20)).weighted_rules
    assert kind not in fewer.num_of_kinds


def test_without_chains_there_are_none(split):
    weighted = weigh_rules(split, replace(QUICK, kinds=("anchored",), max_questions=20)).weighted_rules
    assert weighted.num_of_kinds.keys() == {"anchored"}
    assert len(weighted) > 0


def test_shared_neighbours_predict_what_a_prior_cannot():
    """The inhabitants of a town share a language, which depends on the source."""
    facts = [
        fact
        for i in range(60)
        for fact in ((f"p{i}", "lives in", f"town{i % 6}"), (f"p{i}", "speaks", f"language{i % 6}"))
    ]
    parts = {"train": facts[:100], "valid": facts[101:110:2], "test": facts[111::2]}
    parts["train"] += facts[100::2]
    split = name_parts(parts)
    for kind in ("anchored", "mirrored"):
        found = weigh_rules(split, replace(QUICK, kinds=("prior", kind)))
        assert (
            found.evaluate(split).mrr
            > weigh_rules(split, replace(QUICK, kinds=("prior",))).evaluate(split).mrr
        )


def test_the_limit_on_rules_is_for_all_kinds_together(split):
    fewer = weigh_rules(split, replace(QUICK, max_rules=6)).weighted_rules
    assert max(map(len, fewer.queries.values())) == 7  # and the prior
    assert fewer.num_of_kinds.keys() - {"chain", "prior"}


def test_all_kinds_apply_to_other_facts_except_for_unknown_constants(program, tmp_path):
    other = family_knowledge_base(num_people=50, num_generations=3, seed=7)
    renamed = KnowledgeBase.from_triples((f"other {h}", r, f"other {t}") for h, r, t in other.named_facts())
    for head, relation, tail in list(renamed.named_facts())[::40]:
        proof = program.explain(head, relation, tail, k=ALL, kb=renamed)
        assert proof.remainder == pytest.approx(0, abs=1e-9)
        assert not any(term.rule.names_entities for term in proof.terms)


def test_an_unknown_kind_is_refused():
    with pytest.raises(ConfigError, match="kinds must be one of chain, prior, unary, sourced, anchored"):
        WeightingConfig(kinds=("chain", "cyclic"))

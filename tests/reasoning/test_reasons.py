"""Reasons of proofs and of why-not, for weighted rules of every kind."""

import numpy as np
import pytest
from learned_family import learned
from samples import untrained
from weighted_samples import hub_kb, near_rules, random_kb, random_rules

from neurallp import KnowledgeBase
from neurallp.config import KINDS
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.vocabulary import is_inverse, relation_of
from neurallp.reasoning import scorers
from neurallp.reasoning.reasoner import Reasoner
from neurallp.rules.rule import Rule
from neurallp.weighting.kinds.base import Candidate
from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules


def questions(kb):
    return [
        (head, relation, tail)
        for head in kb.entities
        for relation in map(kb.relations.operator_name, range(kb.relations.num_operators))
        for tail in kb.entities
    ]


def total(proof):
    shown = sum(reason.contribution for reason in (*proof.reasons, *proof.against))
    return shown + sum(rest.contribution for rest in proof.rests)


def test_nearness_is_alike_to_no_rule_that_predicts_the_same():
    kb = KnowledgeBase.from_triples([("c", "s", "d"), *(("a", "r", f"b{i}") for i in range(9))])
    reasons = Reasoner(kb, near_rules(kb)).explain("a", "s", "b0").reasons
    assert {(reason.rules[0].kind, len(reason.rules)) for reason in reasons} == {("near", 1), ("chain", 1)}


def test_nearness_is_a_reason_that_tells_one_path():
    kb = hub_kb(3)
    proof = Reasoner(kb, near_rules(kb)).explain("hub1", "s", "leaf1_0")
    assert [[rule.kind for rule in reason.rules] for reason in proof.reasons] == [["chain"], ["near"]]
    assert proof.reasons[1].facts == "near, as r(hub1, leaf1_0)"
    assert str(proof.terms[1]) == "near, as r(hub1, leaf1_0)"
    assert str(proof.reasons[1].rules[0]) == "s(X, Y) <= near(X, Y)"
    assert "leaf1_0" in proof.svg()


def test_nearness_alone_is_told_but_nothing_follows_from_it():
    kb = hub_kb(3)
    reasoner = Reasoner(kb, near_rules(kb))
    path = "r(hub1, leaf1_0) and s(hub1, hub2) and r(hub2, leaf2_1)"
    assert str(reasoner.explain("leaf1_0", "s", "leaf2_1")) == f"s(leaf1_0, leaf2_1) because near, as {path}"
    assert not reasoner.why_not("leaf1_0", "s", "leaf2_1").follows
    assert reasoner.verify("leaf1_0", "s", "leaf2_1").verdict == "unknown"


@pytest.mark.parametrize("k", [1, 3, 100])
@pytest.mark.parametrize(("seed", "excludes_linked"), [(0, False), (1, True)])
def test_reasons_and_rests_add_up_to_the_score_for_every_kind(seed, excludes_linked, k):
    kb = random_kb(seed)
    reasoner = Reasoner(kb, random_rules(kb, seed, excludes_linked))
    kinds = set()
    for question in questions(kb)[::7]:
        proof = reasoner.explain(*question, k=k)
        assert total(proof) == pytest.approx(proof.answer.score, abs=1e-9)
        assert len(proof.reasons) <= k
        assert all(reason.contribution >= 0 for reason in proof.reasons)
        assert all(reason.contribution < 0 for reason in proof.against)
        for shown, rest in zip((proof.reasons, proof.against), proof.rests, strict=True):
            if rest.num:
                assert abs(rest.largest) <= min(abs(reason.contribution) for reason in shown)
                assert abs(rest.contribution) <= rest.num * abs(rest.largest) + 1e-9
        kinds |= {rule.kind for reason in (*proof.reasons, *proof.against) for rule in reason.rules}
        assert "e-1" not in str(proof)
    if k == 100:
        assert kinds == set(KINDS)


def test_a_neural_model_with_more_terms_than_are_grouped_still_adds_up(monkeypatch):
    kb = KnowledgeBase.from_triples([(f"p{i}", "father", f"q{j}") for i in range(4) for j in range(4)])
    monkeypatch.setattr(scorers, "MAX_TERMS", 3)
    proof = Reasoner(kb, untrained(kb, num_steps=3)).explain("p0", "father", "q1", k=2)
    assert (proof.rests[0].num, proof.rests[0].largest) == (None, None)
    assert "more reasons together" in str(proof)
    assert total(proof) == pytest.approx(proof.answer.score, rel=1e-9)


def test_rules_that_predict_the_same_from_a_source_are_one_reason_shown_by_the_clearest():
    links = ["a mother m", "m husband f", "f wife m", "b father f", "b sister a", "a sister b"]
    kb = KnowledgeBase.from_triples(tuple(link.split()) for link in links)
    bodies = [("sister", "father"), ("mother", "husband"), ("mother", "~wife")]
    rules = tuple(Candidate("chain", tuple(map(kb.relations.operator_id, body))) for body in bodies)
    own = WeightedQuery(rules, np.array([[3.0, 0, 0], [1.0, 0, 0], [1.0, 0, 0]]), np.array([1.0, 1.0, 0.9]))
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {kb.relations.id("father"): own})
    (reason,) = Reasoner(kb, weighted).explain("a", "father", "f").reasons
    assert reason.contribution == 5.0
    assert [rule.body for rule in reason.rules] == [*bodies[1:], bodies[0]]
    assert str(reason) == "mother(a, m) and husband(m, f)  (and 2 rules alike)"


def test_each_rule_that_names_the_answer_is_a_reason_of_its_own():
    kb = KnowledgeBase.from_triples(
        tuple(link.split()) for link in ["a eats hay", "a lives farm", "b colour red"]
    )
    eats, lives = map(kb.relations.operator_id, ("eats", "lives"))
    rules = tuple(
        Candidate("unary", (k,), "red", end) for k, end in ((eats, "hay"), (eats, None), (lives, "farm"))
    )
    own = WeightedQuery(rules, np.array([[3.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0]]), np.array([0.9, 0.5, 0.8]))
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {kb.relations.id("colour"): own})
    reasons = Reasoner(kb, weighted).explain("a", "colour", "red").reasons
    told = ["eats(a, hay)", "lives(a, farm)", "eats(a, hay) or any other"]
    assert [str(reason) for reason in reasons] == told
    assert [reason.contribution for reason in reasons] == [3.0, 2.0, 1.0]


def test_rules_about_one_source_are_reasons_of_their_own_though_they_predict_the_same():
    facts = [("a", "colour", "red"), *((x, verb, "farm") for x in "ab" for verb in ("eats", "lives"))]
    kb = KnowledgeBase.from_triples(facts)
    rules = tuple(
        Candidate("sourced", (kb.relations.operator_id(name),), "red", "farm") for name in ("~eats", "~lives")
    )
    own = WeightedQuery(rules, np.array([[3.0, 0, 0], [2.0, 0, 0]]), np.array([0.9, 0.8]))
    query = kb.relations.operator_id("~colour")
    weighted = WeightedRules(kb.relations, kb.reflexive_relations, {query: own})
    reasons = Reasoner(kb, weighted).explain("red", "~colour", "b").reasons
    assert [str(reason) for reason in reasons] == ["eats(b, farm)", "lives(b, farm)"]
    assert [reason.contribution for reason in reasons] == [3.0, 2.0]


def missing_triple(fact):
    operator, (here, there) = fact.rule.body[fact.position], fact.path[fact.position : fact.position + 2]
    return (there, relation_of(operator), here) if is_inverse(operator) else (here, operator, there)


@pytest.mark.parametrize("seed", range(3))
def test_why_not_names_only_facts_that_are_absent_and_the_rest_of_the_path_is_there(seed):
    kb = random_kb(seed)
    reasoner, facts = Reasoner(kb, random_rules(kb, seed)), set(kb.named_facts())
    num_named = 0
    for question in questions(kb):
        found = reasoner.why_not(*question, k=5)
        for fact in found.missing_facts:
            num_named += 1
            assert missing_triple(fact) not in facts
            assert fact.rule.satisfies_inequalities(fact.path)
        if not found.follows:
            assert all(reason.contribution < 0 for reason in found.against)
    assert num_named > 50


def test_why_not_in_a_family_names_only_facts_that_are_absent():
    kb = family_knowledge_base(num_people=60, num_generations=3)
    bodies = [("father", "brother"), ("grandfather", "son"), ("~nephew",), ("mother", "sister", "brother")]
    reasoner = Reasoner(kb, [Rule("uncle", body, 0.9, distinct_ends=True) for body in bodies])
    facts, rng = set(kb.named_facts()), np.random.default_rng(0)
    for _ in range(300):
        head, tail = (kb.entities[i] for i in rng.integers(0, len(kb.entities), 2))
        for fact in reasoner.why_not(head, "uncle", tail, k=10).missing_facts:
            assert missing_triple(fact) not in facts


def test_a_known_fact_is_no_reason_for_itself():
    links = ["a based_in oslo", "b based_in oslo", "a country norway", "b country norway", "c based_in rome"]
    kb = KnowledgeBase.from_triples(tuple(link.split()) for link in [*links, "c country italy"])
    reasoner = Reasoner(kb, [Rule("country", ("based_in", "~based_in", "country"), 0.5)])
    assert not reasoner.explain("c", "country", "italy", without_itself=True).reasons
    for question in (("a", "country", "norway"), ("norway", "~country", "a")):
        proof = reasoner.explain(*question, without_itself=True)
        assert (proof.answer.is_known, proof.answer.score) == (True, 0.5)
        assert "country(b, norway)" in str(proof.reasons[0])
        assert "country(a" not in str(proof.reasons[0])
        assert reasoner.explain(*question).answer.score == 1.0  # as `ask`: also along the fact itself


def test_a_program_explains_a_known_fact_without_itself():
    kb, _, program = learned()
    fact = next(fact for fact in kb.named_facts() if fact[1] == "uncle")
    found = program.explain(*fact, kb=kb).answer
    unknown = program.reasoner(kb).changed(removed=[fact]).explain(*fact).answer
    assert (found.is_known, found.score, found.probability) == (True, unknown.score, unknown.probability)

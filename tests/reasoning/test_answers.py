"""Answers, proofs and missing facts: how they read, and their JSON."""

import json

import numpy as np
import pytest
from reasoning_samples import FAMILY, OTHER_FAMILY, UNCLES, family, reason
from samples import untrained

from neurallp import KnowledgeBase, Proof, Rule
from neurallp.reasoning.answers import Answer, MissingFact, Predictions, WhyNot
from neurallp.reasoning.reasons import Reason, Rest

ALL = 10**6


def test_an_answer_reads_as_a_sentence():
    reasoner = reason(KnowledgeBase.from_triples(OTHER_FAMILY), family())
    proof = reasoner.explain("zoe", "uncle", "xan")
    assert str(proof.answer) == "uncle(zoe, xan)"
    assert str(proof) == "uncle(zoe, xan) because father(zoe, yan) and brother(yan, xan)"


def test_an_answer_asked_from_the_tail_reads_the_same_way_round():
    reasoner = reason(KnowledgeBase.from_triples(OTHER_FAMILY), family())
    (answer,) = [a for a in reasoner.ask(tail="xan", relation="uncle") if a.entity == "zoe"]
    assert str(answer) == "uncle(zoe, xan)"
    proof = reasoner.explain(answer.source, answer.query, answer.entity)
    assert str(proof) == "uncle(zoe, xan) because brother(yan, xan) and father(zoe, yan)"


def test_paths_of_one_rule_are_one_reason():
    kb = KnowledgeBase.from_triples([*OTHER_FAMILY, ("zoe", "father", "will"), ("will", "brother", "xan")])
    proof = reason(kb, family()).explain("zoe", "uncle", "xan")
    (one,) = proof.reasons
    assert one.num_paths == len(proof.terms) == 2
    assert str(proof).endswith("  (and 1 more path)")


def test_being_the_same_is_a_reason_where_a_relation_is_reflexive():
    kb = KnowledgeBase.from_triples([("a", "same", "a"), ("a", "same", "b")])
    reasons = {str(term) for term in reason(kb, untrained(kb)).explain("b", "same", "b", k=ALL).terms}
    assert "b = b" in reasons


def test_a_proof_is_one_json_object():
    reasoner = reason(KnowledgeBase.from_triples(OTHER_FAMILY), family())
    proof = reasoner.explain("zoe", "uncle", "xan")
    found = json.loads(json.dumps(proof.as_dict()))
    assert found["entity"] == "xan"
    assert found["score"] == pytest.approx(found["terms"][0]["contribution"])
    assert found["terms"][0]["path"] == ["zoe", "yan", "xan"]
    assert found["terms"][0]["because"] == "father(zoe, yan) and brother(yan, xan)"
    assert found["terms"][0]["rule"] == "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y"
    assert found["remainder"] == pytest.approx(0, abs=1e-9)
    assert Proof(proof.answer, ()).as_dict()["remainder"] == proof.answer.score


ANSWER = Answer("zoe", "uncle", "xan", 1.5, 1, 5, is_known=False)


FATHER = Rule("uncle", ("father", "brother"), 0.9, weight=2.0)
AGAINST = Rule("uncle", ("father",), 0.1, weight=-0.5)
PRIOR = Rule("uncle", ("uncle",), 0.0, weight=0.1, kind="prior")


def test_each_reason_has_its_contribution_and_a_bar_and_the_rest_is_one_line_that_says_it_is_a_sum():
    reasons = (
        Reason((FATHER, FATHER, FATHER), ("zoe", "yan", "xan"), 2.0, num_paths=3),
        Reason((PRIOR,), ("ann", "xan"), 0.5, num_others=43),
    )
    against = (Reason((AGAINST,), ("zoe", "xan"), -1.0),)
    proof = Proof(ANSWER, (), reasons, against, (Rest.of([0.125] * 20), Rest.of([-0.25])))
    assert str(proof).splitlines() == [
        "uncle(zoe, xan)",
        "  because     +2.00 ██████████ father(zoe, yan) and brother(yan, xan)"
        "  (and 2 more paths, 2 rules alike)",
        "              +0.50 ██▌        how common the answer is: uncle(A, xan) holds for 43 others",
        "              +2.50            20 more reasons together, the largest +0.12",
        "  although    -1.00 █████      father(zoe, xan)",
        "              -0.25            1 more reason",
    ]
    described = json.loads(json.dumps(proof.as_dict()))
    assert described["reasons"][0]["num_paths"] == 3
    assert described["reasons"][1]["because"] == "how common the answer is: uncle(A, xan) holds for 43 others"
    assert described["more_reasons"] == {"num": 20, "contribution": 2.5, "largest": 0.125}
    assert [reason["contribution"] for reason in described["against"]] == [-1.0]


@pytest.mark.parametrize(
    ("num", "contribution", "text"),
    [
        (43, 1.0, "how common the answer is: uncle(A, xan) holds for 43 others"),
        (1, 1.0, "how common the answer is: uncle(A, xan) holds for 1 other"),
        (0, 1.0, "uncle(A, xan) holds for no other"),
        (4, -1.0, "uncle(A, xan) holds for 4 others already"),
    ],
)
def test_a_prior_is_told_in_words_and_never_as_a_fact_about_someone_else(num, contribution, text):
    assert str(Reason((PRIOR,), ("ann", "xan"), contribution, num_others=num)) == text


@pytest.mark.parametrize(("end", "text"), [(None, "eats(zoe, hay) or any other"), ("hay", "eats(zoe, hay)")])
def test_the_reason_of_a_rule_that_any_edge_satisfies_says_so(end, text):
    rule = Rule("colour", ("eats",), 0.5, weight=1.0, kind="unary", answer="red", body_end=end)
    assert str(Reason((rule,), ("zoe", "hay"), 1.0)) == text


def test_the_reason_of_a_rule_about_one_source_is_its_one_fact():
    rule = Rule("~colour", ("~eats",), 0.5, weight=1.0, kind="sourced", source="red", body_start="hay")
    assert str(Reason((rule,), ("hay", "zoe"), 1.0)) == "eats(zoe, hay)"


def test_a_prior_says_which_end_of_the_fact_others_share():
    prior = Rule("~mother", ("~mother",), 0.0, weight=-0.1, kind="prior")
    reason = Reason((prior,), ("ann", "zoe"), -0.1, num_others=1)
    assert str(reason) == "mother(zoe, A) holds for 1 other already"


def test_what_speaks_against_an_answer_is_part_of_why_not():
    against = Reason((AGAINST,), ("zoe", "xan"), -0.5)
    found = WhyNot(ANSWER, follows=False, missing_facts=(), against=(against,))
    assert str(found).splitlines()[1:] == [
        "What speaks against it:",
        "    -0.500 ██████████ father(zoe, xan)",
    ]
    assert found.as_dict()["against"][0]["because"] == "father(zoe, xan)"


def test_a_missing_fact_names_what_is_known_and_how_many_facts_would_do():
    path = ("zoe", "yan", "xan")
    assert str(MissingFact(UNCLES[0], path, 1, 1)) == "father(zoe, yan), but brother(yan, xan) is missing"
    assert str(MissingFact(UNCLES[0], path, 0, 1200)) == (
        "brother(yan, xan), but father(zoe, yan) is missing (one of 1,200 facts that would do)"
    )
    constrained = Rule("uncle", ("father", "brother"), 1.0, inequalities=((0, 1),))
    assert "one of at most 2 facts" in str(MissingFact(constrained, path, 0, 2))
    single = Rule("uncle", ("friend",), 1.0)
    assert str(MissingFact(single, ("zoe", "xan"), 0, 1)) == "friend(zoe, xan) is missing"


def test_why_not_reads_as_sentences_and_as_json():
    missing = MissingFact(UNCLES[0], ("zoe", "yan", "xan"), 1, 3)
    found = WhyNot(ANSWER, follows=False, missing_facts=(missing,))
    assert str(found).startswith("uncle(zoe, xan) does not follow:\n  father(zoe, yan), but")
    described = json.loads(json.dumps(found.as_dict()))
    assert described["follows"] is False
    assert described["missing_facts"] == [
        {
            "rule": str(UNCLES[0]),
            "confidence": 0.9,
            "path": ["zoe", "yan", "xan"],
            "missing": "brother(yan, xan)",
            "known": ["father(zoe, yan)"],
            "num_ways": 3,
        }
    ]


@pytest.mark.parametrize(("query", "ends"), [("uncle", ([0], [2])), ("~uncle", ([2], [0]))])
def test_predictions_of_an_inverse_query_have_their_sources_as_tails(query, ends):
    kb = KnowledgeBase.from_triples(FAMILY)
    columns = np.array([0]), np.array([2]), np.array([1.0]), np.array([False])
    found = Predictions(kb, query, *columns, num_questions=1)
    assert found.relation == "uncle"
    assert tuple(column.tolist() for column in found.ends) == ends
    assert len(found) == 1

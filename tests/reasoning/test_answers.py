"""Answers, proofs and missing facts: how they read, and their JSON."""

import json

import numpy as np
import pytest
from reasoning_samples import FAMILY, OTHER_FAMILY, UNCLES, family, reason
from samples import untrained

from neurallp import KnowledgeBase, Proof, Rule
from neurallp.reasoning.answers import Answer, MissingFact, Predictions, Term, WhyNot

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


def test_an_answer_with_many_reasons_gives_one_a_line():
    kb = KnowledgeBase.from_triples([*OTHER_FAMILY, ("zoe", "father", "will"), ("will", "brother", "xan")])
    first, *others = str(reason(kb, family()).explain("zoe", "uncle", "xan")).splitlines()
    reasons = [first.removeprefix("uncle(zoe, xan) because ")]
    reasons += [line.removeprefix("  and because ") for line in others]
    assert sorted(reasons) == [f"father(zoe, {name}) and brother({name}, xan)" for name in ("will", "yan")]


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


def test_a_term_that_lowers_the_score_is_introduced_by_although():
    raising = Term(UNCLES[0], ("zoe", "yan", "xan"), 2.0)
    lowering = Term(Rule("uncle", ("father",), 0.1), ("zoe", "xan"), -0.5)
    proof = Proof(ANSWER, (raising, lowering))
    assert str(proof).splitlines() == [
        "uncle(zoe, xan) because father(zoe, yan) and brother(yan, xan)",
        "  and although father(zoe, xan)",
    ]
    assert proof.remainder == 0
    assert [term["contribution"] for term in proof.as_dict()["terms"]] == [2.0, -0.5]


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

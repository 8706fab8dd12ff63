import json
import pickle

import pytest

from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.reasoning.frames import Answers
from neurallp.reasoning.reasoner import Reasoner
from neurallp.rules.rule import Rule, RuleSet

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FACTS = [
    ("anna", "father", "bob"),
    ("bob", "brother", "carl"),
    ("bob", "brother", "dan"),
    ("eve", "mother", "fay"),
    ("fay", "brother", "gus"),
]
RULES = RuleSet([Rule("uncle", ("father", "brother"), 0.9), Rule("uncle", ("mother", "brother"), 0.8)])


@pytest.fixture
def reasoner():
    return Reasoner(KnowledgeBase.from_triples(FACTS), RULES)


def test_answers_are_a_list_and_a_table(reasoner):
    answers = reasoner.ask(head="anna", relation="uncle")
    assert [answer.entity for answer in answers] == ["carl", "dan"] == answers.to_pandas()["entity"].tolist()
    assert isinstance(answers[:1], Answers)
    assert answers == list(answers) == pickle.loads(pickle.dumps(answers))
    assert "carl" in answers._repr_html_()


def test_no_answer_is_a_table_without_rows(reasoner):
    frame = reasoner.ask(head="gus", relation="uncle").to_pandas()
    assert len(frame) == 0
    assert "probability" in frame


def test_predictions_are_one_table_or_batches(reasoner):
    frame = reasoner.predict(["uncle"]).to_pandas()
    assert set(zip(frame["head"], frame["tail"], strict=True)) == {
        ("anna", "carl"),
        ("anna", "dan"),
        ("eve", "gus"),
    }
    (batch,) = reasoner.predict(["uncle"])
    assert batch.to_pandas().equals(frame)
    assert frame["known"].dtype == bool


def test_a_notebook_does_not_compute_predictions_to_show_them(reasoner):
    batches = reasoner.predict(["uncle"])
    assert "to_pandas" in batches._repr_html_()
    assert len(batches.to_pandas()) == 3


def test_a_proof_is_drawn_and_its_reasons_are_rows(reasoner):
    proof = reasoner.explain("anna", "uncle", "carl")
    assert proof._repr_html_().startswith("<svg")
    (row,) = proof.to_arrow().to_pylist()
    assert row["facts"] == "father(anna, bob) and brother(bob, carl)"
    assert row["path"] == ["anna", "bob", "carl"]
    assert "no proof" in reasoner.explain("gus", "uncle", "anna")._repr_html_()


def test_missing_facts_are_listed(reasoner):
    html = reasoner.why_not("anna", "uncle", "gus")._repr_html_()
    assert "<li>" in html
    assert "is missing" in html


def test_rules_are_a_table_of_all_their_fields():
    rows = RULES.to_arrow().to_pylist()
    assert rows[0]["body"] == ["father", "brother"]
    for row, rule in zip(rows, RULES, strict=True):
        assert row == json.loads(json.dumps(rule.as_dict()))
    html = RULES._repr_html_()
    assert "uncle(X, Y) &lt;= father(X, A), brother(A, Y)" in html
    assert "support" not in html  # not counted


def test_a_confidence_that_was_counted_is_shown_once():
    counted = Rule("uncle", ("father", "brother"), 0.5, support=1, num_predictions=2)
    assert "measured confidence" not in RuleSet([counted])._repr_html_()
    neural = Rule("uncle", ("father", "brother"), 0.9, support=1, num_predictions=2)
    assert "measured confidence" in RuleSet([neural])._repr_html_()

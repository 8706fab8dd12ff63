"""What if, audit, compare, attention and export."""

import json

import numpy as np
import pytest

from neurallp import load_program
from neurallp.web.explorer import Explorer
from neurallp.web.pages.attention import attention
from neurallp.web.pages.audit import audit


def test_both_worlds_are_shown_side_by_side(read, explorer, fact):
    head, relation, tail = fact
    told = read("/what-if", entity=head, relation=relation, answer=tail, remove="\t".join(fact))
    row = next(row for row in told["answers"] if row["entity"] == tail)
    assert row["before"]["known"]
    assert not row["after"]["known"]
    changed = explorer.reasoner.changed(removed=[fact]).explain(*fact)
    assert told["after"]["score"] == pytest.approx(changed.answer.score)
    assert row["after"]["probability"] == pytest.approx(changed.answer.probability)
    assert told["before"]["score"] == pytest.approx(explorer.reasoner.explain(*fact).answer.score)


def test_a_form_adds_a_fact_to_the_address(read, fact):
    told = read(
        "/what-if", entity=fact[0], relation="uncle", add_head=fact[2], add_relation="son", add_tail=fact[0]
    )
    assert told["changes"]["add"] == [f"{fact[2]}\tson\t{fact[0]}"]


def test_a_change_that_is_none_is_refused(read, fact):
    assert "already" in read("/ask", 409, add="\t".join(fact))["error"]
    assert "no fact" in read("/ask", 409, remove="\t".join((fact[0], "uncle", fact[0])))["error"]


def test_the_least_likely_facts_come_first_and_keep_their_marks(read, explorer):
    told = read("/audit", relation="uncle")["doubts"]
    expected = explorer.reasoner.audit("uncle", limit=20).doubts
    assert [row["probability"] for row in told["rows"]] == pytest.approx(
        [each.probability for each in expected]
    )
    first = told["rows"][0]
    mark = f"doubt\t{first['head']}\t{first['relation']}\t{first['tail']}"
    marked = read("/audit", relation="uncle", mark=[mark, ""])["doubts"]
    assert [row["mark"] for row in marked["rows"]] == ["doubt"] + [""] * (len(expected) - 1)
    assert read("/marks", mark=[mark, "", mark])["rows"] == [
        {"judgement": "doubt", **{part: first[part] for part in ("head", "relation", "tail")}}
    ]


def test_an_audit_has_pages_that_follow_each_other(read, explorer, monkeypatch):
    expected = [each.fact for each in explorer.reasoner.audit("uncle", limit=40).doubts]
    pages = [read("/audit", relation="uncle", page=page)["doubts"] for page in (1, 2)]
    told = [f"{row['relation']}({row['head']}, {row['tail']})" for page in pages for row in page["rows"]]
    assert told == expected
    assert pages[1]["number"] == 2
    assert all(row["relation"] == "uncle" for page in pages for row in page["rows"])


def test_on_a_large_graph_the_audit_leaves_reasons_to_the_proof(program, split, monkeypatch):
    monkeypatch.setattr("neurallp.web.pages.audit.MAX_EDGES", 0)
    served = Explorer(program, split)
    found = audit(served, "uncle").rows
    expected = served.reasoner.audit("uncle", limit=20).doubts
    assert [row.probability for row in found] == pytest.approx([each.probability for each in expected])
    assert not any(row.has_reasons or row.because for row in found)


def test_two_models_answer_the_same_question(read, explorer, fact):
    told = read("/compare", entity=fact[0], relation="uncle")
    assert (told["first"], told["second"]) == ("the family", "written by hand")
    by_hand = explorer.other.reasoner.ask(head=fact[0], relation="uncle")
    judged = {row["entity"]: row["second"] for row in told["answers"]}
    assert {name: each["score"] for name, each in judged.items() if each} == {
        answer.entity: answer.score for answer in by_hand
    }


def test_attention_is_that_of_the_model(split):
    from samples import neural_program, untrained

    model = untrained(split.known, num_steps=2, num_controllers=2)
    page = attention(Explorer(neural_program(model), split), "uncle")
    operators, memories, *_ = page.heats
    assert len(page.heats) == 4
    assert operators.columns == ["step 1", "step 2"]
    assert np.sum(operators.values, axis=0) == pytest.approx([1.0, 1.0])
    assert np.array(memories.values).shape == (3, 3)
    assert page.rules
    assert attention(Explorer(neural_program(model), split)).query == split.relations[0]


def test_exported_rules_answer_as_the_vetoed_world_does(client, explorer, split, fact, tmp_path):
    answer = client.get("/export", params={"veto": ["uncle:0", "uncle:1"]})
    path = tmp_path / "left.json"
    path.write_bytes(answer.content)
    assert "attachment" in answer.headers["content-disposition"]
    loaded = load_program(path)
    assert len(loaded.weighted_rules) == len(explorer.program.weighted_rules) - 2
    told = client.get("/ask", params={"entity": fact[0], "relation": "uncle", "veto": ["uncle:0", "uncle:1"]})
    expected = loaded.ask(head=fact[0], relation="uncle", kb=split.given)
    assert [row["entity"] for row in told.json()["answers"]] == [each.entity for each in expected]
    assert [row["probability"] for row in told.json()["answers"]] == pytest.approx(
        [each.probability for each in expected]
    )


def test_rules_of_a_person_are_exported_as_a_list(given_rules, split, tmp_path):
    from neurallp.web.changes import Changes
    from neurallp.web.pages.export import export

    response = export(Explorer(given_rules, split, name="mine <1>"), Changes(veto=("aunt:0",)))
    assert 'filename="mine__1_-without-1.json"' in response.headers["content-disposition"]
    assert len(json.loads(response.body)) == 2

"""Pages about links: a rule that names no relation and predicts nothing alone."""

import pytest
from fastapi.testclient import TestClient
from weighted_samples import hub_kb, linked_rules

from neurallp import Plan, WeightingConfig
from neurallp.pipeline.program import LearnedProgram
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer

QUESTION = {"entity": "hub1", "relation": "s"}


@pytest.fixture(scope="module")
def get():
    kb = hub_kb(3)
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=linked_rules(kb))
    explorer = Explorer(program, kb, other=Explorer(program, kb, name="the same"))
    with TestClient(make_app(explorer, ServerSettings()), base_url="http://127.0.0.1") as client:

        def get(path, accept="text/html", **parameters):
            answer = client.get(path, params=parameters, headers={"Accept": accept})
            assert answer.status_code == 200, answer.text[:500]
            return answer.text if accept == "text/html" else answer.json()

        yield get


def linked_row(get):
    rows = get("/relation", "*/*", name="s")["rules"]["rows"]
    (row,) = [row for row in rows if row["kind"] == "linked"]
    return row


def test_the_rule_about_links_has_a_page_that_says_what_it_does(get):
    row = linked_row(get)
    page = get("/rule", name=row["id"])
    assert "If another fact links X and Y, then X –s→ Y is less likely." in page
    assert "predicts nothing by itself" in page
    assert get("/rule", "*/*", name=row["id"])["pairs"] == []


def test_a_proof_names_the_link_among_what_speaks_against(get):
    assert get("/proof", head="hub1", relation="s", tail="leaf1_0").count("linked, as ") == 1
    told = get("/proof", "*/*", head="hub1", relation="s", tail="leaf1_0")
    assert [reason["because"] for reason in told["against"]] == ["linked, as r(hub1, leaf1_0)"]


def test_an_answer_that_is_only_linked_does_not_follow(get):
    page = get("/proof", head="hub1", relation="s", tail="hub0")
    assert "linked, as " in page
    assert "Why not?" in page


@pytest.mark.parametrize(("path", "parameters"), [("/", {}), ("/relations", {}), ("/ask", QUESTION)])
def test_pages_of_a_model_with_a_rule_about_links_open(get, path, parameters):
    assert "</html>" in get(path, **parameters)


def test_the_rule_about_links_can_be_left_out(get):
    left = get("/what-if", "*/*", **QUESTION, answer="leaf1_0", veto=linked_row(get)["id"])
    before, after = ([reason["kind"] for reason in left[when]["reasons"]] for when in ("before", "after"))
    assert (before, after) == (["chain", "linked"], ["chain"])

"""Pages about nearness: a rule that names no relation and predicts nothing alone."""

import pytest
from fastapi.testclient import TestClient
from weighted_samples import hub_kb, near_rules

from neurallp import Plan, WeightingConfig
from neurallp.pipeline.program import LearnedProgram
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer

QUESTION = {"entity": "hub1", "relation": "s"}


@pytest.fixture(scope="module")
def get():
    kb = hub_kb(3)
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=near_rules(kb))
    explorer = Explorer(program, kb, other=Explorer(program, kb, name="the same"))
    with TestClient(make_app(explorer, ServerSettings()), base_url="http://127.0.0.1") as client:

        def get(path, accept="text/html", **parameters):
            answer = client.get(path, params=parameters, headers={"Accept": accept})
            assert answer.status_code == 200, answer.text[:500]
            return answer.text if accept == "text/html" else answer.json()

        yield get


def test_the_rule_of_nearness_has_a_page_that_says_what_it_does(get):
    (row,) = [row for row in get("/relation", "*/*", name="s")["rules"]["rows"] if row["kind"] == "near"]
    page = get("/rule", name=row["id"])
    assert "The nearer Y is to X, along facts of any relation, the likelier it is." in page
    assert "predicts nothing by itself" in page
    assert get("/rule", "*/*", name=row["id"])["pairs"] == []


def test_a_proof_says_that_its_path_is_an_example_of_nearness(get):
    page = get("/proof", head="hub1", relation="s", tail="leaf1_0")
    assert page.count("near, as ") == 1
    told = get("/proof", "*/*", head="hub1", relation="s", tail="leaf1_0")["reasons"]
    assert [reason["because"] for reason in told] == ["r(hub1, leaf1_0)", "near, as r(hub1, leaf1_0)"]


def test_an_answer_that_is_only_near_does_not_follow(get):
    page = get("/proof", head="leaf1_0", relation="s", tail="leaf2_1")
    assert "near, as " in page
    assert "Why not?" in page


@pytest.mark.parametrize(("path", "parameters"), [("/", {}), ("/relations", {}), ("/ask", QUESTION)])
def test_pages_of_a_model_with_nearness_open(get, path, parameters):
    assert "</html>" in get(path, **parameters)


def test_where_one_reason_is_shown_it_is_one_that_predicts(get):
    (leaf,) = [row for row in get("/compare", "*/*", **QUESTION)["answers"] if row["entity"] == "leaf1_1"]
    assert leaf["first"]["because"] == "r(hub1, leaf1_1)"


def test_nearness_can_be_left_out(get):
    (row,) = [row for row in get("/relation", "*/*", name="s")["rules"]["rows"] if row["kind"] == "near"]
    left = get("/what-if", "*/*", **QUESTION, answer="leaf1_0", veto=row["id"])
    assert [reason["kind"] for reason in left["after"]["reasons"]] == ["chain"]

"""Pages about rules that name their one source: what its answers have in common."""

import pytest
from fastapi.testclient import TestClient
from sourced_samples import film_program

from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer

RULE = "genre(Y, noir) <= director(Y, Wilder)"


@pytest.fixture(scope="module")
def get():
    program = film_program()
    explorer = Explorer(program, program.kb, other=Explorer(program, program.kb, name="the same"))
    with TestClient(make_app(explorer, ServerSettings()), base_url="http://127.0.0.1") as client:

        def get(path, accept="text/html", **parameters):
            answer = client.get(path, params=parameters, headers={"Accept": accept})
            assert answer.status_code == 200, answer.text[:500]
            return answer.text if accept == "text/html" else answer.json()

        yield get


def rows(get):
    return {row["logic"]: row for row in get("/relation", "*/*", name="~genre")["rules"]["rows"]}


def test_a_relation_lists_the_rules_of_its_sources_with_their_counts(get):
    row = rows(get)[RULE]
    assert (row["support"], row["num_predictions"], row["body"]) == (2, 4, [])
    assert row["sentence"] == "If Y –director→ Wilder, then Y –genre→ noir is likelier."
    assert row["sentence"] in get("/relation", name="~genre", kind="sourced")


def test_the_page_of_a_rule_lists_the_answers_of_its_source_right_and_wrong(get):
    name = rows(get)[RULE]["id"]
    pairs = get("/rule", "*/*", name=name)["pairs"]
    assert [(each["source"], each["answer"], each["right"]) for each in pairs] == [
        ("noir", f"wilder{i}", i < 2) for i in range(4)
    ]
    assert pairs[0]["because"] == ["director(wilder0, Wilder)"]
    for which, answers in (("right", ["wilder0", "wilder1"]), ("wrong", ["wilder2", "wilder3"])):
        some = get("/rule", "*/*", name=name, which=which)["pairs"]
        assert [each["answer"] for each in some] == answers
    assert "director(wilder0, Wilder)" in get("/rule", name=name)


def test_a_proof_names_the_one_fact_of_the_answer_and_has_no_drawing(get):
    found = get("/proof", "*/*", head="noir", relation="~genre", tail="wilder3")
    assert [reason["because"] for reason in found["reasons"]][:2] == [
        "director(wilder3, Wilder)",
        "cast(wilder3, Holden)",
    ]
    assert found["reasons"][0]["facts"] == [{"head": "wilder3", "relation": "director", "tail": "Wilder"}]
    assert 'class="drawing"' not in get("/proof", head="noir", relation="~genre", tail="wilder3")


def test_what_is_missing_for_an_answer_is_the_edge_that_the_rule_names(get):
    found = get("/proof", "*/*", head="noir", relation="~genre", tail="lang1")
    assert found["follows"] is False
    missing = [each["missing"] for each in found["missing"]]
    assert missing == [
        {"head": "lang1", "relation": "director", "tail": "Wilder"},
        {"head": "lang1", "relation": "cast", "tail": "Holden"},
    ]


def test_a_rule_of_one_source_can_be_left_out(get):
    question = {"entity": "noir", "relation": "~genre"}
    left = get("/what-if", "*/*", **question, answer="wilder3", veto=rows(get)[RULE]["id"])
    assert left["after"]["reasons"][0]["because"] == "cast(wilder3, Holden)"


@pytest.mark.parametrize(
    ("path", "parameters"),
    [("/", {}), ("/relations", {}), ("/ask", {"entity": "noir", "relation": "~genre"}), ("/audit", {})],
)
def test_pages_of_a_model_with_such_rules_open(get, path, parameters):
    assert "</html>" in get(path, **parameters)


def test_the_overview_says_what_the_kind_is(get):
    assert "<i>sourced</i>" in get("/")

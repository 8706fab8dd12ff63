"""The application: every address gives a page and the same as JSON, and errors have a message."""

import re
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser

import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from web_samples import QUOTES, RTL, SCRIPT, address, page_addresses

from neurallp import RuleProgram
from neurallp.web.app import PAGES, ServerSettings, create_app, make_app
from neurallp.web.explorer import Explorer
from neurallp.web.security import Access

HEALTH = list(HealthCheck)

HTML = {"Accept": "text/html,application/xhtml+xml"}


def rounded(value):
    """Return a JSON value with fewer digits: the first questions are summed in another order than others."""
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


class Elements(HTMLParser):
    """Collects the elements and attributes of a page."""

    def __init__(self, text):
        super().__init__()
        self.found = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))


def test_every_page_is_html_for_a_browser_and_json_for_a_program(client, pages):
    assert {address.partition("?")[0] for address in pages.values()} | {"/export"} == {
        path for path, _ in PAGES
    }
    for name, place in pages.items():
        shown, told = client.get(place, headers=HTML), client.get(place)
        assert shown.status_code == told.status_code == 200, name
        assert shown.headers["content-type"] == "text/html; charset=utf-8"
        assert told.headers["content-type"] == "application/json"
        asked = client.get(place + ("&" if "?" in place else "?") + "format=json", headers=HTML)
        assert rounded(asked.json()) == rounded(told.json()), name
        assert "None" not in re.sub("<[^>]*>", "", shown.text), name


def test_every_link_of_every_page_leads_somewhere(client, pages):
    links = set()
    for place in pages.values():
        elements = Elements(client.get(place, headers=HTML).text).found
        found = [each.get("href") or each.get("src") for _, each in elements]
        links |= {link for link in found if link and not link.startswith("#")}
    assert len(links) > 200
    assert all(link.startswith("/") for link in links)
    kinds = {}
    for link in sorted(links):
        kinds.setdefault(re.sub(r"=[^&]*", "", link), link)
    for link in kinds.values():
        assert client.get(link, headers=HTML).status_code == 200, link


def test_no_page_has_inline_scripts_styles_or_anything_from_outside(client, pages):
    for name, place in pages.items():
        for tag, attributes in Elements(client.get(place, headers=HTML).text).found:
            assert "style" not in attributes, (name, tag)
            assert not any(each.startswith("on") for each in attributes), (name, tag)
            assert tag != "style", name
            assert tag != "script" or attributes["src"].startswith("/static/"), name


def test_dangerous_names_are_shown_as_they_are(hostile):
    places = [
        "/",
        "/relations",
        address("/relation", name=QUOTES),
        address("/rule", name=f"{QUOTES}:0"),
        address("/ask", entity=SCRIPT, relation=QUOTES),
        address("/ask", entity=SCRIPT, relation="knows", asked="head"),
        address("/proof", head=SCRIPT, relation=QUOTES, tail=RTL),
        address("/proof", head="x", relation="knows", tail=SCRIPT),
        address("/what-if", entity=SCRIPT, relation=QUOTES, add=f"x\tknows\t{RTL}"),
        address("/entity", name=SCRIPT),
        address("/entity", name=RTL),
        address("/entity", name=SCRIPT + "!"),
        address("/find", text="<script"),
    ]
    for place in places:
        text = hostile.get(place, headers=HTML).text
        tags = [tag for tag, attributes in Elements(text).found if tag == "script"]
        assert tags == ["script"], place
        assert "<script>" not in text, place
    proof = hostile.get(places[6], headers=HTML).text
    assert f"<bdi>{RTL}</bdi>" in proof
    assert "it&#39;s" in proof


def test_an_unknown_name_is_reported_with_those_it_may_mean(client, look, fact):
    head = fact[0]
    page = look("/entity", status=404, name=head + "x")
    assert "Unknown entity" in page
    assert address("/entity", name=head) in page
    told = client.get("/ask", params={"entity": head, "relation": "unkle"})
    assert told.status_code == 404
    assert {"parameter": "relation", "name": "uncle"} in told.json()["near"]


@pytest.mark.parametrize(
    ("place", "status", "said"),
    [
        ("/nothing", 404, "no such page"),
        ("/relation", 422, "name"),
        ("/ask?k=1000", 422, "k: "),
        ("/ask?asked=both", 422, "asked"),
        ("/entity?name=x&add=half", 422, "String should match"),
        ("/relation?name=uncle&veto=uncle:99999", 404, "There is no rule"),
    ],
)
def test_mistakes_are_reported_in_both_forms(client, place, status, said):
    for headers in (HTML, {}):
        answer = client.get(place, headers=headers)
        assert answer.status_code == status
        assert said in answer.text
    assert client.get(place).json()["error"]


def test_only_reading_is_possible(client, pages):
    for method in ("POST", "PUT", "DELETE", "PATCH"):
        assert client.request(method, pages["ask"]).status_code == 405


def test_many_askers_at_once_get_what_one_gets(client, pages, explorer):
    places = list(pages.values()) + [
        address("/ask", entity=name, relation="aunt") for name in explorer.kb.entities[:20]
    ]
    alone = {place: client.get(place).json() for place in places}
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda place: client.get(place).json(), places * 2))
    assert rounded(together) == rounded([alone[place] for place in places * 2])


def test_rules_without_weights_have_all_pages(given_rules, split):
    app = create_app(given_rules, split.known, name="given")
    with TestClient(app, base_url="http://127.0.0.1") as client:
        for name, place in page_addresses(Explorer(given_rules, split.known)).items():
            assert client.get(place, headers=HTML).status_code == 200, name


def test_a_program_without_any_rule_is_served(split):
    with TestClient(create_app(RuleProgram([]), split.known), base_url="http://127.0.0.1") as client:
        assert client.get("/").json()["num_rules"] == 0
        assert client.get("/relations").status_code == 200


# The description of the API, and a tester that reads it


def test_the_description_names_every_page_and_every_answer(client):
    described = client.get("/openapi.json").json()
    assert described["paths"].keys() == {path for path, _ in PAGES}
    for path, methods in described["paths"].items():
        assert methods.keys() == {"get"}
        assert methods["get"]["description"], path
        assert {"200", "400", "404", "409", "422", "429", "503"} <= methods["get"]["responses"].keys()


@pytest.mark.parametrize(
    "mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["allowed", "forbidden"]
)
def test_no_request_of_any_kind_breaks_the_description(explorer, fact, mode):
    app = make_app(explorer, ServerSettings(Access(hosts=("*",))))
    known = {"entity": fact[0], "head": fact[0], "tail": fact[2], "relation": "uncle", "name": "uncle"}
    for found in schemathesis.openapi.from_asgi("/openapi.json", app).get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=3, deadline=None, derandomize=True, database=None, suppress_health_check=HEALTH
        )
        @given(case=operation.as_strategy(generation_mode=mode), use_known=st.booleans())
        def check(case, use_known):
            if use_known and mode == GenerationMode.POSITIVE:  # else few requests would find anything
                case.query.update({name: known[name] for name in case.query if name in known})
            case.call_and_validate()

        check()

"""The guard: who may ask, how much, and what a browser may do with the answer."""

import pytest
from fastapi.testclient import TestClient

from neurallp.web.app import ServerSettings, make_app
from neurallp.web.security import COOKIE, MAX_ADDRESS, Access


@pytest.fixture(scope="module")
def guarded(explorer):
    app = make_app(explorer, ServerSettings(Access(token="sesame")))
    return TestClient(app, base_url="http://127.0.0.1", follow_redirects=False)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:8000", "[::1]:8000"])
def test_this_machine_is_served(client, host):
    assert client.get("/find", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", ""])
def test_another_name_for_this_machine_is_refused(client, host):
    assert client.get("/find", headers={"Host": host}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "http://localhost"]
)
def test_a_request_of_another_page_is_refused(client, origin):
    assert client.get("/find", headers={"Origin": origin}).status_code == 403


def test_a_request_of_our_own_page_is_served(client):
    assert client.get("/find", headers={"Origin": "http://127.0.0.1"}).status_code == 200


def test_every_answer_forbids_what_a_page_does_not_need(client):
    for place in ("/", "/nothing", "/static/style.css", "/ask?k=0"):
        headers = client.get(place).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_long_addresses_and_bodies_are_refused(client):
    assert client.get("/find?text=" + "a" * MAX_ADDRESS).status_code == 422
    assert client.post("/find", content=b"x" * 100).status_code == 413


def test_nothing_is_served_without_the_token(guarded):
    for place in ("/", "/openapi.json", "/static/style.css", "/?token=wrong"):
        assert guarded.get(place).status_code == 401
    assert guarded.get("/find", headers={"Authorization": "Bearer wrong"}).status_code == 401
    assert guarded.get("/find", headers={"Authorization": "Bearer sesame"}).status_code == 200


def test_a_token_in_the_address_moves_into_a_cookie(guarded):
    answer = guarded.get("/find?text=a&token=sesame")
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("/find?text=a")
    assert "HttpOnly" in answer.headers["set-cookie"]
    assert guarded.get("/find", headers={"Cookie": f"{COOKIE}=sesame"}).status_code == 200
    guarded.cookies.clear()

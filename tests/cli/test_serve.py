"""`serve` and `demo --serve`: they print an address that answers, and end when told to."""

import re
import sys

from served import fetch, serving


def test_a_file_of_rules_is_explored(uncles):
    with serving("serve", *uncles) as address:
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert ">xan</bdi>" in fetch(address, "ask?entity=zoe&relation=uncle")
        assert '"entity":"xan"' in fetch(address, "ask?entity=zoe&relation=uncle", "application/json")


def test_what_is_not_there_is_reported_before_anything_is_bound(refuse, uncles, tmp_path):
    assert "There is no" in refuse("serve", uncles[0], tmp_path / "nothing.tsv")
    assert "neurallp learn" in refuse("serve", tmp_path / "nothing", uncles[1])
    assert "neurallp learn" in refuse("serve", *uncles, "--compare", tmp_path / "nothing")
    assert "neurallp qa learn" in refuse("serve", *uncles, "--questions", tmp_path / "nothing")


def test_without_the_extra_it_names_the_command_that_installs_it(refuse, uncles, monkeypatch):
    monkeypatch.setitem(sys.modules, "fastapi", None)
    assert "pip install 'neurallp[web]'" in refuse("serve", *uncles)


def test_the_family_of_the_demo_is_explored():
    with serving("demo", "--serve", "--people", "50") as address:
        assert "A generated family" in fetch(address)

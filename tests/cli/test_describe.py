import json

import pytest

from neurallp.datasets.family import family_triples
from neurallp.io.triples import write_triples


@pytest.fixture
def family(tmp_path):
    path = tmp_path / "family.tsv"
    write_triples(path, [*family_triples(num_people=60, num_generations=3), ("<b>", "knows", "[x]")])
    return path


def test_data_is_described_in_words_in_json_and_as_a_page(run, family, tmp_path):
    code, out, _ = run("describe", family, "--html", tmp_path / "page.html")
    assert code == 0
    assert "relation" in out
    assert "symmetric" in out
    assert "What to expect" in out
    twin = json.loads(run("describe", family, "--json")[1])
    assert f"{twin['num_facts']:,} facts" in out
    assert {each["name"] for each in twin["relations"]} >= {"husband", "wife"}
    page = (tmp_path / "page.html").read_text()
    assert all(line.replace("<", "&lt;") in page for line in twin["expectations"])
    assert "<b>" not in page
    assert "http" not in page


def test_a_probable_header_and_too_few_facts_are_reported(run, tmp_path):
    path = tmp_path / "small.csv"
    path.write_text("person,kinship,relative\nanna,mother,eve\nbob,mother,eve\nanna,brother,bob\n")
    out = run("describe", path)[1]
    assert "--columns person,kinship,relative" in out
    assert "4 facts are too few" in out
    told = json.loads(run("describe", path, "--columns", "person,kinship,relative", "--json")[1])
    assert told["num_facts"] == 3
    assert told["notes"] == []


def test_a_model_is_described_by_its_plan(run, refuse, model, tmp_path):
    assert run("describe", model)[0] == 0
    assert "--html is for data" in refuse("describe", model, "--html", tmp_path / "page.html")

import json
from itertools import pairwise

import pytest

from neurallp.datasets.family import family_triples
from neurallp.io.triples import read_triples, write_triples

pytestmark = pytest.mark.filterwarnings("always")


@pytest.fixture(autouse=True)
def a_folder_of_its_own(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def data(tmp_path):
    write_triples(tmp_path / "family.tsv", family_triples(num_people=80))
    return tmp_path / "family.tsv"


def test_triples_are_converted_there_and_back(run, data, tmp_path):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")
    chain = [data, "a.parquet", "a.ttl", "a.nt.gz", "a.csv"]
    for source, target in pairwise(chain):
        assert run("convert", source, target)[0] == 0
    assert sorted(read_triples(tmp_path / "a.csv")) == sorted(read_triples(data))


def test_a_folder_is_converted_part_by_part(run, refuse, tmp_path):
    (tmp_path / "split").mkdir()
    parts = {"train": [("a", "r", "b"), ("b", "r", "c")], "test": [("a", "r", "c")]}
    for part, triples in parts.items():
        write_triples(tmp_path / "split" / f"{part}.tsv", triples)
    code, out, _ = run("convert", "split", "new", "--to", "csv.gz", "--json")
    assert (code, json.loads(out)) == (0, {"out": "new", "triples": 3, "relations": 1, "literals": 0})
    assert {part: read_triples(tmp_path / "new" / f"{part}.csv.gz") for part in parts} == parts
    assert "--to ttl" in refuse("convert", "split", "other")
    assert "--to is for folders" in refuse("convert", "split/train.tsv", "a.csv", "--to", "csv")


def test_converting_reports_what_was_left_out_and_keeps_iris(run, tmp_path):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    (tmp_path / "a.ttl").write_text("@prefix ex: <http://ex.org/> . ex:a ex:r ex:b ; ex:age 4 .")
    code, out, _ = run("convert", "a.ttl", "a.nt", "--json")
    assert (code, json.loads(out)) == (0, {"out": "a.nt", "triples": 1, "relations": 1, "literals": 1})
    assert (tmp_path / "a.nt").read_text() == "<http://ex.org/a> <http://ex.org/r> <http://ex.org/b> .\n"
    (tmp_path / "b.tsv").write_text("x:a\tx:r\tx:b\n")
    assert run("convert", "b.tsv", "b.nt", "--prefix", "x=http://x.org/")[0] == 0
    assert "<http://x.org/a>" in (tmp_path / "b.nt").read_text()


@pytest.mark.parametrize("prefix", ["ex", "ex=nothing", "=", ""])
def test_a_prefix_without_iri_is_refused(run, data, prefix):
    code, _, err = run("convert", data, "a.nt", "--prefix", prefix)
    assert code == 2
    assert "NAME=IRI" in err


def test_names_that_spreadsheets_take_for_formulas_are_quoted_where_it_is_asked_for(run, refuse, tmp_path):
    rows = [("=1+1", "likes", "@bob"), ("anna", "-likes", "bob")]
    write_triples(tmp_path / "facts.tsv", rows)
    run("convert", "facts.tsv", "safe.csv", "--safe-csv")
    assert read_triples(tmp_path / "safe.csv") == [("'=1+1", "likes", "'@bob"), ("anna", "'-likes", "bob")]
    run("convert", "facts.tsv", "plain.csv")
    assert read_triples(tmp_path / "plain.csv") == rows
    assert "--safe-csv is for .csv and .tsv" in refuse("convert", "facts.tsv", "a.ttl", "--safe-csv")

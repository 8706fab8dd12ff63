import json

import pytest

from neurallp.io.files import read_bytes
from neurallp.io.triples import read_triples


@pytest.mark.parametrize("suffix", [".tsv", ".csv", ".tsv.gz"])
def test_predict_writes_every_new_answer(run, uncles, tmp_path, suffix):
    out_file = tmp_path / f"new{suffix}"
    code, out, _ = run("predict", *uncles, "--out", out_file, "--json")
    assert (code, json.loads(out)["answers"]) == (0, 1)
    lines = read_bytes(out_file).decode().splitlines()
    header, row = (line.split("," if suffix == ".csv" else "\t") for line in lines)
    assert header == ["head", "relation", "tail", "probability", "score", "known"]
    assert row == ["zoe", "uncle", "xan", "", "0.9", "False"]


def test_predict_writes_lines_of_json(run, uncles, tmp_path):
    out_file = tmp_path / "new.jsonl.gz"
    assert run("predict", *uncles, "--out", out_file)[0] == 0
    assert json.loads(read_bytes(out_file)) == {
        "head": "zoe", "relation": "uncle", "tail": "xan", "probability": None, "score": 0.9, "known": False,
    }  # fmt: skip


def test_predict_writes_parquet_that_is_read_back_as_facts(run, model, data, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")
    out_file = tmp_path / "new.parquet"
    code, out, _ = run("predict", model, data, "--relation", "uncle", "--out", out_file, "-k", 2)
    assert code == 0
    found = read_triples(out_file)
    assert out == f"{len(found):,} answers to 40 questions in {out_file}.\n"
    assert {relation for _, relation, _ in found} == {"uncle"}
    assert not set(found) & set(read_triples(data))


def test_no_answer_is_a_fact_of_any_part_of_a_folder(run, uncles, tmp_path):
    rules, facts = uncles
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "train.tsv").write_bytes(read_bytes(facts) + b"ann\tuncle\tbob\n")
    (folder / "test.tsv").write_text("zoe\tuncle\txan\n")
    for options, rows in (((), 0), (("--known",), 1)):
        _, out, _ = run("predict", rules, folder, "--out", tmp_path / "new.tsv", "--json", *options)
        assert json.loads(out)["answers"] == rows


def test_a_prediction_in_rdf_is_a_statement_with_its_score_and_no_fact(run, uncles, tmp_path):
    ox = pytest.importorskip("pyoxigraph", reason="pip install 'neurallp[formats]'")
    for suffix in (".nt", ".ttl"):
        assert run("predict", *uncles, "--out", tmp_path / f"new{suffix}")[0] == 0
        store = ox.Store()
        store.load(path=tmp_path / f"new{suffix}")
        asked = """PREFIX rdf: <http://www.w3.org/1999/02/22-rdf-syntax-ns#> SELECT ?s ?p ?o ?score WHERE {
            ?x a rdf:Statement; rdf:subject ?s; rdf:predicate ?p; rdf:object ?o;
               <urn:neurallp:score> ?score }"""
        ((s, p, o, score),) = store.query(asked)
        assert [term.value for term in (s, p, o)] == [f"urn:neurallp:{n}" for n in ("zoe", "uncle", "xan")]
        assert float(score.value) == 0.9
        assert not list(store.quads_for_pattern(s, p, o, None))


def test_a_prediction_that_cannot_be_written_leaves_nothing(refuse, uncles, tmp_path):
    message = refuse("predict", *uncles, "--out", tmp_path / "new.xlsx")
    assert "must end in .parquet, .tsv, .csv, .jsonl, .nt, .ttl; text also .gz" in message
    assert "must end in" in refuse("predict", *uncles, "--out", tmp_path / "new.parquet.gz")
    assert "Unknown relation 'uncel'" in refuse(
        "predict", *uncles, "--out", tmp_path / "new.tsv", "--relation", "uncel"
    )
    assert not list(tmp_path.glob("new*"))

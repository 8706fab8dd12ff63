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
    assert header == ["head", "relation", "tail", "score", "known"]
    assert row == ["zoe", "uncle", "xan", "0.9", "False"]


def test_predict_writes_lines_of_json(run, uncles, tmp_path):
    out_file = tmp_path / "new.jsonl.gz"
    assert run("predict", *uncles, "--out", out_file)[0] == 0
    assert json.loads(read_bytes(out_file)) == {
        "head": "zoe", "relation": "uncle", "tail": "xan", "score": 0.9, "known": False,
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


def test_a_prediction_that_cannot_be_written_leaves_nothing(refuse, uncles, tmp_path):
    message = refuse("predict", *uncles, "--out", tmp_path / "new.xlsx")
    assert "must end in .parquet, .tsv, .csv, .jsonl; text also .gz" in message
    assert "must end in" in refuse("predict", *uncles, "--out", tmp_path / "new.parquet.gz")
    assert "Unknown relation 'uncel'" in refuse(
        "predict", *uncles, "--out", tmp_path / "new.tsv", "--relation", "uncel"
    )
    assert not list(tmp_path.glob("new*"))

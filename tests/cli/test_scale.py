"""`pack` and `apply` from the command line, and packed folders as the data of other commands."""

import json

import pytest
import weighted_samples
from typer.testing import CliRunner

from neurallp.cli import app
from neurallp.io.rules import export_scored
from neurallp.io.triples import write_triples

parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")


def call(*arguments):
    found = CliRunner().invoke(app, [str(each) for each in arguments])
    assert found.exit_code == 0, found.output
    return found.stdout


@pytest.fixture
def folder(tmp_path):
    kb = weighted_samples.random_kb(0)
    write_triples(tmp_path / "facts.tsv", kb.named_facts())
    export_scored(tmp_path / "model.json", weighted_samples.random_rules(kb, 0), "scored-json")
    return tmp_path


def predicted(path):
    """Return the score of each fact that a file predicts; there are no probabilities."""
    rows = map(json.loads, path.read_text().splitlines())
    return {(row["head"], row["relation"], row["tail"]): row["score"] for row in rows}


def test_every_command_takes_the_packed_folder(folder):
    # Scores are equal but for the last digits: sums are along edges in another order.
    model, facts, packed = folder / "model.json", folder / "facts.tsv", folder / "packed"
    assert "23 facts of 3 relations between 8 entities" in call("pack", facts, packed, "--model", model)
    asked = ["--head", "anna", "--relation", "r", "--json"]
    answers, expected = (json.loads(call("ask", model, data, *asked)) for data in (packed, facts))
    assert answers == [row | {"score": pytest.approx(row["score"], rel=1e-12)} for row in expected]
    assert json.loads(call("explain", model, packed, "anna", "r", "g", "--json"))
    for data in (facts, packed):
        call("predict", model, data, "--out", folder / f"{data.stem}.jsonl")
    plain, found = (predicted(folder / f"{name}.jsonl") for name in ("facts", "packed"))
    assert found == pytest.approx(plain, rel=1e-12)


def test_apply_predicts_and_a_dry_run_only_estimates(folder):
    model, facts, out = folder / "model.json", folder / "facts.tsv", folder / "out"
    costs = json.loads(call("apply", model, facts, "--out", out, "--dry-run", "--json"))
    assert costs == sorted(costs, key=lambda cost: -cost["rows"])
    assert "rows" in call("apply", model, facts, "--out", out, "--dry-run")
    assert not (out / "summary.json").exists()
    told = json.loads(call("apply", model, facts, "--out", out, "-k", 5, "--relation", "r", "--json"))
    call("predict", model, facts, "-k", 5, "--relation", "r", "--out", folder / "r.parquet")
    (name,) = told["files"]
    found, expected = (parquet.read_table(path).to_pylist() for path in (out / name, folder / "r.parquet"))
    pairs = [
        sorted((row["head"], row["tail"], round(row["score"], 9)) for row in rows)
        for rows in (found, expected)
    ]
    assert pairs[0] == pairs[1]
    assert told["files"][name]["rows"] == len(expected) > 0


def test_apply_needs_weighted_rules(folder):
    (folder / "rules.tsv").write_text("")
    found = CliRunner().invoke(app, ["apply", str(folder / "none"), str(folder / "facts.tsv"), "--out", "x"])
    assert found.exit_code != 0

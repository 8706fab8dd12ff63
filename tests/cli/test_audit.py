import csv
import json

import pytest
from learned_family import learned, with_wrong_fact

from neurallp.io.triples import write_triples


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    """A model folder, and a family with one wrong fact."""
    folder = tmp_path_factory.mktemp("audit")
    learned()[2].save(folder / "model")
    write_triples(folder / "data.tsv", with_wrong_fact()[0].named_facts())
    return folder / "model", folder / "data.tsv"


def test_the_wrong_fact_stands_first_and_what_was_looked_at_last(run, given):
    code, out, _ = run("audit", *given, "--limit", 3)
    child, relation, mother = with_wrong_fact()[1]
    lines = out.splitlines()
    assert code == 0
    assert f"{relation}({child}, {mother})" in lines[2]
    assert lines[-1] == f"All {len(with_wrong_fact()[0].facts):,} facts were looked at."


def test_json_has_what_the_library_says(run, given):
    code, out, err = run("audit", *given, "--relation", "father", "--limit", 2, "--json")
    assert (code, err) == (0, "")
    found = learned()[2].audit("father", limit=2, kb=with_wrong_fact()[0])
    told = json.loads(out)
    assert [each["fact"] for each in told["doubts"]] == [doubt.fact for doubt in found.doubts]
    assert told["doubts"][0]["probability"] == pytest.approx(found.doubts[0].probability)
    assert told["doubts"][0]["proof"]["query"] in ("father", "~father")


def test_the_list_is_also_written_as_csv(run, given, tmp_path):
    run("audit", *given, "--limit", 4, "--sample", 100, "--out", tmp_path / "doubts.csv")
    with (tmp_path / "doubts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 4
    assert [float(row["probability"]) for row in rows] == sorted(float(row["probability"]) for row in rows)


def test_mistakes_are_reported_before_any_work(refuse, given, tmp_path):
    assert refuse("audit", *given, "--out", tmp_path / "doubts.txt").endswith("must end in .csv or .csv.gz.")
    assert refuse("audit", *given, "--relation", "fathr").startswith("Unknown relation 'fathr'. Did you mean")
    assert refuse("audit", *given, "--entity", "zz zz").startswith("Unknown entity 'zz zz'.")

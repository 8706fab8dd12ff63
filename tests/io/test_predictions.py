"""Predictions come back from every file they are written to, whatever their names."""

import csv
import io
import json

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from neurallp import KnowledgeBase, Reasoner, Rule
from neurallp.errors import FormatError
from neurallp.io.files import read_bytes
from neurallp.io.predictions import write_predictions

names = st.text(min_size=1).filter(lambda name: not name.startswith("~") and name != "back")
within_test = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def read_back(path):
    """Return (head, relation, tail) of each row, by readers that are not ours."""
    if path.suffix == ".parquet":
        from pyarrow import parquet

        rows = parquet.read_table(path).to_pylist()
    elif ".jsonl" in path.name:
        rows = [json.loads(line) for line in read_bytes(path).decode().split("\n")[:-1]]
    elif ".tsv" in path.name:
        header, *lines = (line.split("\t") for line in read_bytes(path).decode().split("\n")[:-1])
        rows = [dict(zip(header, line, strict=True)) for line in lines]
    else:
        rows = list(csv.DictReader(io.StringIO(read_bytes(path).decode(), newline="")))
    return [(row["head"], row["relation"], row["tail"]) for row in rows]


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.jsonl.gz", "p.parquet", "p.tsv"])
@given(one=names, other=names, relation=names)
@example(one='say "hi"', other="x" * 10_000, relation="back\\slash")
@example(one="new\nline", other="tab\t", relation="\r\n")
@within_test
def test_any_name_comes_back_or_is_refused(tmp_path, name, one, other, relation):
    if name == "p.parquet":
        pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")
    assume(one != other)
    kb = KnowledgeBase.from_triples([(one, relation, other), (other, "back", one)])
    found = Reasoner(kb, [Rule("back", (relation,), 0.5)]).predict(["back"])
    path = tmp_path / name
    if name == "p.tsv" and any(set("\t\n") & set(each) or each != each.strip() for each in (one, other)):
        with pytest.raises(FormatError, match=r"Write \.csv"):
            write_predictions(path, found)
        return
    assert write_predictions(path, found) == 1
    assert read_back(path) == [(one, "back", other)]


def test_a_name_that_utf8_cannot_hold_is_refused_and_nothing_is_left(tmp_path):
    kb = KnowledgeBase.from_triples([("a", "r", "\ud800"), ("b", "r", "a")])
    with pytest.raises(FormatError, match="half a surrogate pair"):
        write_predictions(tmp_path / "p.csv", Reasoner(kb, [Rule("s", ("r",), 0.5)]).predict(["s"]))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["p.csv", "p.jsonl", "p.tsv"])
def test_labels_have_columns_of_their_own(tmp_path, name):
    kb = KnowledgeBase.from_triples([("e1", "r", "e2"), ("e2", "r", "e3")])
    found = Reasoner(kb, [Rule("s", ("r",), 0.5)]).predict(["s"])
    write_predictions(tmp_path / name, found, {"e1": "Anna", "e3": "Carl"})
    text = (tmp_path / name).read_text()
    assert "tail_label" in text
    assert [("Anna" in line, "Carl" in line) for line in text.splitlines() if "0.5" in line] == [
        (True, False),
        (False, True),
    ]

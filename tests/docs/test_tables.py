"""The tables of results in the pages are those of the stored files."""

import importlib.util
import json
import re

import pytest
from doc_pages import DOCS, ROOT

SPEC = importlib.util.spec_from_file_location("tables", DOCS / "tables.py")
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)

PAGES = [page for page in tables.PAGES if "<!-- table:" in page.read_text(encoding="utf-8")]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_table_is_that_of_its_file(page):
    text = page.read_text(encoding="utf-8")
    assert tables.with_tables(text) == text, "Run python docs/tables.py"


def test_every_file_is_shown_somewhere():
    place = re.compile(r"<!-- table: ([\w-]+) -->|\(results/([\w-]+)\.json\)")
    found = [place.findall(page.read_text("utf-8")) for page in tables.PAGES]
    shown = {table or linked for names in found for table, linked in names}
    assert {path.stem for path in (DOCS / "results").glob("*.json")} == (shown | {"peers"}) - {"headline"}


def test_all_tables_of_the_results_are_generated():
    typed = re.sub(tables.MARKED, "", (DOCS / "results.md").read_text(encoding="utf-8"))
    assert [line for line in typed.splitlines() if line.startswith("|")] == []


def test_rows_are_as_long_as_their_header():
    for path in (DOCS / "results").glob("*.json"):
        if isinstance(stored := json.loads(path.read_text(encoding="utf-8")), dict):
            assert {len(row) for row in stored["rows"]} == {len(stored["columns"])}, path.name


def test_runs_of_a_benchmark_become_one_row_for_each_data_set_and_time_limit():
    run = {
        "data": "umls",
        "seed": 0,
        "minutes": None,
        "MRR": 0.96,
        "Hits@10": 0.99,
        "seconds": 28.2,
        "MiB": 500,
    }
    runs = [run, {**run, "seed": 1, "MRR": 0.97, "seconds": 31.0}, {**run, "minutes": 1.0}]
    assert list(tables.mean_rows(runs)) == [
        ["UMLS", ".965", ".990", "28 to 31", "0.5 GB", "0, 1"],
        ["UMLS, `--minutes 1`", ".960", ".990", "28", "0.5 GB", "0"],
    ]


def test_the_readme_has_the_headline():
    assert "<!-- table: headline -->" in (ROOT / "README.md").read_text(encoding="utf-8")

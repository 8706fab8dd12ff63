import re
from dataclasses import fields

import pytest
from doc_pages import DOCS, table_rows

from neurallp.io.predictions import COLUMNS as PREDICTION_COLUMNS
from neurallp.io.rules import EXPORTS, IMPORTS
from neurallp.io.rules.table import COLUMNS, TEXT_COLUMN, format_rules
from neurallp.io.triples import READERS, WRITERS
from neurallp.rules.rule import Rule

PAGE = DOCS / "formats.md"
TEXT = PAGE.read_text(encoding="utf-8")
UNCLE = Rule("uncle", ("father", "brother"), 0.8, 1.0, distinct_ends=True, support=60, num_predictions=120)


def section(title):
    """Return the text below a heading, up to the next one."""
    return TEXT.split(f"## {title}\n", 1)[1].split("\n#", 1)[0]


def test_the_example_runs():
    for library in ("networkx", "pandas", "polars", "pyarrow"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'neurallp[formats]'")
    (code,) = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    exec(code, {})


def test_every_suffix_of_triples_is_documented():
    for suffix in {*READERS, *WRITERS}:
        assert f"`{suffix}`" in TEXT


def test_every_format_of_rules_is_documented_with_its_direction():
    documented = dict(re.findall(r"^\| `(\w+)` \| (both|in|out) \|", TEXT, re.MULTILINE))
    assert {name for name, way in documented.items() if way != "in"} == set(EXPORTS)
    assert {name for name, way in documented.items() if way != "out"} == set(IMPORTS)


def test_the_documented_columns_of_rules_are_the_written_ones():
    rows = [row for row in table_rows(PAGE) if re.fullmatch(r"`\w+`", row[0]) and len(row) == 3]
    documented = [row[0].strip("`") for row in rows if row[0].strip("`") in {*COLUMNS, TEXT_COLUMN}]
    assert documented == [*COLUMNS, TEXT_COLUMN]
    assert {*COLUMNS} == {field.name for field in fields(Rule)}


def test_the_documented_example_of_each_column_is_what_is_written():
    header, line, _ = format_rules([UNCLE]).split("\n")
    written = dict(zip(header.split("\t"), line.split("\t"), strict=True))
    shown = {row[0].strip("`"): row[1].strip("`") for row in table_rows(PAGE) if len(row) == 3}
    assert {name: shown[name] for name in written} == written


def test_the_documented_columns_of_predictions_are_the_written_ones():
    assert ", ".join(f"`{name}`" for name in PREDICTION_COLUMNS) in TEXT

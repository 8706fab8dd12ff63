import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurallp.errors import ConfigError, DataError, FormatError
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.io.triples import load, read_triples, write_triples
from neurallp.io.triples.tables import from_table, to_arrow, to_pandas, to_polars

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'neurallp[formats]'")

TRIPLES = [("anna", "mother", "eve"), ("bob", "uncle", "carl"), ("eve", "uncle", "anna")]
KB = KnowledgeBase.from_triples(TRIPLES)

names = st.one_of(st.text(min_size=1), st.just("x" * 10_000)).filter(
    lambda name: not name.startswith("~") and "\0" not in name
)


@pytest.mark.parametrize("convert", [to_arrow, to_pandas, to_polars])
def test_a_knowledge_base_comes_back_from_a_table(convert):
    pytest.importorskip("pandas", reason="pandas is not installed: pip install 'neurallp[formats]'")
    pytest.importorskip("polars", reason="polars is not installed: pip install 'neurallp[formats]'")
    table = convert(KB)
    assert list(table.columns if convert is not to_arrow else table.column_names) == [
        "head",
        "relation",
        "tail",
    ]
    found = from_table(table)
    assert list(found.named_facts()) == TRIPLES
    assert found.entities == KB.entities


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_name_survives_parquet(tmp_path, rows):
    write_triples(tmp_path / "facts.parquet", rows)
    assert read_triples(tmp_path / "facts.parquet") == rows


@pytest.mark.parametrize("convert", [to_arrow, to_pandas, to_polars])
@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=4))
@settings(deadline=None, max_examples=20)
def test_any_name_survives_a_table(convert, rows):
    kb = KnowledgeBase.from_triples(rows)
    assert list(from_table(convert(kb)).named_facts()) == list(kb.named_facts())


def test_a_duckdb_query_is_a_table_too():
    duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")
    with duckdb.connect() as connection:
        found = from_table(connection.sql("SELECT 'a' AS head, 'r' AS relation, 'b' AS tail"))
    assert list(found.named_facts()) == [("a", "r", "b")]


@pytest.mark.parametrize(
    "columns",
    [
        {"tail": "c", "head": "a", "relation": "b"},
        {"weight": 1.0, "Subject": "a", "Object": "c", "Predicate": "b"},
        {"x": "a", "y": "b", "z": "c"},
    ],
)
def test_columns_are_known_by_name_or_else_by_place(columns):
    assert list(from_table(pa.table({name: [value] for name, value in columns.items()})).named_facts()) == [
        ("a", "b", "c")
    ]


def test_numbers_and_categories_become_names():
    table = pa.table({"head": [1], "relation": pa.array(["r"]).dictionary_encode(), "tail": [2]})
    assert list(from_table(table).named_facts()) == [("1", "r", "2")]


def test_a_table_without_the_columns_is_refused():
    with pytest.raises(FormatError, match="expected the columns head, relation and tail, got a, b"):
        from_table(pa.table({"a": ["x"], "b": ["y"]}))


def test_missing_values_are_refused(tmp_path):
    with pytest.raises(FormatError, match="1 rows have no tail"):
        from_table(pa.table({"head": ["a"], "relation": ["r"], "tail": pa.array([None], pa.string())}))


def test_an_empty_name_is_refused(tmp_path):
    import pyarrow.parquet

    pyarrow.parquet.write_table(
        pa.table({"head": ["a"], "relation": ["r"], "tail": [""]}), tmp_path / "a.parquet"
    )
    with pytest.raises(FormatError, match=r"a.parquet: the tail is empty"):
        load(tmp_path / "a.parquet")


def test_a_damaged_file_is_refused(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(FormatError, match="not Parquet"):
        load(tmp_path / "a.parquet")


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_name_that_no_table_holds_is_refused_before_writing(tmp_path, name):
    with pytest.raises(DataError, match="Rename it"):
        write_triples(tmp_path / "a.parquet", [(name, "r", "b")])
    assert not list(tmp_path.iterdir())


def test_without_the_library_the_command_that_installs_it_is_reported(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'neurallp\[formats\]'"):
        to_arrow(KB)

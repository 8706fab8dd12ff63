"""What the pinned DuckDB must get right, and how its errors are reported."""

import pytest

from neurallp.errors import ConfigError, FormatError
from neurallp.io.duckdb import open_database

pytest.importorskip("duckdb", reason="DuckDB is not installed: pip install 'neurallp[sql]'")


@pytest.mark.parametrize("condition", ["a IN (SELECT b FROM u)", "EXISTS (SELECT 1 FROM u WHERE u.b = t.a)"])
def test_a_join_that_spills_keeps_all_rows(tmp_path, condition):
    """A filter that was pushed into the other side dropped rows (duckdb issue 25702)."""
    with open_database(tmp_path, "60MB", threads=1) as database:
        for name, column in (("t", "a"), ("u", "b")):
            rows = f"SELECT (i % 25)::INT AS {column} FROM range(3000000) x(i)"
            database.rows(f"CREATE TABLE {name} AS {rows}")
        assert database.rows(f"SELECT count(*) FROM t WHERE {condition}") == [(3_000_000,)]


def test_a_join_with_a_sum_that_spills_keeps_all_rows(tmp_path):
    with open_database(tmp_path, "80MB", threads=1) as database:
        database.rows(
            "CREATE TABLE v AS SELECT ((i * 7919) % 2000000)::INT AS b, i AS c FROM range(2000000) x(i)"
        )
        joined = "SELECT v.b, count(*) AS n, sum(w.c) AS c FROM v JOIN v w ON v.b = w.b GROUP BY v.b"
        assert database.rows(f"SELECT count(*), sum(n), sum(c) FROM ({joined})") == [
            (2_000_000, 2_000_000, 1_999_999_000_000)
        ]
    assert list(tmp_path.iterdir()) == []


def test_errors_are_those_of_the_project(tmp_path):
    with open_database(tmp_path) as database, pytest.raises(FormatError, match="nothing"):
        database.rows("SELECT * FROM nothing")


@pytest.mark.parametrize("memory", ["much", "-5GB", "0x1GB", "1GB'; SELECT 1; --", "5", ""])
def test_memory_is_a_number_and_a_unit(tmp_path, memory):
    with pytest.raises(ConfigError, match="such as 4GB"), open_database(tmp_path, memory):
        pass


def test_a_message_is_one_line_without_the_statement(tmp_path):
    (tmp_path / "bad.parquet").write_bytes(b"PAR1" + bytes(40) + b"PAR1")
    with open_database(tmp_path) as database, pytest.raises(FormatError) as caught:
        database.rows(f"SELECT * FROM read_parquet('{tmp_path}/bad.parquet')")
    assert "bad.parquet" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "SELECT" not in str(caught.value)

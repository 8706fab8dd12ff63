"""Connections to DuckDB: a memory limit, and where it spills to."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..errors import ConfigError, DataError, FormatError, brief, import_extra

#: Memory that DuckDB uses before it spills to disk.
MEMORY = "4GB"

#: A filter that is pushed from a join whose build side spills may drop rows (duckdb issue 25702).
UNSAFE_OPTIMIZERS = "join_filter_pushdown"


class Database:
    """An in-memory database that spills to a folder of its own."""

    def __init__(self, connection: Any, errors: type[Exception]) -> None:
        self.connection, self._errors = connection, errors

    def rows(self, statement: str) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        try:
            return list(self.connection.execute(statement).fetchall())
        except self._errors as error:
            raise _explain(error) from error

    def batches(self, query: str, num_rows: int = 1 << 20) -> Iterator[Any]:
        """Yield the result of a query as Arrow batches."""
        try:
            yield from self.connection.sql(query).to_arrow_reader(num_rows)
        except self._errors as error:
            raise _explain(error) from error

    def register(self, name: str, table: Any) -> None:
        """Give an Arrow table a name."""
        self.connection.register(name, table)


@contextmanager
def open_database(spill: Path, memory: str = MEMORY, threads: int | None = None) -> Iterator[Database]:
    """Yield a database that uses at most `memory` and then writes temporary files under `spill`."""
    duckdb = import_extra("duckdb", "sql")
    if not re.fullmatch(r"\d+(\.\d+)? ?[KMGT]i?B", memory):
        raise ConfigError(f"Give memory as a number and a unit, such as 4GB, not {memory!r:.40}.")
    with TemporaryDirectory(prefix=".spill", dir=spill) as folder, duckdb.connect() as connection:
        database = Database(connection, duckdb.Error)
        database.rows(f"SET memory_limit = '{memory}'")
        database.rows(f"SET temp_directory = '{str(folder).replace(chr(39), chr(39) * 2)}'")
        database.rows("SET preserve_insertion_order = false")
        database.rows("SET enable_progress_bar = false")
        database.rows(f"SET disabled_optimizers = '{UNSAFE_OPTIMIZERS}'")
        if threads is not None:
            database.rows(f"SET threads = {threads}")
        yield database


def _explain(error: Exception) -> DataError:
    """Return an error of the project for one of DuckDB's."""
    text = str(error).partition("\n\nLINE ")[0]
    if "Out of Memory" in text:
        return DataError(f"DuckDB ran out of memory. Give more with --memory, or cap rules. ({brief(text)})")
    return FormatError(f"DuckDB cannot read the data ({brief(text, 400)}). Correct it, or write it again.")

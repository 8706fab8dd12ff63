"""Where the statements run: DuckDB in this process, or Spark on this machine or a cluster."""

import os
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from ..errors import ConfigError, DataError, brief, import_extra
from ..io.duckdb import MEMORY, Database, open_database
from ..io.rules.sql import literal

#: The address of a Spark that runs in this process's machine, on all its cores.
LOCAL_SPARK = "local[*]"

#: What addresses of Spark Connect start with.
CONNECT = "sc://"


class Engine(Protocol):
    """Runs SQL over Parquet files."""

    #: Rules whose amounts one statement adds: more where starting a statement takes long.
    rules_at_once: int

    def view(self, name: str, path: str) -> None:
        """Give the rows of a Parquet file a name."""
        ...

    def load(self, name: str, columns: Mapping[str, Any]) -> None:
        """Give columns of numbers, or of an Arrow array, a name."""
        ...

    def create(self, name: str, query: str) -> None:
        """Compute a table and keep it."""
        ...

    def append(self, name: str, query: str) -> None:
        """Add the rows of a query to a table; the first makes it."""
        ...

    def drop(self, name: str) -> None:
        """Delete a table, if there is one."""
        ...

    def write(self, query: str, path: Path) -> int:
        """Write the rows of a query as Parquet, completely or not at all, and return their number."""
        ...


class DuckDBEngine:
    """Tables in a database that spills to disk beyond its memory limit."""

    rules_at_once = 1

    def __init__(self, database: Database) -> None:
        self.database = database
        self._tables: set[str] = set()

    def view(self, name: str, path: str) -> None:
        """Give the rows of a Parquet file a name."""
        self.database.rows(f"CREATE OR REPLACE VIEW {name} AS SELECT * FROM read_parquet({literal(path)})")

    def load(self, name: str, columns: Mapping[str, Any]) -> None:
        """Give columns of numbers, or of an Arrow array, a name; they are not copied."""
        self.database.register(name, import_extra("pyarrow", "formats").table(dict(columns)))

    def create(self, name: str, query: str) -> None:
        """Compute a table and keep it."""
        self.database.rows(f"CREATE OR REPLACE TABLE {name} AS {query}")
        self._tables.add(name)

    def append(self, name: str, query: str) -> None:
        """Add the rows of a query to a table; the first makes it."""
        if name in self._tables:
            self.database.rows(f"INSERT INTO {name} {query}")
        else:
            self.create(name, query)

    def drop(self, name: str) -> None:
        """Delete a table, if there is one."""
        self.database.rows(f"DROP TABLE IF EXISTS {name}")
        self._tables.discard(name)

    def write(self, query: str, path: Path) -> int:
        """Write the rows of a query as one Parquet file and return their number."""
        temporary = path.with_name(f".{path.name}.tmp")
        ((num,),) = self.database.rows(f"COPY ({query}) TO {literal(str(temporary))} (FORMAT parquet)")
        temporary.replace(path)
        return int(num)


class SparkEngine:
    """Tables as Parquet under a folder that all executors reach."""

    rules_at_once = 16

    def __init__(self, session: Any, folder: Path) -> None:
        self.session, self.folder = session, folder

    def view(self, name: str, path: str) -> None:
        """Give the rows of a Parquet file a name."""
        self.session.read.parquet(str(path)).createOrReplaceTempView(name)

    def load(self, name: str, columns: Mapping[str, Any]) -> None:
        """Write columns as Parquet and give them a name."""
        pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
        path = self.folder / f"{name}.parquet"
        parquet.write_table(pa.table(dict(columns)), path)
        self.session.catalog.dropTempView(name)
        self.view(name, str(path))

    def create(self, name: str, query: str) -> None:
        """Compute a table and keep it."""
        self.drop(name)
        self.append(name, query)

    def append(self, name: str, query: str) -> None:
        """Add the rows of a query to a table; the first makes it."""
        path = self.folder / f"{name}.table"
        self._sql(query).write.mode("append").parquet(str(path))
        self.view(name, str(path))

    def drop(self, name: str) -> None:
        """Delete a table, if there is one."""
        self.session.catalog.dropTempView(name)
        shutil.rmtree(self.folder / f"{name}.table", ignore_errors=True)

    def write(self, query: str, path: Path) -> int:
        """Write the rows of a query as a folder of Parquet files and return their number."""
        temporary = path.with_name(f".{path.name}.tmp")
        self._sql(query).write.mode("overwrite").parquet(str(temporary))
        if path.exists():
            shutil.rmtree(path)
        temporary.replace(path)
        return int(self.session.read.parquet(str(path)).count())

    def _sql(self, query: str) -> Any:
        from pyspark.errors import PySparkException

        try:
            return self.session.sql(query)
        except PySparkException as error:
            raise DataError(f"Spark cannot run a statement: {str(error)[:600]}") from error


@contextmanager
def open_engine(name: str, folder: Path, *, memory: str, address: str | None = None) -> Iterator[Engine]:
    """Yield an engine that keeps what it needs in `folder`.

    `address` is a Spark master (`local[*]`, spark://host:7077, yarn), or sc://host for Spark Connect.
    """
    if name == "duckdb":
        with open_database(folder, memory) as database:
            yield DuckDBEngine(database)
    elif name == "spark":
        with open_session(address or LOCAL_SPARK, memory) as session:
            yield SparkEngine(session, folder)
    else:
        raise ConfigError(f"The engine must be duckdb or spark, got {name!r}.")


@contextmanager
def open_session(address: str, memory: str = MEMORY) -> Iterator[Any]:
    """Yield a Spark session, and stop it; one that runs already is used and left running."""
    spark = import_extra("pyspark.sql", "spark").SparkSession
    if (active := spark.getActiveSession()) is not None and not address.startswith(CONNECT):
        yield active
        return
    session = _connect(spark.builder, address, memory)
    try:
        yield session
    finally:
        session.stop()


def _connect(builder: Any, address: str, memory: str) -> Any:
    """Return a session of an address."""
    if address.startswith(CONNECT):
        return _connect_remotely(builder, address)
    if address.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    options = {
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": memory.lower().removesuffix("b"),
        "spark.sql.adaptive.enabled": "true",
    }
    builder = builder.master(address).appName("neurallp")
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _connect_remotely(builder: Any, address: str) -> Any:
    """Return a session of Spark Connect, whose client needs more packages than Spark itself."""
    from pyspark.errors import PySparkException

    try:
        return builder.remote(address).getOrCreate()
    except PySparkException as error:
        raise ConfigError(
            f"Cannot connect to {address}: {brief(error)}. "
            "Spark Connect needs pip install 'pyspark[connect]', and a server at that address."
        ) from error

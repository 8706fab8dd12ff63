"""Triples as tables: Arrow, and through it Parquet, pandas, polars and other libraries that support Arrow."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import FormatError, import_extra
from ...graph.knowledge_base import KnowledgeBase, Triple
from ..files import TripleFile, atomic_write, read_bytes
from .text import COLUMNS, HEADERS


def to_arrow(kb: KnowledgeBase) -> Any:
    """Return the facts as a pyarrow.Table with the columns head, relation and tail."""
    pa = import_extra("pyarrow", "formats")
    entities, relations = (pa.array(names, pa.string()) for names in (kb.entities.names, kb.relations.names))
    head, relation, tail = kb.facts.T
    columns = [entities.take(head), relations.take(relation), entities.take(tail)]
    return pa.table(dict(zip(COLUMNS, columns, strict=True)))


def to_pandas(kb: KnowledgeBase) -> Any:
    """Return the facts as a pandas.DataFrame with the columns head, relation and tail."""
    import_extra("pandas", "formats")
    return to_arrow(kb).to_pandas()


def to_polars(kb: KnowledgeBase) -> Any:
    """Return the facts as a polars.DataFrame with the columns head, relation and tail."""
    return import_extra("polars", "formats").from_arrow(to_arrow(kb))


def from_table(table: Any) -> KnowledgeBase:
    """Return the knowledge base of a table of pandas, polars, pyarrow or another library that supports Arrow.

    Columns are found by name (head, relation, tail; subject, predicate, object; …), in any order and among
    others. A table of exactly three columns with other names is read in the order head, relation, tail.
    """
    return KnowledgeBase.from_triples(_triples(table, "The table"))


def read(path: Path) -> TripleFile:
    """Return the triples of a Parquet file; columns are found as in `from_table`."""
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    try:
        table = parquet.read_table(pa.BufferReader(read_bytes(path)))
    except pa.ArrowException as error:
        raise FormatError(f"{path}: not Parquet ({error}).") from error
    return TripleFile(path, _triples(table, str(path)))


def write(path: Path, triples: Sequence[Triple], prefixes: Mapping[str, str]) -> None:
    """Write triples as a Parquet file with the columns head, relation and tail."""
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    columns = zip(*triples, strict=True)
    table = pa.table(
        {name: pa.array(column, pa.string()) for name, column in zip(COLUMNS, columns, strict=True)}
    )
    content = pa.BufferOutputStream()
    parquet.write_table(table, content)
    atomic_write(path, content.getvalue().to_pybytes())


def _triples(table: Any, owner: str) -> list[Triple]:
    pa = import_extra("pyarrow", "formats")
    arrow = pa.table(table)
    names = find_columns(arrow.column_names, owner)
    columns = [arrow.column(name).cast(pa.string()) for name in names]
    for name, column in zip(names, columns, strict=True):
        if column.null_count:
            raise FormatError(
                f"{owner}: {column.null_count:,} rows have no {name}. Fill them in or drop them."
            )
    return list(zip(*(column.to_pylist() for column in columns), strict=True))


def find_columns(names: list[str], owner: str) -> list[str]:
    """Return the columns of head, relation and tail."""
    given = {name.lower(): name for name in names}
    for header in HEADERS.values():
        if given.keys() >= set(header):
            return [given[name] for name in header]
    if len(names) != 3:
        raise FormatError(f"{owner}: expected the columns head, relation and tail, got {', '.join(names)}.")
    return names

"""Triples as tables: Arrow, and through it Parquet, pandas, polars and other libraries that support Arrow."""

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import DataWarning, FormatError, import_extra
from ...graph.knowledge_base import KnowledgeBase, Triple
from ..files import TripleFile, atomic_write, read_bytes
from ..limits import require_within
from ..schema import as_error
from .layout import COLUMNS, find_columns, place_columns, suspect_table

#: Bytes that a row takes at least: references to three names.
ROW_BYTES = 24


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
    triples = _triples(table, "The table")
    if told := suspect_table(triples):
        warnings.warn(f"The table: {told}", DataWarning, stacklevel=2)
    return KnowledgeBase.from_triples(triples)


def read(path: Path, columns: Sequence[str] = ()) -> TripleFile:
    """Return the triples of a Parquet file; `columns`, or those that are found as in `from_table`."""
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    content = read_bytes(path)
    with as_error(lambda why: FormatError(f"{path}: not Parquet ({why}). Write or download it again.")):
        file = parquet.ParquetFile(pa.BufferReader(content), read_dictionary=[])
        names = name_columns(file.schema_arrow.names, str(path), columns)
        _require_bounded(path, file.metadata, len(content))
        # A dictionary stays one: names that are repeated in every row are decoded once.
        reader = parquet.ParquetFile(pa.BufferReader(content), read_dictionary=names)
        return TripleFile(path, _triples(reader.read(columns=names, use_threads=False), str(path), names))


def _require_bounded(path: Path, metadata: Any, size: int) -> None:
    """Raise where the pages and rows of a Parquet file take more memory than a file of its size may."""
    # Not column by column: the metadata of a damaged column ends the process in pyarrow.
    groups = map(metadata.row_group, range(metadata.num_row_groups))
    pages = sum(max(group.total_byte_size, 0) for group in groups)
    require_within(path, pages + ROW_BYTES * metadata.num_rows, size)


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


def _triples(table: Any, owner: str, wanted: Sequence[str] = ()) -> list[Triple]:
    pa = import_extra("pyarrow", "formats")
    arrow = pa.table(table)
    names = name_columns(arrow.column_names, owner, wanted)
    found = [_names_of(arrow.column(name)) for name in names]
    for name, column in zip(names, found, strict=True):
        if column.null_count:
            raise FormatError(
                f"{owner}: {column.null_count:,} rows have no {name}. Fill them in or drop them."
            )
    return list(zip(*map(_as_list, found), strict=True))


def _names_of(column: Any) -> Any:
    """Return a column as text, a dictionary as a dictionary of text."""
    pa = import_extra("pyarrow", "formats")
    is_dictionary = pa.types.is_dictionary(column.type)
    return column.cast(pa.dictionary(pa.int32(), pa.string()) if is_dictionary else pa.string())


def _as_list(column: Any) -> list[str]:
    """Return the names of a column; equal names of a dictionary are one object."""
    pa = import_extra("pyarrow", "formats")
    if not pa.types.is_dictionary(column.type):
        names: list[str] = column.to_pylist()
        return names
    found: list[str] = []
    for chunk in column.chunks:
        values = chunk.dictionary.to_pylist()
        found += [values[number] for number in chunk.indices.to_pylist()]
    return found


def name_columns(names: list[str], owner: str, columns: Sequence[str] = ()) -> list[str]:
    """Return the columns of head, relation and tail."""
    if columns:
        return [names[place] for place in place_columns(columns, names, owner)[0]]
    if places := find_columns(names):
        return [names[place] for place in places]
    if len(names) != 3:
        raise FormatError(
            f"{owner}: expected the columns head, relation and tail, got {', '.join(names)}. If each row "
            "describes one entity, make a row for each cell instead: entity, column name, value."
        )
    return names

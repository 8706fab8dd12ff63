"""Predictions as a file, written batch by batch: Parquet, TSV or CSV with a header, JSON lines, or RDF.

Text formats may be compressed (.gz). In RDF a prediction is a statement about a triple (reification), not the
triple itself: loading the file does not make it a fact.
"""

import gzip
import io
import itertools
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, BinaryIO, TextIO, cast

from ..errors import ConfigError, FormatError, import_extra, quoted
from ..graph.iris import OWN
from ..reasoning.answers import Predictions
from ..reasoning.reasons import Labels
from .files import AnyPath, is_gzip, replacing, suffix_of
from .names import find_unwritable, quote_field, require_spreadsheet, safe_cell
from .triples.rdf import Names

COLUMNS = tuple(Predictions.SCHEMA)

#: Further columns where entities have labels.
LABEL_COLUMNS = ("head_label", "tail_label")

Row = tuple[Any, ...]
RowWriter = Callable[[Row], object]
Writer = Callable[[BinaryIO, Iterator[Predictions], Labels], int]


def write_predictions(
    path: AnyPath, batches: Iterable[Predictions], labels: Labels | None = None, *, safe: bool = False
) -> int:
    """Write the rows of all batches, completely or not at all, and return their number.

    Labels of entities get two more columns; RDF has none. With `safe`, names that a spreadsheet would take
    for formulas get a quote before them (.csv and .tsv).
    """
    write = find_writer(path, safe=safe)
    try:
        with replacing(path) as file, _compressing(path, file) as content:
            return write(content, iter(batches), labels or {})
    except UnicodeEncodeError as error:
        raise FormatError(f"{path}: {error.object!r:.80} has half a surrogate pair. Rename it.") from error


def _compressing(path: AnyPath, file: BinaryIO) -> AbstractContextManager[BinaryIO]:
    """Return the file, or for .gz one that compresses (without a time stamp: equal content, equal files)."""
    if not is_gzip(Path(path)):
        return nullcontext(file)
    return cast(
        AbstractContextManager[BinaryIO], gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0)
    )


def find_writer(path: AnyPath, *, safe: bool = False) -> Writer:
    """Return the writer for the suffix of `path`; raise if there is none, before any work is done."""
    suffix = suffix_of(path)
    if safe:
        require_spreadsheet(path)
    if suffix == ".parquet" and not is_gzip(Path(path)):
        return _write_parquet
    if suffix not in TEXT_WRITERS:
        known = ", ".join([".parquet", *TEXT_WRITERS])
        raise ConfigError(f"Cannot write predictions to {path}. Its name must end in {known}; text also .gz.")
    return _write_text(TEXT_WRITERS[suffix], safe_cell if safe else str)


def _write_parquet(file: BinaryIO, batches: Iterator[Predictions], labels: Labels) -> int:
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    told = [(name, pa.string()) for name in LABEL_COLUMNS if labels]
    own = [(name, pa.type_for_alias(kind)) for name, kind in Predictions.SCHEMA.items()]
    schema = pa.schema([*own, *told])
    num_rows = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_table(pa.table(_columns(batch, labels), schema))
            num_rows += len(batch)
    return num_rows


def _write_text(begin: Callable[[TextIO, Row], RowWriter], as_cell: Callable[[str], str]) -> Writer:
    def write(file: BinaryIO, batches: Iterator[Predictions], labels: Labels) -> int:
        num_rows = 0
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write_row = begin(text, (*COLUMNS, *(LABEL_COLUMNS if labels else ())))
        for batch in batches:
            for row in zip(*_columns(batch, labels).values(), strict=True):
                write_row(tuple(as_cell(cell) if isinstance(cell, str) else cell for cell in row))
            num_rows += len(batch)
        text.detach()  # flushes, and leaves the file open for the caller
        return num_rows

    return write


def _commas(text: TextIO, columns: Row) -> RowWriter:
    def write_row(row: Row) -> object:
        return text.write(",".join(quote_field(_as_text(field)) for field in row) + "\n")

    write_row(columns)
    return write_row


def _tabs(text: TextIO, columns: Row) -> RowWriter:
    """Write the header of a tab-separated table; as in .tsv triples, quotes have no special meaning."""

    def write_row(row: Row) -> object:
        for name in (*row[:3], *row[len(COLUMNS) :]):
            if why := find_unwritable(name, "tab"):
                raise FormatError(f"Name {quoted(name)} {why}. Write .csv, .jsonl or .parquet.")
        return text.write("\t".join(map(_as_text, row)) + "\n")

    text.write("\t".join(columns) + "\n")
    return write_row


def _as_text(field: Any) -> str:
    """Return a field of a row; None is empty."""
    return "" if field is None else str(field)


def _json_lines(text: TextIO, columns: Row) -> RowWriter:
    def write_row(row: Row) -> object:
        return text.write(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False) + "\n")

    return write_row


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NUMBER = "http://www.w3.org/2001/XMLSchema#double"


def _statements(text: TextIO, columns: Row) -> RowWriter:
    """Write each row as a statement in N-Triples, which is Turtle too, with its probability and score."""
    names = Names()
    count = itertools.count(1)

    def write_row(row: Row) -> object:
        node = f"_:prediction{next(count)}"
        ends = zip(("subject", "predicate", "object"), row[:3], strict=True)
        lines = [f"{node} <{RDF}type> <{RDF}Statement> ."]
        lines += [f"{node} <{RDF}{place}> <{names.expand(name)}> ." for place, name in ends]
        numbers = (pair for pair in zip(COLUMNS[3:5], row[3:5], strict=True) if pair[1] is not None)
        lines += [f'{node} <{OWN}{name}> "{value!r}"^^<{NUMBER}> .' for name, value in numbers]
        return text.write("\n".join(lines) + "\n")

    return write_row


def _columns(batch: Predictions, labels: Labels) -> dict[str, Any]:
    """Return the columns of a batch, with two more for the labels where there are any."""
    found = batch.columns()
    if not labels:
        return found
    ends = found["head"], found["tail"]
    called = ([labels.get(name, name) for name in names] for names in ends)
    return found | dict(zip(LABEL_COLUMNS, called, strict=True))


TEXT_WRITERS = {
    ".tsv": _tabs,
    ".csv": _commas,
    ".jsonl": _json_lines,
    ".nt": _statements,
    ".ttl": _statements,
}

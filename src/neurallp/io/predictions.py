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

import numpy as np

from ..errors import ConfigError, FormatError, import_extra
from ..reasoning.answers import Predictions
from .files import AnyPath, is_gzip, replacing, suffix_of
from .names import find_unwritable, quote_field, safe_cell
from .triples.rdf import OWN, Names

COLUMNS = ("head", "relation", "tail", "probability", "score", "known")

Row = tuple[Any, ...]
RowWriter = Callable[[Row], object]
Writer = Callable[[BinaryIO, Iterator[Predictions]], int]


def write_predictions(path: AnyPath, batches: Iterable[Predictions], *, safe: bool = False) -> int:
    """Write the rows of all batches, completely or not at all, and return their number.

    With `safe`, names that a spreadsheet would take for formulas get a quote before them (.csv and .tsv).
    """
    write = find_writer(path, safe=safe)
    try:
        with replacing(path) as file, _compressing(path, file) as content:
            return write(content, iter(batches))
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
    if safe and suffix not in (".csv", ".tsv"):
        raise ConfigError(f"--safe-csv is for .csv and .tsv, which spreadsheets open, not for {path}.")
    if suffix == ".parquet" and not is_gzip(Path(path)):
        return _write_parquet
    if suffix not in TEXT_WRITERS:
        known = ", ".join([".parquet", *TEXT_WRITERS])
        raise ConfigError(f"Cannot write predictions to {path}. Its name must end in {known}; text also .gz.")
    return _write_text(TEXT_WRITERS[suffix], safe_cell if safe else str)


def _write_parquet(file: BinaryIO, batches: Iterator[Predictions]) -> int:
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    kinds = pa.string(), pa.string(), pa.string(), pa.float64(), pa.float64(), pa.bool_()
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    num_rows = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_table(pa.table(_columns(batch), schema))
            num_rows += len(batch)
    return num_rows


def _write_text(begin: Callable[[TextIO], RowWriter], as_cell: Callable[[str], str]) -> Writer:
    def write(file: BinaryIO, batches: Iterator[Predictions]) -> int:
        num_rows = 0
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        write_row = begin(text)
        for batch in batches:
            for row in zip(*(column.tolist() for column in _columns(batch).values()), strict=True):
                write_row((*map(as_cell, row[:3]), *row[3:]))
            num_rows += len(batch)
        text.detach()  # flushes, and leaves the file open for the caller
        return num_rows

    return write


def _commas(text: TextIO) -> RowWriter:
    def write_row(row: Row) -> object:
        return text.write(",".join(quote_field(_as_text(field)) for field in row) + "\n")

    write_row(COLUMNS)
    return write_row


def _tabs(text: TextIO) -> RowWriter:
    """Write the header of a tab-separated table; as in .tsv triples, quotes have no special meaning."""

    def write_row(row: Row) -> object:
        for name in row[:3]:
            if why := find_unwritable(name, "tab"):
                raise FormatError(f"Name {name!r} {why}. Write .csv, .jsonl or .parquet.")
        return text.write("\t".join(map(_as_text, row)) + "\n")

    text.write("\t".join(COLUMNS) + "\n")
    return write_row


def _as_text(field: Any) -> str:
    """Return a field of a row; None is empty."""
    return "" if field is None else str(field)


def _json_lines(text: TextIO) -> RowWriter:
    def write_row(row: Row) -> object:
        return text.write(json.dumps(dict(zip(COLUMNS, row, strict=True)), ensure_ascii=False) + "\n")

    return write_row


RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
NUMBER = "http://www.w3.org/2001/XMLSchema#double"


def _statements(text: TextIO) -> RowWriter:
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


def _columns(batch: Predictions) -> dict[str, Any]:
    names = np.array(batch.kb.entities.names, dtype=object)
    heads, tails = batch.ends
    relation = np.full(len(batch), batch.relation, dtype=object)
    columns = names[heads], relation, names[tails], _told(batch), batch.scores, batch.is_known
    return dict(zip(COLUMNS, columns, strict=True))


def _told(batch: Predictions) -> Any:
    """Return the probability of each row; None for known facts, and where there is no calibration."""
    if batch.probabilities is None:
        return np.full(len(batch), None)
    return np.where(batch.is_known, np.full(len(batch), None), batch.probabilities)


TEXT_WRITERS = {
    ".tsv": _tabs,
    ".csv": _commas,
    ".jsonl": _json_lines,
    ".nt": _statements,
    ".ttl": _statements,
}

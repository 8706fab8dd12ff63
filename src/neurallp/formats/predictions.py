"""Predictions as a file, written batch by batch: Parquet, or tab- or comma-separated with a header."""

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from ..errors import ConfigError, import_extra
from ..reasoning import Predictions
from .files import AnyPath, replacing, suffix_of

COLUMNS = ("head", "relation", "tail", "score", "known")


def write_predictions(path: AnyPath, batches: Iterable[Predictions]) -> int:
    """Write the rows of all batches, completely or not at all, and return how many there are."""
    write = find_writer(path)
    with replacing(path) as file:
        return write(file, iter(batches))


def find_writer(path: AnyPath) -> Callable[[BinaryIO, Iterator[Predictions]], int]:
    """Return what writes a file of this suffix; raise before any work is done where nothing does."""
    suffix = suffix_of(Path(path).name)
    if suffix not in WRITERS or str(path).endswith(".gz"):
        raise ConfigError(f"Cannot write predictions to {path}. Its name must end in {', '.join(WRITERS)}.")
    return WRITERS[suffix]


def _write_parquet(file: BinaryIO, batches: Iterator[Predictions]) -> int:
    pa, parquet = import_extra("pyarrow", "formats"), import_extra("pyarrow.parquet", "formats")
    kinds = pa.string(), pa.string(), pa.string(), pa.float64(), pa.bool_()
    schema = pa.schema(list(zip(COLUMNS, kinds, strict=True)))
    num_rows = 0
    with parquet.ParquetWriter(file, schema) as writer:
        for batch in batches:
            writer.write_table(pa.table(_columns(batch), schema))
            num_rows += len(batch)
    return num_rows


def _write_text(delimiter: str) -> Callable[[BinaryIO, Iterator[Predictions]], int]:
    def write(file: BinaryIO, batches: Iterator[Predictions]) -> int:
        num_rows = 0
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        writer = csv.writer(text, delimiter=delimiter, lineterminator="\n")
        writer.writerow(COLUMNS)
        for batch in batches:
            writer.writerows(zip(*(column.tolist() for column in _columns(batch).values()), strict=True))
            num_rows += len(batch)
        text.detach()  # flushes, and leaves the file open for its owner
        return num_rows

    return write


def _columns(batch: Predictions) -> dict[str, Any]:
    names = np.array(batch.kb.entities.names, dtype=object)
    heads, tails = batch.ends
    relation = np.full(len(batch), batch.relation, dtype=object)
    columns = names[heads], relation, names[tails], batch.scores, batch.is_known
    return dict(zip(COLUMNS, columns, strict=True))


WRITERS = {".parquet": _write_parquet, ".tsv": _write_text("\t"), ".csv": _write_text(",")}

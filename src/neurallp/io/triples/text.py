"""Triples as text: head, relation and tail on each line.

Fields of a .tsv are separated by tabs and quotes are literal, fields of a .csv by commas with the usual
quoting. For a .txt the separator (tab, comma or whitespace) is detected from the first lines.
"""

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import FormatError
from ...graph.knowledge_base import Triple
from ...graph.vocabulary import INVERSE_MARK, is_inverse
from ..files import TripleFile, atomic_write, read_bytes, suffix_of
from ..names import quote_field

#: Separators by name; None stands for any run of whitespace.
SEPARATORS = {"tab": "\t", "comma": ",", "whitespace": None}

#: The separators that a file may have, by its suffix. The first is the one that is written.
DELIMITERS = {".tsv": ("tab",), ".csv": ("comma",), ".txt": ("tab", "comma", "whitespace")}

COLUMNS = ("head", "relation", "tail")
ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"), ("from", "to"))
LABELS = ("relation", "predicate", "label", "type", "edge")
HEADERS = {
    frozenset(names): names
    for names in [(head, label, tail) for head, tail in ENDS for label in LABELS]
    + [("h", "r", "t"), ("s", "p", "o")]
}


@dataclass(frozen=True)
class _Faults:
    """The faults of one file by line, collected to be raised as one error."""

    path: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, what: str) -> None:
        self.found.append((line, what))

    def raise_any(self) -> None:
        if self.found:
            raise FormatError.collected([f"{self.path}:{line}: {what}" for line, what in sorted(self.found)])


# Reading


def read(path: Path) -> TripleFile:
    """Return the triples of a file, names stripped, header skipped; all faults are raised as one error."""
    faults = _Faults(path)
    text = _decode(read_bytes(path), faults)
    file = _collect(text, _detect(text, DELIMITERS[suffix_of(path)]), faults)
    faults.raise_any()
    return file


def _collect(text: str, delimiter: str, faults: _Faults) -> TripleFile:
    """Return the valid rows of `text`, and add the faults of the others to `faults`."""
    file = TripleFile(faults.path, [], [])
    rows = _rows(text, delimiter, faults)
    for line, fields in _without_header(rows, faults):
        if what := find_fault(fields, delimiter):
            faults.add(line, what)
        else:
            file.triples.append((fields[0], fields[1], fields[2]))
            file.lines.append(line)
    return file


def _decode(data: bytes, faults: _Faults) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), start=1):
            _note_undecodable(number, line, faults)
        return data.decode("utf-8-sig", errors="replace")


def _note_undecodable(number: int, line: bytes, faults: _Faults) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        byte = line[error.start]
        faults.add(number, f"byte {error.start + 1} of the line (0x{byte:02x}) is not UTF-8. Save as UTF-8.")


def _detect(text: str, candidates: Sequence[str]) -> str:
    """Return the delimiter that splits most of the first lines into triples; ties go to the earlier one."""
    votes = Counter(_vote(line, candidates) for line in text.split("\n", 20)[:20])
    return max(candidates, key=votes.__getitem__)


def _vote(line: str, candidates: Sequence[str]) -> str:
    """Return the first delimiter that splits the line into a triple, or nothing."""
    sound = (name for name in candidates if _collect(line, name, _Faults(Path())).triples)
    return next(sound, "")


def _rows(text: str, delimiter: str, faults: _Faults) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the stripped fields of every row that is not blank."""
    rows = _csv_rows(text, faults) if delimiter == "comma" else _plain_rows(text, SEPARATORS[delimiter])
    for line, fields in rows:
        stripped = [name.strip() for name in fields]
        if stripped and stripped != [""]:
            yield line, stripped


def _plain_rows(text: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    # Not splitlines, which also splits at U+2028 and other characters that names may contain.
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line.split(separator)


def _csv_rows(text: str, faults: _Faults) -> Iterator[tuple[int, list[str]]]:
    lines = (line + "\n" for line in text.split("\n"))
    reader = csv.reader(lines, strict=True, skipinitialspace=True)
    number = 1
    try:
        for fields in reader:
            yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        faults.add(number, f'not CSV ({error}). Write a quoted field as "…", and a quote in it twice.')


def _without_header(
    rows: Iterator[tuple[int, list[str]]], faults: _Faults
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows without a header; a header with another order of columns is a fault."""
    for line, fields in rows:
        header = _header(fields)
        if not header:
            yield line, fields
        elif header != tuple(name.lower() for name in fields):
            faults.add(line, f"the columns are {', '.join(fields)}. Order them {', '.join(header)}.")
        break
    yield from rows


def _header(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the column names in the right order if the fields are a header, else nothing."""
    return HEADERS.get(frozenset(name.lower() for name in fields), ())


def find_fault(fields: Sequence[str], delimiter: str) -> str:
    """Return the fault of a row, or nothing."""
    if len(fields) == 3 and all(fields) and not is_inverse(fields[1]):
        return ""
    row = (SEPARATORS[delimiter] or " ").join(fields)
    shown = repr(row if len(row) <= 80 else row[:79] + "…")
    if len(fields) != 3:
        return f"expected 3 {delimiter}-separated fields (head, relation, tail), got {len(fields)}: {shown}."
    if not all(fields):
        return f"the {COLUMNS[fields.index('')]} is empty: {shown}. Fill it in or delete the line."
    return f"relation {fields[1]!r} starts with {INVERSE_MARK!r}, which marks an inverse. Rename it."


# Writing


def write(path: Path, triples: Sequence[Triple], prefixes: Mapping[str, str]) -> None:
    """Write triples whose names the format can hold (see `find_unwritable`)."""
    delimiter = DELIMITERS[suffix_of(path)][0]
    # A first row that would be read as a header or a byte order mark needs a real header above it.
    needs_header = _header(triples[0]) or triples[0][0].startswith("\ufeff")
    rows = [COLUMNS, *triples] if needs_header else triples
    atomic_write(path, "".join(_line(row, delimiter) for row in rows))


def _line(row: Sequence[str], delimiter: str) -> str:
    fields = map(quote_field, row) if delimiter == "comma" else row
    return (SEPARATORS[delimiter] or " ").join(fields) + "\n"

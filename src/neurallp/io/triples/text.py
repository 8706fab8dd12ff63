"""Triples as text: head, relation and tail on each line.

Fields are separated by tabs, with quotes as they are, or by commas, semicolons or bars, with the quoting of
CSV; a .txt may also have whitespace. Which of them is detected from the first lines; where several fit, it is
the usual one of the suffix. A header tells which columns hold head, relation and tail. A line that begins
with `#` and is no triple is a comment.
"""

import codecs
import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ...errors import FormatError, quoted
from ...graph.knowledge_base import Triple
from ...graph.vocabulary import INVERSE_MARK, is_inverse
from ..files import TripleFile, atomic_write, read_bytes, suffix_of
from ..names import NUL, quote_field
from .layout import COLUMNS, find_columns, find_pairs, find_wide, place_columns, require_text

#: Separators by name; None stands for any run of whitespace.
SEPARATORS = {"tab": "\t", "comma": ",", "semicolon": ";", "bar": "|", "whitespace": None}

#: The separators whose fields may be quoted.
QUOTING = ("comma", "semicolon", "bar")

#: The separators that a file may have, by its suffix. The first is the one that is written.
DELIMITERS = {
    ".tsv": ("tab", "comma", "semicolon", "bar"),
    ".csv": ("comma", "semicolon", "tab", "bar"),
    ".txt": ("tab", "comma", "semicolon", "bar", "whitespace"),
}

#: Byte order marks of encodings other than UTF-8; that of UTF-32 begins like that of UTF-16.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


#: The first line that names the separator for Excel; the numbers of the other lines stay.
EXCEL_SEPARATOR = re.compile(r"\Asep=.\r?\n")

#: How a line begins that is a comment, unless it is a triple.
COMMENT = "#"


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


def read(path: Path, columns: Sequence[str] = ()) -> TripleFile:
    """Return the triples of a file, names stripped, header skipped; all faults are raised as one error.

    `columns` are those of head, relation and tail, by name or number, where no usual header names them.
    """
    faults = _Faults(path)
    data = read_bytes(path)
    require_text(path, data)
    text = EXCEL_SEPARATOR.sub("\n", _decode(data, faults), count=1)
    delimiter = _detect(text, DELIMITERS[suffix_of(path)])
    if "\n" not in text and "\r" in text and _width(text, delimiter) > 3:
        text = text.replace("\r", "\n")  # line ends of old Macintosh files
    file = _collect(text, delimiter, faults, columns)
    faults.raise_any()
    return file


def _collect(text: str, delimiter: str, faults: _Faults, columns: Sequence[str] = ()) -> TripleFile:
    """Return the valid rows of `text`, and add the faults of the others to `faults`."""
    file = TripleFile(faults.path, [], [])
    rows = [*_rows(text, delimiter, faults)]
    places, rows = _choose_columns(rows, columns, faults)
    for line, fields in rows:
        if places and len(fields) > max(places):
            fields = [fields[place] for place in places]
        if what := find_fault(fields, delimiter):
            faults.add(line, what)
        else:
            file.triples.append((fields[0], fields[1], fields[2]))
            file.lines.append(line)
    return file


def _choose_columns(
    rows: list[tuple[int, list[str]]], columns: Sequence[str], faults: _Faults
) -> tuple[tuple[int, ...], list[tuple[int, list[str]]]]:
    """Return the places of head, relation and tail (none: the first three), and the rows without a header."""
    if not rows:
        return (), rows
    line, first = rows[0]
    if columns:
        places, has_header = place_columns(columns, first, f"{faults.path}:{line}:")
        return places, rows[has_header:]
    if places := find_columns(first):
        return () if places == (0, 1, 2) and len(first) == 3 else places, rows[1:]
    if fault := find_wide(fields := [fields for _, fields in rows]) or find_pairs(fields):
        raise FormatError(f"{faults.path}: {fault}")
    return (), rows


def _decode(data: bytes, faults: _Faults) -> str:
    for mark, encoding in MARKS.items():
        if data.startswith(mark):
            return _decode_marked(data, encoding, faults.path)
    if encoding := _guess_unmarked(data[:1000]):
        return _decode_marked(data, encoding, faults.path)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        for number, line in enumerate(data.split(b"\n"), start=1):
            _note_undecodable(number, line, faults)
        return data.decode("utf-8-sig", errors="replace")


def _guess_unmarked(start: bytes) -> str:
    """Return the encoding of UTF-16 without a mark, where every other byte of plain text is zero."""
    even, odd = start[::2], start[1::2]
    zeros = even.count(0), odd.count(0)
    if len(start) < 30 or max(zeros) < 0.9 * len(odd) or min(zeros):
        return ""
    return "utf-16-le" if zeros[1] else "utf-16-be"


def _decode_marked(data: bytes, encoding: str, path: Path) -> str:
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        name = encoding.upper()
        raise FormatError(f"{path}: byte {error.start + 1} is not {name}. Save as UTF-8.") from error


def _note_undecodable(number: int, line: bytes, faults: _Faults) -> None:
    try:
        line.decode()
    except UnicodeDecodeError as error:
        byte = line[error.start]
        faults.add(number, f"byte {error.start + 1} of the line (0x{byte:02x}) is not UTF-8. Save as UTF-8.")


def _detect(text: str, candidates: Sequence[str]) -> str:
    """Return the delimiter that splits most of the first lines into triples, or else into more fields.

    Ties go to the earlier one. A delimiter by which every line has three fields or more comes before one that
    splits only some lines into triples: cells of a table may hold lists such as `Drama|Comedy|War`.
    """
    lines = [line for line in text.split("\n", 20)[:20] if line.strip()]
    widths = {name: [_width(line, name) for line in lines] for name in candidates if name != "whitespace"}
    if whole := [name for name, found in widths.items() if min(found, default=0) >= 3]:
        return next((name for name in whole if {*widths[name]} == {3}), whole[0])
    for sound in (lambda width: width == 3, lambda width: width > 3):
        votes = Counter(_vote(line, candidates, sound) for line in lines)
        if best := max(votes[name] for name in candidates):
            return next(name for name in candidates if votes[name] == best)
    return candidates[0]


def _vote(line: str, candidates: Sequence[str], sound: Callable[[int], bool]) -> str:
    """Return the first delimiter that splits the line into a number of fields that is sound, or nothing."""
    return next((name for name in candidates if sound(_width(line, name))), "")


def _width(line: str, delimiter: str) -> int:
    """Return the number of fields of a line; 0 where a field is empty or a quote stays open."""
    faults = _Faults(Path())
    fields = next((fields for _, fields in _rows(line, delimiter, faults)), [])
    return len(fields) if all(fields[:3]) and not faults.found else 0


def _rows(text: str, delimiter: str, faults: _Faults) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the stripped fields of every row that is not blank.

    Empty fields after the third are left out: they come from separators at the end of a line.
    """
    separator = SEPARATORS[delimiter]
    quoted = delimiter in QUOTING
    rows = _csv_rows(text, separator or "", faults) if quoted else _plain_rows(text, separator)
    for line, fields in rows:
        stripped = [name.strip() for name in fields]
        while len(stripped) > 3 and not stripped[-1]:
            stripped.pop()
        if stripped and stripped != [""] and not _is_comment(stripped, separator):
            yield line, stripped


def _is_comment(fields: Sequence[str], separator: str | None) -> bool:
    """Return whether a row is a comment: one of three fields may be a triple, unless spaces separate them."""
    return fields[0].startswith(COMMENT) and (len(fields) != 3 or separator is None)


def _plain_rows(text: str, separator: str | None) -> Iterator[tuple[int, list[str]]]:
    # Not splitlines, which also splits at U+2028 and other characters that names may contain.
    for number, line in enumerate(text.split("\n"), start=1):
        yield number, line.split(separator)


def _csv_rows(text: str, separator: str, faults: _Faults) -> Iterator[tuple[int, list[str]]]:
    lines = (line + "\n" for line in text.split("\n"))
    reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=True)
    number = 1
    try:
        for fields in reader:
            yield number, fields
            number = reader.line_num + 1
    except csv.Error as error:
        faults.add(number, f'not CSV ({error}). Write a quoted field as "…", and a quote in it twice.')


def find_fault(fields: Sequence[str], delimiter: str) -> str:
    """Return the fault of a row, or nothing."""
    if len(fields) == 3 and all(fields) and not is_inverse(fields[1]) and NUL not in "".join(fields):
        return ""
    row = (SEPARATORS[delimiter] or " ").join(fields)
    shown = quoted(row, 80)
    if len(fields) != 3:
        return f"expected 3 {delimiter}-separated fields (head, relation, tail), got {len(fields)}: {shown}."
    if not all(fields):
        return f"the {COLUMNS[fields.index('')]} is empty: {shown}. Fill it in or delete the line."
    for column, name in zip(COLUMNS, fields, strict=True):
        if NUL in name:
            return f"the {column} has a NUL character (code 0): {shown}. Remove it, or save as UTF-8 text."
    return f"relation {quoted(fields[1])} starts with {INVERSE_MARK!r}, which marks an inverse. Rename it."


# Writing


def write(path: Path, triples: Sequence[Triple], prefixes: Mapping[str, str]) -> None:
    """Write triples whose names the format can hold (see `find_unwritable`)."""
    delimiter = DELIMITERS[suffix_of(path)][0]
    # A first row that would be read as a header or a byte order mark needs a real header above it.
    needs_header = find_columns(triples[0]) or triples[0][0].startswith("\ufeff")
    rows = [COLUMNS, *triples] if needs_header else triples
    atomic_write(path, "".join(_line(row, delimiter) for row in rows))


def _line(row: Sequence[str], delimiter: str) -> str:
    fields = map(quote_field, row) if delimiter in QUOTING else row
    return (SEPARATORS[delimiter] or " ").join(fields) + "\n"

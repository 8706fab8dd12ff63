"""Triples in text files: head, relation and tail on each line of a .tsv, .csv or .txt, all also as .gz.

One file is a KnowledgeBase; a folder with train, and perhaps facts, valid and test, is a Split.
A .tsv has tabs and takes quotes literally, a .csv has commas and the usual quoting, and for a .txt
the first lines decide between tabs, commas and runs of whitespace.
"""

import csv
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath

import numpy as np

from ..errors import DataError, FormatError
from ..knowledge import INVERSE_MARK, KnowledgeBase, Split, name_parts
from .files import AnyPath, atomic_write, missing, read_bytes

Triple = tuple[str, str, str]

#: Separators by name; without one, any run of whitespace separates.
SEPARATORS = {"tab": "\t", "comma": ",", "whitespace": None}

#: What may separate the fields of a file, by its suffix. The first is the one written.
DELIMITERS = {".tsv": ("tab",), ".csv": ("comma",), ".txt": ("tab", "comma", "whitespace")}

#: The part of a split that a file of this name holds; facts and train first, so that their names
#: get the lowest ids.
PARTS = {"facts": "facts", "train": "train", "valid": "valid", "dev": "valid", "test": "test"}

COLUMNS = ("head", "relation", "tail")
ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"), ("from", "to"))
LABELS = ("relation", "predicate", "label", "type", "edge")
HEADERS = {
    frozenset(names): names
    for names in [(head, label, tail) for head, tail in ENDS for label in LABELS]
    + [("h", "r", "t"), ("s", "p", "o")]
}


class DataWarning(UserWarning):
    """Data that can be used, but probably not as its owner thinks."""


def load(path: AnyPath) -> KnowledgeBase | Split:
    """Return the knowledge base in a file of triples, or the split in a folder of such files.

    Warns of entities that only valid or test show: nothing can be concluded about them.
    """
    path = Path(path)
    files = {part: _read(file) for part, file in _find_parts(path).items()}
    split = name_parts({part: file.triples for part, file in files.items()})
    num_entities, num_relations = _count_known(split)
    _require_known_relations(split.relations[num_relations:], files)
    if num_entities < 2:
        only = split.entities[0]
        raise DataError(f"{path}: {only!r} is the only entity with facts; there must be at least two.")
    if unseen := split.entities[num_entities:]:
        warnings.warn(_describe_unseen(path, unseen), DataWarning, stacklevel=2)
    return split if path.is_dir() else split.known


def read_triples(path: AnyPath) -> list[Triple]:
    """Return the triples of a file in order, repetitions included.

    Names are stripped of surrounding whitespace; blank lines and a header such as `head relation
    tail` are left out. All faults of the file are raised as one FormatError.
    """
    return _read(Path(path)).triples


def write_triples(path: AnyPath, triples: Iterable[Triple]) -> None:
    """Write triples so that `read_triples` gives them back; names the format cannot hold are refused."""
    path = Path(path)
    delimiter = _delimiters(path)[0]
    rows = list(triples)
    _require_writable(path, rows, delimiter)
    # A first row that would be taken for a header, or for a byte order mark, goes below a real header.
    if _header(rows[0]) or rows[0][0].startswith("\ufeff"):
        rows.insert(0, COLUMNS)
    atomic_write(path, "".join(_line(row, delimiter) for row in rows))


@dataclass(frozen=True)
class _Faults:
    """What is wrong with one file, by line, to be raised all at once."""

    path: Path
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, what: str) -> None:
        self.found.append((line, what))

    def raise_any(self) -> None:
        if self.found:
            raise FormatError.collected([f"{self.path}:{line}: {what}" for line, what in sorted(self.found)])


@dataclass(frozen=True)
class _TripleFile:
    """The triples of one file, and the line of each."""

    path: Path
    triples: list[Triple]
    lines: list[int]


# Finding the files


def _find_parts(path: Path) -> dict[str, Path]:
    """Return the file of each part, facts first; a single file is all facts."""
    if not path.is_dir():
        return {"facts": path}
    candidates = [file for file in sorted(path.iterdir()) if _suffix(file) in DELIMITERS and file.is_file()]
    parts: dict[str, Path] = {}
    for name, part in PARTS.items():
        for file in candidates:
            if _stem(file) == name:
                _claim(parts, part, file)
    if "train" not in parts:
        raise DataError(f"{path} has no train file (train.tsv, .csv or .txt, also .gz). {_contents(path)}")
    return parts


def _claim(parts: dict[str, Path], part: str, file: Path) -> None:
    if part in parts:
        other = parts[part].name
        raise DataError(f"{file.parent} has two files for {part}: {other} and {file.name}. Keep one.")
    parts[part] = file


def _contents(folder: Path) -> str:
    names = sorted(file.name for file in folder.iterdir())
    more = f" and {len(names) - 8:,} more" if len(names) > 8 else ""
    return f"It has {', '.join(names[:8])}{more}." if names else "It is empty."


def _stem(path: Path) -> str:
    return PurePath(path.name.lower().removesuffix(".gz")).stem


def _suffix(path: Path) -> str:
    return PurePath(path.name.lower().removesuffix(".gz")).suffix


def _delimiters(path: Path) -> tuple[str, ...]:
    if _suffix(path) not in DELIMITERS:
        raise FormatError(
            f"{path}: cannot tell the format of {_suffix(path) or 'a name without suffix'}. "
            f"Use {', '.join(DELIMITERS)}, each with or without .gz."
        )
    return DELIMITERS[_suffix(path)]


# Reading


def _read(path: Path) -> _TripleFile:
    if not path.exists():
        raise missing(path)
    candidates = _delimiters(path)
    faults = _Faults(path)
    text = _decode(read_bytes(path), faults)
    file = _collect(text, _detect(text, candidates), faults)
    faults.raise_any()
    if not file.triples:
        raise FormatError(f"{path}: no triples. Give one on each line: head, relation, tail.")
    return file


def _collect(text: str, delimiter: str, faults: _Faults) -> _TripleFile:
    """Return the rows of `text` that are sound, and add what is wrong with the others to `faults`."""
    file = _TripleFile(faults.path, [], [])
    rows = _rows(text, delimiter, faults)
    for line, fields in _without_header(rows, faults):
        if what := _fault(fields, delimiter):
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
    """Return the delimiter that most of the first lines vote for; the earlier candidate if equal."""
    votes = Counter(_vote(line, candidates) for line in text.split("\n", 20)[:20])
    return max(candidates, key=votes.__getitem__)


def _vote(line: str, candidates: Sequence[str]) -> str:
    """Return the first delimiter that makes a triple of the line, or nothing."""
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
    # Not splitlines, which also ends a line at U+2028 and other characters that names may have.
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
    """Yield the rows but a header; one that orders the columns otherwise is a fault."""
    for line, fields in rows:
        header = _header(fields)
        if not header:
            yield line, fields
        elif header != tuple(name.lower() for name in fields):
            faults.add(line, f"the columns are {', '.join(fields)}. Order them {', '.join(header)}.")
        break
    yield from rows


def _header(fields: Sequence[str]) -> tuple[str, ...]:
    """Return the column names that the fields are, in the right order, or nothing."""
    return HEADERS.get(frozenset(name.lower() for name in fields), ())


def _fault(fields: list[str], delimiter: str) -> str:
    """Return what is wrong with a row, or nothing."""
    if len(fields) == 3 and all(fields) and not fields[1].startswith(INVERSE_MARK):
        return ""
    row = (SEPARATORS[delimiter] or " ").join(fields)
    shown = repr(row if len(row) <= 80 else row[:79] + "…")
    if len(fields) != 3:
        return f"expected 3 {delimiter}-separated fields (head, relation, tail), got {len(fields)}: {shown}."
    if not all(fields):
        return f"the {COLUMNS[fields.index('')]} is empty: {shown}. Fill it in or delete the line."
    return f"relation {fields[1]!r} starts with {INVERSE_MARK!r}, which marks an inverse. Rename it."


# Judging a split as a whole


def _count_known(split: Split) -> tuple[int, int]:
    """Return how many entities and relations facts and train show; theirs are the lowest ids."""
    known = np.concatenate([split.facts, split.train])
    return int(known[:, [0, 2]].max()) + 1, int(known[:, 1].max()) + 1


def _require_known_relations(unseen: Iterable[str], files: dict[str, _TripleFile]) -> None:
    places = dict.fromkeys(unseen, "")
    for file in files.values():
        for line, (_, relation, _) in zip(file.lines, file.triples, strict=True):
            if places.get(relation) == "":
                places[relation] = f"{file.path}:{line}"
    if places:
        why = "has no fact to learn from. Add some to train or remove the line."
        raise FormatError.collected([f"{place}: relation {name!r} {why}" for name, place in places.items()])


def _describe_unseen(path: Path, unseen: Sequence[str]) -> str:
    return (
        f"{path}: {len(unseen):,} of the entities in valid and test have no fact, for example {unseen[0]!r}. "
        "Nothing can be concluded about them."
    )


# Writing


def _require_writable(path: Path, rows: list[Triple], delimiter: str) -> None:
    if not rows:
        raise DataError(f"{path}: there are no triples to write.")
    names = dict.fromkeys(name for row in rows for name in row)
    marked = dict.fromkeys(row[1] for row in rows if row[1].startswith(INVERSE_MARK))
    faults = [f"name {name!r} {why}" for name in names if (why := _unwritable(name, delimiter))]
    faults += [f"relation {name!r} starts with {INVERSE_MARK!r}" for name in marked]
    if faults:
        raise FormatError.collected([f"{path}: {fault}. Rename it." for fault in faults])


def _unwritable(name: str, delimiter: str) -> str:
    """Return why the file would not give `name` back, or nothing."""
    if not name:
        return "is empty"
    if name != name.strip():
        return "begins or ends with whitespace"
    if delimiter == "tab" and re.search("[\t\n]", name):
        return "has a tab or a line end, which only .csv can hold"
    if re.search("[\ud800-\udfff]", name):
        return "has half a surrogate pair, which UTF-8 cannot hold"
    return ""


def _line(row: Sequence[str], delimiter: str) -> str:
    fields = map(_quote, row) if delimiter == "comma" else row
    return (SEPARATORS[delimiter] or " ").join(fields) + "\n"


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""') + '"' if re.search('[,"\r\n]', name) else name

"""The layout of tables of triples: which columns hold head, relation and tail, and what is not text."""

import re
from collections.abc import Sequence
from pathlib import Path

from ...errors import ConfigError, FormatError, brief, quoted
from ...graph.knowledge_base import Triple
from ...graph.numbers import parse_value
from ...graph.spelling import one_line

COLUMNS = ("head", "relation", "tail")
ENDS = (("head", "tail"), ("subject", "object"), ("source", "target"), ("from", "to"))
LABELS = ("relation", "predicate", "label", "type", "edge")
#: Short headers, that of Neo4j, and those of some other languages.
OTHER_HEADERS = [
    ("h", "r", "t"),
    ("s", "p", "o"),
    (":start_id", ":type", ":end_id"),
    ("subjekt", "prädikat", "objekt"),
    ("sujet", "prédicat", "objet"),
    ("sujeto", "predicado", "objeto"),
    ("soggetto", "predicato", "oggetto"),
]
HEADERS = {
    frozenset(names): names
    for names in [(head, label, tail) for head, tail in ENDS for label in LABELS] + OTHER_HEADERS
}

#: The first bytes of files that are no text, and what to do with such a file.
SIGNATURES = {
    b"\x1f\x8b": "compressed with gzip. Add .gz to its name",
    b"PAR1": "Parquet. Name it .parquet",
    b"PK\x03\x04": "a zip archive or an Excel sheet. Unpack it, or save the sheet as CSV",
    b"SQLite format 3": "an SQLite database. Export the table as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel sheet. Save it as CSV",
}

#: How text of other formats begins, and what to do with it.
BEGINNINGS = {
    "a web page. Download the file itself": re.compile(rb"<!doctype html|<html", re.IGNORECASE),
    "JSON. Write its triples as .tsv or .csv: head, relation, tail": re.compile(rb'\{\s*"|\[\s*[\[{]\s*"'),
    "N-Triples. Name it .nt": re.compile(rb"(?:<[^<>\s]*>|_:\S+)\s+<[^<>\s]+>\s[^\n]*\.[ \t\r]*(?:\n|$)"),
    "Turtle. Name it .ttl": re.compile(rb"@prefix \S*: *<"),
    "XML. If it is RDF, name it .rdf": re.compile(rb"<\?xml|<rdf:RDF"),
}

#: What to do with files of formats that are not read, by suffix.
ADVICE = {
    ".zip": "Unpack it.",
    ".bz2": "Unpack it.",
    ".xz": "Unpack it.",
    ".xlsx": "Save the sheet as CSV UTF-8.",
    ".xls": "Save the sheet as CSV UTF-8.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Write its triples as .tsv or .csv: head, relation, tail.",
    ".jsonl": "Write its triples as .tsv or .csv: head, relation, tail.",
    ".jsonld": "Convert it to .nt or .ttl.",
    ".owl": "If it is RDF/XML, name it .rdf.",
    ".xml": "If it is RDF/XML, name it .rdf.",
    ".n3": "If it is Turtle, name it .ttl.",
}

#: A first line that no other resembles is reported as a probable header in files of at least so many triples.
MIN_ROWS = 4

#: Rows that are looked at to find a table of entities, at most.
MAX_COMPARED = 1000

#: A likely other order of columns is reported in files of at least so many triples.
MIN_ROWS_OF_ORDER = 20


def parse_columns(given: str | None) -> tuple[str, ...]:
    """Return the three columns that `A,B,C` names: by the names of a header, or by numbers from 1.

    >>> parse_columns("person, knows, 3")
    ('person', 'knows', '3')
    """
    if not given:
        return ()
    names = tuple(name.strip() for name in given.split(","))
    if len(names) != 3 or not all(names):
        raise ConfigError(
            "--columns takes the columns of head, relation and tail, by name or number, such as 1,3,2 "
            f"or person,knows,friend, got {quoted(given)}."
        )
    return names


def find_columns(names: Sequence[str]) -> tuple[int, ...]:
    """Return the places of head, relation and tail among the names of a header; nothing if it is none.

    >>> find_columns(["id", "Object", "subject", "predicate"]), find_columns(["anna", "father", "bob"])
    ((2, 3, 1), ())
    """
    given = {name.lower(): place for place, name in reversed([*enumerate(names)])}
    for header in HEADERS.values():
        if given.keys() >= {*header}:
            return tuple(given[name] for name in header)
    return ()


def place_columns(columns: Sequence[str], names: Sequence[str], owner: str) -> tuple[tuple[int, ...], bool]:
    """Return the places of the columns asked for, and whether `names` is a header: numbers need none."""
    if all(column.isdecimal() for column in columns) and not {*columns} <= {*names}:
        places = tuple(int(column) - 1 for column in columns)
        if not all(0 <= place < len(names) for place in places):
            raise FormatError(f"{owner} has {len(names)} columns, not --columns {brief(','.join(columns))}.")
        return places, bool(find_columns(names))
    lower = [name.lower() for name in names]
    if missing := [column for column in columns if column.lower() not in lower]:
        raise FormatError(f"{owner} has no column {quoted(missing[0])}. It has {brief(', '.join(names))}.")
    return tuple(lower.index(column.lower()) for column in columns), True


def require_text(path: Path, data: bytes) -> None:
    """Raise where the content of a file is that of another format."""
    for signature, what in SIGNATURES.items():
        if data.startswith(signature):
            raise FormatError(f"{path} is {what}.")
    start = data[:1000].removeprefix(b"\xef\xbb\xbf").lstrip()
    for what, beginning in BEGINNINGS.items():
        if beginning.match(start):
            raise FormatError(f"{path} is {what}.")


def suspect_order(triples: Sequence[Triple]) -> str:
    """Return the columns that hold head, relation and tail where those of the file are in another order.

    Relations are few: a second column of many names beside a column of few does not hold them.
    """
    if len(triples) < MIN_ROWS_OF_ORDER:
        return ""
    first, second, third = (len({row[place] for row in triples}) for place in range(3))
    if second < MIN_ROWS_OF_ORDER or 8 * min(first, third) > second:
        return ""
    return "1,3,2" if third <= first else "2,1,3"


def find_wide(rows: Sequence[Sequence[str]]) -> str:
    """Return what is wrong with rows of more than three columns, and what to do; nothing if they have three.

    The first row counts as a header if its names are distinct and occur in no other row.
    """
    first, *others = rows
    names = {name for row in others for name in row}
    has_header = len(first) > 3 and len({*first}) == len(first) and names.isdisjoint(first)
    width = len(first) if has_header else min(map(len, rows))
    if width <= 3 or not others:
        return ""
    described = next((row for row in others if has_header and len(row) > 1), None)
    cell = (
        "entity, column name, value" if described is None else f"{described[0]}, {first[1]}, {described[1]}"
    )
    return (
        f"rows have {width} columns ({' | '.join(first[:6]):.60}), not head, relation and tail. If three of "
        "the columns are these, say which, by name or number, as in --columns 1,2,3. If each row describes "
        f"one entity, write a line for each cell instead: {cell:.60}."
    )


def find_pairs(rows: Sequence[Sequence[str]]) -> str:
    """Return what is wrong with rows of two columns, and what to do; nothing if a row has another number."""
    if len(rows) < 2 or {len(row) for row in rows} != {2}:
        return ""
    head, tail = (brief(one_line(name), 40) for name in rows[0])
    return (
        f"rows have 2 columns ({head} | {tail}), and none is the relation. Write on each line what links the "
        f"two, between them: {head}, RELATION, {tail}."
    )


def suspect_table(triples: Sequence[Triple]) -> str:
    """Return how triples were read and what to do, where they look like entities with two properties each.

    In such a table every row has a head of its own, which is nowhere a tail; and the middle column, perhaps
    below a header, holds numbers or dates, or different values in more than half of the rows (unless
    `suspect_order` finds relations in another column).
    """
    rows = triples[: MAX_COMPARED + 1]
    rows = rows if parse_value(rows[0][1]) is not None else rows[1:]
    heads, values, tails = ({row[place] for row in rows} for place in range(3))
    if len(rows) < MIN_ROWS or len(heads) < len(rows) or not heads.isdisjoint(tails):
        return ""
    num_numbers = sum(parse_value(value) is not None for _, value, _ in rows)
    is_varied = len(rows) >= MIN_ROWS_OF_ORDER and 2 * len(values) > len(rows)
    if num_numbers < 0.9 * len(rows) and (not is_varied or suspect_order(triples)):
        return ""
    head, relation, tail = (brief(one_line(name), 60) for name in rows[0])
    return (
        f"column 2 was read as the relation, as in {relation}({head}, {tail}). If each row describes one "
        "entity, write a line for each cell instead: entity, column name, value. If the relation is in "
        "another column, say which, as in --columns 1,3,2."
    )


def suspect_header(triples: Sequence[Triple]) -> Triple | None:
    """Return the first triple where it looks like a header: it alone has names that all occur only once."""
    if len(triples) < MIN_ROWS:
        return None
    first, *others = triples
    if any(row[1] == first[1] for row in others):
        return None
    names = {name for row in others for name in row}
    return None if names.intersection(first) or _has_unique_row(others) else first


def _has_unique_row(triples: Sequence[Triple]) -> bool:
    """Return whether some triple has only names that occur nowhere else."""
    seen: set[str] = set()
    repeated: set[str] = set()
    for row in triples:
        for name in {*row}:
            (repeated if name in seen else seen).add(name)
    return any(repeated.isdisjoint(row) for row in triples)

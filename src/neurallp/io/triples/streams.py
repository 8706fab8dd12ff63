"""Triples of files as a view of a database, so that no file is read into memory as a whole."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ...errors import DataError, import_extra, quoted
from ...graph.iris import OWN, PREFIXES
from ...graph.knowledge_base import Triple
from ..duckdb import Database
from ..files import suffix_of
from ..rules.sql import identifier, literal
from .layout import COLUMNS, HEADERS
from .tables import name_columns

#: A character that no name contains.
NO_DELIMITER = "\x1f"

#: A line of N-Triples: subject, predicate, and an object that may have spaces.
NT_LINE = r"^\s*(<[^>]*>|_:\S+)\s*(<[^>]*>)\s*(.*?)\s*\.\s*(#.*)?$"


@dataclass(frozen=True)
class Stream:
    """Where triples come from, and how many were skipped because their object is a literal."""

    path: Path
    num_literals: int = 0


def open_stream(path: Path, database: Database) -> Stream:
    """Define the view triples(head, relation, tail) of a file, or of all files of a folder but a test part.

    Parquet, TSV and N-Triples are streamed; other formats are read into memory first.
    """
    from . import find_stream_files

    files = find_stream_files(path)
    suffixes = {suffix_of(file) for file in files}
    if len(suffixes) > 1:
        raise DataError(f"{path} has files of several formats ({', '.join(sorted(suffixes))}). Keep one.")
    open_format = STREAMS.get(suffixes.pop(), _in_memory)
    return Stream(path, open_format(files, database))


def _listed(files: list[Path]) -> str:
    return "[" + ", ".join(literal(str(file)) for file in files) + "]"


def _view(database: Database, query: str) -> None:
    database.rows(f"CREATE VIEW triples AS {query}")


def _parquet(files: list[Path], database: Database) -> int:
    source = f"read_parquet({_listed(files)})"
    names = [row[0] for row in database.rows(f"DESCRIBE SELECT * FROM {source}")]
    columns = zip(name_columns(names, str(files[0])), COLUMNS, strict=True)
    chosen = ", ".join(f"CAST({identifier(name)} AS VARCHAR) AS {column}" for name, column in columns)
    _view(database, f"SELECT {chosen} FROM {source}")
    return 0


def _tsv(files: list[Path], database: Database) -> int:
    """Read tab-separated lines; a header of the first file is a header of all."""
    columns = "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in COLUMNS) + "}"
    options = f"columns = {columns}, delim = '\\t', quote = '', escape = '', auto_detect = false"
    source = f"read_csv({_listed(files)}, {options}, header = false, null_padding = false)"
    stripped = ", ".join(f"trim({name}) AS {name}" for name in COLUMNS)
    headers = " OR ".join(
        "(" + " AND ".join(f"lower({c}) = '{name}'" for c, name in zip(COLUMNS, header, strict=True)) + ")"
        for header in HEADERS.values()
    )
    first = database.rows(f"SELECT {headers} FROM {source} LIMIT 1")
    skipped = f" WHERE NOT ({headers})" if first and first[0][0] else ""
    _view(database, f"SELECT {stripped} FROM {source}{skipped}")
    return 0


def _n_triples(files: list[Path], database: Database) -> int:
    options = f"columns = {{'line': 'VARCHAR'}}, delim = '{NO_DELIMITER}', quote = '', escape = ''"
    lines = f"read_csv({_listed(files)}, {options}, auto_detect = false, header = false)"
    names = ", ".join(map(literal, COLUMNS))
    parsed = (
        f"SELECT line, regexp_extract(line, '{NT_LINE}', [{names}, 'comment']) AS part FROM {lines} "
        "WHERE NOT regexp_matches(line, '^\\s*(#.*)?$')"
    )
    if bad := database.rows(f"SELECT line FROM ({parsed}) WHERE part['head'] = '' LIMIT 1"):
        raise DataError(f"{files[0].parent}: not N-Triples: {quoted(bad[0][0], 80)}.")
    is_literal = "(starts_with(part['tail'], '\"') OR starts_with(part['tail'], '<<'))"
    ((num_literals,),) = database.rows(f"SELECT count(*) FROM ({parsed}) WHERE {is_literal}")
    chosen = ", ".join(f"{_shortened(f'part[{literal(name)}]')} AS {name}" for name in COLUMNS)
    _view(database, f"SELECT {chosen} FROM ({parsed}) WHERE NOT {is_literal}")
    return int(num_literals)


def _shortened(term: str) -> str:
    """Return SQL for the name of a term, as `graph.iris.shorten` gives it."""
    inner = f"{term}[2:-2]"
    cases = "".join(
        f" WHEN starts_with({inner}, {literal(space)}) "
        f"THEN {literal(prefix + ':')} || {inner}[{len(space) + 1}:]"
        for prefix, space in PREFIXES.items()
    )
    own = f" WHEN starts_with({inner}, '{OWN}') THEN url_decode({inner}[{len(OWN) + 1}:])"
    return f"CASE WHEN starts_with({term}, '_:') THEN {term}{own}{cases} ELSE {inner} END"


def _in_memory(files: list[Path], database: Database) -> int:
    from . import read_file

    pa = import_extra("pyarrow", "formats")
    read = [read_file(file) for file in files]
    rows: list[Triple] = [row for file in read for row in file.triples]
    columns = {name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(COLUMNS)}
    database.register("triples", pa.table(columns))
    return sum(file.num_literals for file in read)


STREAMS: dict[str, Callable[[list[Path], Database], int]] = {
    ".parquet": _parquet,
    ".tsv": _tsv,
    ".nt": _n_triples,
}

"""`convert`: triples in another format."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import ConfigError
from .common import columns_of_data
from .options import Json, Prefixes, SafeCsv, existing_data, parse_prefixes
from .output import print_json, print_line

if TYPE_CHECKING:
    from ..graph.knowledge_base import Triple


def convert(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", callback=existing_data, help="A file of triples, or a folder of a split."
        ),
    ],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A file, whose suffix gives the format.")],
    to: Annotated[
        str | None, typer.Option(metavar="SUFFIX", help="The suffix of the files, where DATA is a folder.")
    ] = None,
    prefix: Prefixes = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """Write the triples of DATA in the format of OUT.

    Both are .tsv, .csv, .txt, .parquet, .nt, .ttl or .rdf, also with .gz; OUT may also be .pl or .problog.
    Where DATA is a folder, OUT is one too, and --to is the suffix of its files, such as ttl or tsv.gz.
    """
    from ..io.names import require_spreadsheet
    from ..io.triples import read_file, write_triples

    prefixes = parse_prefixes(prefix)
    num_triples, num_literals, relations = 0, 0, set()
    for before, after in _files_to_convert(source, target, to):
        if safe_csv:
            require_spreadsheet(after)
        file = read_file(before, columns_of_data.get())
        write_triples(after, _cells(file.triples, safe_csv), {**file.prefixes, **prefixes})
        num_triples += len(file.triples)
        num_literals += file.num_literals
        relations |= {relation for _, relation, _ in file.triples}
    if as_json:
        sizes = {"triples": num_triples, "relations": len(relations), "literals": num_literals}
        print_json({"out": str(target), **sizes})
        return
    literals = f"; {num_literals:,} that end in a literal were left out" if num_literals else ""
    print_line(f"{num_triples:,} triples of {len(relations):,} relations in {target}{literals}.")


def _cells(triples: "list[Triple]", safe: bool) -> "list[Triple]":
    """Return triples as they are, or with a quote before names that spreadsheets take for formulas."""
    from ..io.names import safe_cell

    return [(safe_cell(h), safe_cell(r), safe_cell(t)) for h, r, t in triples] if safe else triples


def _files_to_convert(source: Path, target: Path, to: str | None) -> list[tuple[Path, Path]]:
    """Return pairs of a file to read and one to write: a single pair, or one for each part of a split."""
    from ..io.models.store import make_folder
    from ..io.triples import find_parts

    if source.is_dir() and to is None:
        raise ConfigError(f"{source} is a folder. Give the format of its files, as in --to ttl.")
    if not source.is_dir() and to is not None:
        raise ConfigError(f"--to is for folders; {source} takes its format from the suffix of {target}.")
    if to is None:
        return [(source, target)]
    parts = find_parts(source)
    make_folder(target)
    return [(file, target / f"{part}.{to.removeprefix('.')}") for part, file in parts.items()]

"""`pack`: triples as a folder of memory-mapped arrays, which every command takes as DATA."""

from pathlib import Path
from typing import Annotated

import typer

from .options import Data, Json, existing_source
from .output import console, markup, print_json


def pack(
    data: Data,
    out: Annotated[Path, typer.Argument(metavar="OUT", help="The folder to write.")],
    model: Annotated[
        Path | None, typer.Option(help="Number the relations as this model does, to open with it at once.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="Memory that is used before parts are written to disk.")
    ] = "4GB",
    as_json: Json = False,
) -> None:
    """Pack triples into arrays on disk that open at once.

    Parquet, TSV and N-Triples are streamed. Of a folder with parts, all but test are packed.
    """
    from ..io.triples.packed import pack as pack_triples

    relations = None
    if model is not None:
        from ..pipeline.program import load_program

        relations = load_program(existing_source(model)).relations
    found = pack_triples(data, out, memory=memory, relations=relations)
    if as_json:
        print_json({"out": str(out), **vars(found)})
        return
    skipped = f", {found.num_literals:,} literals skipped" if found.num_literals else ""
    console.print(
        markup(
            f"{found.num_facts:,} facts of {found.num_relations:,} relations between {found.num_entities:,} "
            f"entities in {out}: {found.num_bytes / max(found.num_facts, 1):.1f} bytes a fact{skipped}."
        ),
        soft_wrap=True,
    )

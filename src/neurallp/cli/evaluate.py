"""`evaluate`: the ranks of the right answers of a part of the data."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import Part
from .options import Data, Engine, Json, Source, load_split
from .output import console, measures_table, print_json, progress, relations_table

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import Program


def evaluate(
    model: Source,
    data: Data,
    split: Annotated[Part, typer.Option(help="The part to rank.")] = "test",
    per_relation: Annotated[
        bool, typer.Option("--per-relation", help="Also evaluate each relation.")
    ] = False,
    engine: Engine = "auto",
    as_json: Json = False,
) -> None:
    """Rank the right answers of a part of DATA among all entities.

    Both directions are asked, and other known answers are left out. Ties count as the mean over all orders
    (realistic), and with the right answer first (optimistic) or last (pessimistic) of those that tie.
    """
    from ..pipeline.program import load_program

    program = load_program(model)
    parts = load_split(data, program.seed, program=program)
    with progress("Ranking", 2 * len(getattr(parts, split)), quiet=as_json) as bar:
        whole, relations = program.evaluate_per_relation(parts, split, engine=engine, on_done=bar.advance)
    if as_json:
        by_relation = {name: each.as_dict() for name, each in relations.items()}
        print_json(whole.as_dict() | ({"relations": by_relation} if per_relation else {}))
        return
    console.print(measures_table({split: whole.as_dict()}))
    if per_relation:
        console.print()
        console.print(relations_table(relations))


def evaluate_parts(
    program: "Program", split: "Split", parts: "Sequence[Part]", engine: str, quiet: bool
) -> dict[str, dict[str, Any]]:
    """Return the measures of parts, with a progress bar."""
    with progress("Ranking", 2 * sum(len(getattr(split, part)) for part in parts), quiet=quiet) as bar:
        return {
            part: program.evaluate(split, part, engine=engine, on_done=bar.advance).as_dict()
            for part in parts
        }

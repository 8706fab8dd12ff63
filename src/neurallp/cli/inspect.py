"""`rules` and `evaluate`: what a model says, and how right it is."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import Part
from .completion import complete_relation
from .options import Data, Engine, Json, Model, Source, load_known, load_split
from .output import console, log, measures_table, print_json, relations_table, rules_table, watched

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import Answering


def rules(
    model: Model,
    query: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_relation, help="Only this relation's rules (~name: its inverse)."
        ),
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Rules for each query, at most.")] = 10,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="As a share of the query's best rule.")
    ] = 0.01,
    max_length: Annotated[int | None, typer.Option(min=0, help="Longest body.")] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(autocompletion=complete_relation, help="Relations a body may use (repeat)."),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option(autocompletion=complete_relation, help="Relations a body may not use (repeat)."),
    ] = None,
    data: Annotated[
        Path | None, typer.Option(metavar="DATA", help="Count support and measured confidence on this data.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the rules of MODEL, the most confident or weighty first.

    The share is that confidence or weight divided by that of the query's best rule. With --data, support
    counts the facts that a rule predicts, and the measured confidence is their share of all it predicts.
    """
    from ..pipeline.program import load_model

    kb = None if data is None else load_known(data)
    program = load_model(model)
    with log.status("Counting what the rules say" if kb else "Reading the rules"):
        found = program.rules(
            query,
            limit=limit,
            min_confidence=min_confidence,
            max_length=max_length,
            allow=allow,
            deny=deny or (),
            kb=kb,
        )
    if as_json:
        print_json([rule.as_dict() for rule in found])
    elif found:
        console.print(rules_table(found))
    else:
        console.print("No rule passes. Lower --min-confidence, or allow more.")


def evaluate(
    model: Source,
    data: Data,
    split: Annotated[Part, typer.Option(help="The part to rank.")] = "test",
    per_relation: Annotated[
        bool, typer.Option("--per-relation", help="Also each relation by itself.")
    ] = False,
    engine: Engine = "auto",
    as_json: Json = False,
) -> None:
    """Rank the right answers of a part of DATA among all entities.

    Both directions are asked, and other known answers are left out. Entities whose scores tie are ranked
    in the mean over all orders (realistic), and with the right answer first or last of them.
    """
    from ..pipeline.program import load_program

    program = load_program(model)
    parts = load_split(data, program.seed)
    with watched("Ranking", 2 * len(getattr(parts, split)), as_json) as advance:
        whole, relations = program.evaluate_per_relation(parts, split, engine=engine, on_done=advance)
    if as_json:
        by_relation = {name: each.as_dict() for name, each in relations.items()}
        print_json(whole.as_dict() | ({"relations": by_relation} if per_relation else {}))
        return
    console.print(measures_table({split: whole.as_dict()}))
    if per_relation:
        console.print()
        console.print(relations_table(relations))


def judge_watched(
    program: "Answering", split: "Split", parts: "Sequence[Part]", engine: str, quiet: bool
) -> dict[str, dict[str, Any]]:
    """Return the measures of parts, ranked under a progress bar."""
    with watched("Ranking", 2 * sum(len(getattr(split, part)) for part in parts), quiet) as advance:
        return {
            part: program.evaluate(split, part, engine=engine, on_done=advance).as_dict() for part in parts
        }


def held_out(split: "Split") -> "list[Part]":
    """Return the parts that are there to be ranked."""
    parts: tuple[Part, ...] = "valid", "test"
    return [part for part in parts if len(getattr(split, part))]

"""`rules`: the rules of a model."""

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_relation
from .options import Json, Model, existing_data, load_known
from .output import console, log, print_json, rules_table


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
        float, typer.Option(min=0, max=1, help="As a fraction of the query's best rule.")
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
        Path | None,
        typer.Option(
            metavar="DATA", callback=existing_data, help="Count support and measured confidence on this data."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Print the rules of MODEL, those of greatest confidence or weight first.

    `normalized` is the confidence or weight divided by that of the query's best rule. With --data, support
    counts the facts that a rule predicts, and the measured confidence divides it by all its predictions.
    """
    from ..pipeline.program import load_model

    kb = None if data is None else load_known(data)
    program = load_model(model)
    with log.status("Counting support" if kb else "Reading the rules"):
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

"""`describe`: what data looks like before learning, or how a model was learned."""

import warnings
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .options import Json, existing_data, load_all
from .output import console, plain_table, print_json, print_line, shown_name
from .plan_lines import describe_plan

if TYPE_CHECKING:
    from rich.table import Table

    from ..graph.statistics import Statistics

#: Relations that are printed; the page and JSON have all.
NUM_SHOWN = 30


def describe(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", callback=existing_data, help="A file or a folder of triples, or a model folder."
        ),
    ],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write a web page.")] = None,
    as_json: Json = False,
) -> None:
    """Print what DATA looks like, and what to expect of learning.

    Degrees, functional, symmetric, transitive, inverse and equal relations, duplicates, numbers, and what
    may be wrong in the files. Of a model folder, print its plan: settings and trials.
    """
    from ..io.models.store import holds_model

    if not holds_model(data):
        _describe_data(data, html, as_json)
    elif html is not None:
        raise ConfigError(f"{data} is a model; --html is for data.")
    else:
        _describe_model(data, as_json)


def _describe_model(model: Path, as_json: bool) -> None:
    from ..pipeline.program import load_model

    plan = load_model(model).plan
    print_json(asdict(plan)) if as_json else print_line(describe_plan(plan))


def _describe_data(data: Path, html: Path | None, as_json: bool) -> None:
    from ..graph.statistics import describe_facts
    from ..io.description import render_page
    from ..io.files import atomic_write

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kb = load_all(data)
    notes = [str(each.message) for each in caught]
    found = describe_facts(kb)
    if html is not None:
        atomic_write(html, render_page(str(data), found, notes))
    if as_json:
        content: dict[str, Any] = {"data": str(data), **found.as_dict(), "notes": notes}
        print_json(content)
        return
    _show(found, notes)


def _show(found: "Statistics", notes: list[str]) -> None:
    for line in (*found.summary, ""):
        print_line(line)
    console.print(_relations_table(found))
    if len(found.relations) > NUM_SHOWN:
        print_line(f"… and {len(found.relations) - NUM_SHOWN:,} more relations; --json and --html have all.")
    print_line("\nWhat to expect:")
    for line in (*notes, *found.expectations):
        print_line(f"- {line}")


def _relations_table(found: "Statistics") -> "Table":
    table = plain_table("relation", numbers=("facts", "heads", "tails", "tails/head", "heads/tail"))
    table.add_column("")
    for each in found.relations[:NUM_SHOWN]:
        counts = (f"{number:,}" for number in (each.num_facts, each.num_heads, each.num_tails))
        means = (f"{each.tails_per_head:.1f}", f"{each.heads_per_tail:.1f}")
        table.add_row(shown_name(each.name), *counts, *means, ", ".join(each.kinds))
    return table

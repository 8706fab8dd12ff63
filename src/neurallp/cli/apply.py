"""`apply`: the new facts that weighted rules derive from all facts, by DuckDB or Spark."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from .options import Data, Json, LeastProbability, MaxAnswers, Predicted, Source, WithKnown
from .output import console, markup, print_json, progress

if TYPE_CHECKING:
    from ..graph.packed import PackedKnowledgeBase
    from ..reasoning.calibration import Calibration
    from ..scale.estimate import Cost
    from ..weighting.weighted_rules import WeightedRules

#: Rules that a dry run lists, the costliest first.
MAX_SHOWN = 20


def apply(
    model: Source,
    data: Data,
    out: Annotated[
        Path, typer.Option(help="The folder for the predictions, a Parquet file for each relation.")
    ],
    engine: Annotated[Literal["duckdb", "spark"], typer.Option(help="What runs the queries.")] = "duckdb",
    spark: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Spark's master, or sc://host for Spark Connect.")
    ] = "local[*]",
    relation: Predicted = None,
    k: MaxAnswers = 10,
    known: WithKnown = False,
    min_probability: LeastProbability = 0.0,
    max_rows: Annotated[
        int | None, typer.Option(min=0, help="Leave out rules whose joins yield more rows than this.")
    ] = None,
    memory: Annotated[
        str, typer.Option(help="Memory that is used before parts are written to disk.")
    ] = "4GB",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the time and space of each rule.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Derive new facts from all of DATA with weighted rules.

    The answers are those of `predict`, computed by SQL queries that need not fit into memory. A run that was
    stopped is continued by the same command. summary.json lists what was left out.
    """
    from ..scale.apply import Application, Options
    from ..scale.engines import open_engine
    from ..scale.queries import Wanted

    weighted, calibration = _rules_of(model, min_probability)
    queries = tuple(map(weighted.relations.operator_id, relation or weighted.relations))
    options = Options(queries, Wanted(k, known, min_probability), max_rows)
    application = Application(weighted, _packed(data, out, memory), calibration, out, options)
    costs = application.costs()
    if dry_run:
        _show(costs, as_json)
        return
    with progress("Applying", len(costs), quiet=as_json) as bar:
        summary = application.run(partial(open_engine, engine, memory=memory, address=spark), bar.advance)
    if as_json:
        print_json({"out": str(out), **vars(summary)})
        return
    num_rows = sum(each["rows"] for each in summary.files.values())
    left = f" {len(summary.left_out)} rules were left out: see summary.json." if summary.left_out else ""
    console.print(markup(f"{num_rows:,} answers in {out}.{left}"), soft_wrap=True)


def _rules_of(model: Path, min_probability: float) -> "tuple[WeightedRules, Calibration | None]":
    """Return the weighted rules of a model and its calibration."""
    from ..errors import ModelError
    from ..pipeline.program import LearnedProgram, load_program

    program = load_program(model)
    if not isinstance(program, LearnedProgram) or program.weighted_rules is None:
        raise ModelError(
            f"{model} has no weighted rules. Make some with `neurallp weigh` or `neurallp learn`."
        )
    if program.numbers is not None:
        raise ModelError(
            f"{model} has ranges in place of numbers, which `apply` does not make. Use `neurallp predict`."
        )
    if min_probability and program.calibration is None:
        raise ModelError(f"{model} is not calibrated. Run `neurallp calibrate {model} DATA` first.")
    return program.weighted_rules, program.calibration


def _packed(data: Path, out: Path, memory: str) -> "PackedKnowledgeBase":
    """Return the facts of a packed folder; other data is packed into the folder of the results first."""
    from ..io.triples.packed import is_packed, open_packed, pack

    if not is_packed(data):
        folder = out / ".packed"
        if not is_packed(folder):
            pack(data, folder, memory=memory)
        data = folder
    return open_packed(data)


def _show(costs: "list[Cost]", as_json: bool) -> None:
    """Print what the rules take, the costliest first."""
    from ..scale.apply import EXPLODING, describe

    ordered = sorted(costs, key=lambda cost: -cost.rows)
    if as_json:
        print_json([describe(cost) for cost in ordered])
        return
    for cost in ordered[:MAX_SHOWN]:
        mark = "  too many rows: leave it out with --max-rows" if cost.rows > EXPLODING else ""
        size = f"{cost.rows:>15,} rows {cost.num_bytes / 1e9:>9,.2f} GB {cost.minutes:>8,.1f} CPU min"
        console.print(markup(f"{size}  {cost.text}{mark}"), soft_wrap=True)
    rows, minutes = sum(cost.rows for cost in costs), sum(cost.minutes for cost in costs)
    console.print(f"{len(costs):,} rules: {rows:,} rows, {minutes:,.1f} CPU minutes (estimated).")

"""From outcomes to tables: published figures, ours over the seeds, and what ties may hide."""

from collections.abc import Mapping, Sequence
from typing import Any

from .cells import Cell, Outcome, Plan, Results
from .tables import Figure, Table


def tabulate(plan: Plan, results: Results) -> Table:
    """Return the table of a plan: published figures, ours over the seeds, those with ties in our favour."""
    rows = [_row(plan, cell, results) for cell in plan.cells]
    columns = dict.fromkeys(name for row in rows for name in row)
    return Table(plan.title, _in_order(plan, columns), rows, plan.notes + _reasons(plan, results))


def _row(plan: Plan, cell: Cell, results: Results) -> dict[str, Any]:
    outcomes = results.of(cell)
    row: dict[str, Any] = dict(cell.labels)
    for measure in plan.measures:
        if measure in cell.published:
            row[f"{measure}, published"] = cell.published[measure]
        row |= _figures(measure, outcomes)
    if not outcomes and cell.measure is not None:
        row[plan.measures[0]] = "not measured"
    if outcomes:
        row["seconds"] = round(max(outcome["seconds"] for outcome in outcomes))
    return row


def _figures(measure: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the columns of one measure: realistic, and optimistic where that differs at all."""
    columns: dict[str, Any] = {}
    bright: list[Mapping[str, float]] = [outcome.get("optimistic", {}) for outcome in outcomes]
    for name, found in ((measure, outcomes), (f"{measure}, optimistic", bright)):
        values = tuple(outcome[measure] for outcome in found if outcome.get(measure) is not None)
        if values:
            columns[name] = Figure(values) if isinstance(values[0], float) else values[0]
    return columns


def _in_order(plan: Plan, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Return labels, then each measure's columns together, then the rest."""
    measured = [
        name
        for measure in plan.measures
        for name in (f"{measure}, published", measure, f"{measure}, optimistic")
        if name in columns
    ]
    labels = dict.fromkeys(name for cell in plan.cells for name in cell.labels)
    rest = [name for name in columns if name not in labels and name not in measured]
    return (*labels, *measured, *rest)


def _reasons(plan: Plan, results: Results) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for cell in plan.cells:
        if (why := results.why_not(cell)) is not None:
            reasons.setdefault(why, []).append(", ".join(cell.labels.values()))
    return tuple(f"Not measured: {'; '.join(which)}. {why}" for why, which in reasons.items())

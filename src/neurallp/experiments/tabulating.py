"""From outcomes to tables: published figures, and ours over the seeds with realistic and optimistic ties."""

from collections.abc import Mapping, Sequence
from typing import Any

from .specification import Outcome, Results, TableRow, TableSpec
from .tables import Figure, Table


def tabulate(table: TableSpec, results: Results) -> Table:
    """Return a table with its figures: the published ones, and ours over the seeds."""
    rows = [_fields(table, row, results) for row in table.rows]
    columns = dict.fromkeys(name for row in rows for name in row)
    return Table(table.title, _in_order(table, columns), rows, table.notes + _reasons(table, results))


def _fields(table: TableSpec, row: TableRow, results: Results) -> dict[str, Any]:
    """Return the fields of a row: labels, figures and seconds."""
    outcomes = results.of(row)
    fields: dict[str, Any] = dict(row.labels)
    for measure in table.measures:
        if measure in row.published:
            fields[f"{measure}, published"] = row.published[measure]
        fields |= _figures(measure, outcomes)
    if not outcomes and row.measure is not None:
        fields[table.measures[0]] = "not measured"
    if outcomes:
        fields["seconds"] = round(max(outcome["seconds"] for outcome in outcomes))
    return fields


def _figures(measure: str, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return the columns of one measure: realistic, and optimistic where it was computed."""
    columns: dict[str, Any] = {}
    optimistic: list[Mapping[str, float]] = [outcome.get("optimistic", {}) for outcome in outcomes]
    for name, found in ((measure, outcomes), (f"{measure}, optimistic", optimistic)):
        values = tuple(outcome[measure] for outcome in found if outcome.get(measure) is not None)
        if values:
            columns[name] = Figure(values) if isinstance(values[0], float) else values[0]
    return columns


def _in_order(table: TableSpec, columns: Mapping[str, Any]) -> tuple[str, ...]:
    """Return labels, then each measure's columns together, then the rest."""
    measured = [
        name
        for measure in table.measures
        for name in (f"{measure}, published", measure, f"{measure}, optimistic")
        if name in columns
    ]
    labels = dict.fromkeys(name for row in table.rows for name in row.labels)
    rest = [name for name in columns if name not in labels and name not in measured]
    return (*labels, *measured, *rest)


def _reasons(table: TableSpec, results: Results) -> tuple[str, ...]:
    reasons: dict[str, list[str]] = {}
    for row in table.rows:
        if (why := results.why_not(row)) is not None:
            reasons.setdefault(why, []).append(", ".join(row.labels.values()))
    return tuple(f"Not measured: {'; '.join(which)}. {why}" for why, which in reasons.items())

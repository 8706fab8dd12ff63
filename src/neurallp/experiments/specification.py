"""What an experiment is made of: tables, whose rows are measured for every seed."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from .tables import Table

#: The result of one run as JSON: figures by measure, those with optimistic ties under `optimistic`,
#: and whatever else tables and pictures are made of.
Outcome = Mapping[str, Any]

#: The key of the reason why an outcome has no figures.
FAILED = "failed"


@dataclass(frozen=True)
class TableRow:
    """One row of a table: its labels, the published figures, and the function that measures ours.

    `measure(seed=…, **arguments)` may run in another process: it is a function of a module, its
    arguments are plain JSON. A row without it is shown as published.
    """

    labels: Mapping[str, str]
    published: Mapping[str, float | str] = field(default_factory=dict)
    measure: Callable[..., Outcome] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A file name for the row's outcomes: equal for equal measurements, in whatever table.

        The device is left out: the same row may be measured on another one.
        """
        work = {key: value for key, value in self.arguments.items() if key != "device"}
        what = getattr(self.measure, "__qualname__", ""), work
        digest = sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]
        words = re.sub(r"[^a-z0-9]+", "-", " ".join(self.labels.values()).lower()).strip("-")
        return f"{words}-{digest}"


@dataclass(frozen=True)
class TableSpec:
    """A table before it is measured: its rows, and the measures that become columns."""

    title: str
    measures: tuple[str, ...]
    rows: tuple[TableRow, ...]
    notes: tuple[str, ...] = ()


class Results:
    """The outcomes of each row by seed."""

    def __init__(self) -> None:
        self._outcomes: dict[str, dict[int, Outcome]] = {}

    def add(self, row: TableRow, seed: int, outcome: Outcome) -> None:
        """Keep the outcome of a row for a seed."""
        self._outcomes.setdefault(row.name, {})[seed] = outcome

    def of(self, row: TableRow) -> list[Outcome]:
        """Return the outcomes that have figures, in order of their seeds."""
        found = self._outcomes.get(row.name, {})
        return [found[seed] for seed in sorted(found) if FAILED not in found[seed]]

    def why_not(self, row: TableRow) -> str | None:
        """Return the reason why a row that was tried has no figures."""
        reasons = [found.get(FAILED) for found in self._outcomes.get(row.name, {}).values()]
        return next(filter(None, reasons), None)


def _no_tables(results: Results) -> Sequence[Table]:
    return ()


def _no_pictures(results: Results, out: Path) -> None:
    return None


@dataclass(frozen=True)
class Experiment:
    """Tables that are measured, tables and pictures made of other parts of the outcomes."""

    tables: tuple[TableSpec, ...]
    more_tables: Callable[[Results], Iterable[Table]] = _no_tables
    draw: Callable[[Results, Path], None] = _no_pictures

    def rows(self) -> list[TableRow]:
        """Return the rows to measure, each once though it may be in several tables."""
        rows = (row for table in self.tables for row in table.rows if row.measure is not None)
        return list({row.name: row for row in rows}.values())

"""What an experiment is made of: plans of tables, whose lines are cells, each measured for every seed."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from .tables import Table

#: What one run found: figures by measure, under `optimistic` those with ties in the answer's favour, and
#: whatever else tables and pictures are made of. Plain JSON.
Outcome = Mapping[str, Any]

#: Under this name an outcome says why there are no figures.
FAILED = "failed"


@dataclass(frozen=True)
class Cell:
    """One line of a table: its names, the published figures, and what measures ours.

    `measure(seed=…, **arguments)` may run in another process: it is a function of a module, its
    arguments are plain JSON. A cell without it is shown as published.
    """

    labels: Mapping[str, str]
    published: Mapping[str, float | str] = field(default_factory=dict)
    measure: Callable[..., Outcome] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """A file name that is the cell's own: equal for equal work, whatever table it stands in.

        The device is left out: where a cell is measured does not make it another one.
        """
        work = {key: value for key, value in self.arguments.items() if key != "device"}
        what = getattr(self.measure, "__qualname__", ""), work
        digest = sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:8]
        words = re.sub(r"[^a-z0-9]+", "-", " ".join(self.labels.values()).lower()).strip("-")
        return f"{words}-{digest}"


@dataclass(frozen=True)
class Plan:
    """A table to be: cells, and the measures that get columns."""

    title: str
    measures: tuple[str, ...]
    cells: tuple[Cell, ...]
    notes: tuple[str, ...] = ()


class Results:
    """What was found so far: the outcomes of each cell by seed."""

    def __init__(self) -> None:
        self._outcomes: dict[str, dict[int, Outcome]] = {}

    def add(self, cell: Cell, seed: int, outcome: Outcome) -> None:
        """Keep what a cell gave for a seed."""
        self._outcomes.setdefault(cell.name, {})[seed] = outcome

    def of(self, cell: Cell) -> list[Outcome]:
        """Return the outcomes that have figures, in order of their seeds."""
        found = self._outcomes.get(cell.name, {})
        return [found[seed] for seed in sorted(found) if FAILED not in found[seed]]

    def why_not(self, cell: Cell) -> str | None:
        """Return why a cell has no figures, where it was tried."""
        reasons = [found.get(FAILED) for found in self._outcomes.get(cell.name, {}).values()]
        return next(filter(None, reasons), None)


def _no_tables(results: Results) -> Sequence[Table]:
    return ()


def _no_pictures(results: Results, out: Path) -> None:
    return None


@dataclass(frozen=True)
class Experiment:
    """Tables that are measured, tables made of what the cells kept besides, and pictures of it."""

    plans: tuple[Plan, ...]
    more_tables: Callable[[Results], Iterable[Table]] = _no_tables
    draw: Callable[[Results, Path], None] = _no_pictures

    def cells(self) -> list[Cell]:
        """Return what is to be measured, each cell once though it may stand in several tables."""
        cells = (cell for plan in self.plans for cell in plan.cells if cell.measure is not None)
        return list({cell.name: cell for cell in cells}.values())

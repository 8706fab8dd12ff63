"""Experiments: one module for each section of the paper, with the published numbers beside ours."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..errors import DataError

#: Names on the command line, and the modules whose `tables(seeds, quick, out)` run them.
EXPERIMENTS = {"questions": "neurallp.experiments.questions"}


@dataclass(frozen=True)
class Table:
    """What an experiment found: rows of cells under columns, and what a reader must know."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        return asdict(self)

    def as_markdown(self) -> str:
        """Return the table as Markdown, the notes below."""
        lines = [self.columns, ["---"] * len(self.columns)]
        lines += [[show(row.get(column)) for column in self.columns] for row in self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"## {self.title}", body, *self.notes]) + "\n"


def show(cell: Any) -> str:
    """Return a cell as text: three decimals for shares, nothing for nothing."""
    if cell is None:
        return ""
    return f"{cell:.3f}" if isinstance(cell, float) else str(cell)


def data_folder() -> Path:
    """Return where the public sets lie: what NEURALLP_DATA names."""
    folder = os.environ.get("NEURALLP_DATA")
    if not folder or not Path(folder).is_dir():
        raise DataError(f"Set NEURALLP_DATA to the folder of the public data sets; it is {folder!r}.")
    return Path(folder)

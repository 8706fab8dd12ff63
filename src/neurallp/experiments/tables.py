"""Tables: what was found, beside what was published, as Markdown and JSON."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean, stdev
from typing import Any


@dataclass(frozen=True)
class Figure:
    """A measure over seeds: mean and deviation."""

    by_seed: tuple[float, ...]

    @property
    def mean(self) -> float:
        return fmean(self.by_seed)

    @property
    def deviation(self) -> float | None:
        """The deviation between runs, as far as they are a sample; None for one run."""
        return stdev(self.by_seed) if len(self.by_seed) > 1 else None

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:.3f}"
        return f"{self.mean:.3f}{spread}"

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {"mean": self.mean, "deviation": self.deviation, "by_seed": list(self.by_seed)}


@dataclass(frozen=True)
class Table:
    """What an experiment found: rows under columns, and what a reader must know."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Mapping[str, Any]]
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        rows = [{name: _plain(value) for name, value in row.items()} for row in self.rows]
        return {**asdict(self), "rows": rows}

    def as_markdown(self) -> str:
        """Return the table as Markdown, the notes below."""
        lines = [self.columns, ["---"] * len(self.columns)]
        lines += [[show(row.get(column)) for column in self.columns] for row in self.rows]
        body = "\n".join("| " + " | ".join(line) + " |" for line in lines)
        return "\n\n".join([f"## {self.title}", body, *self.notes]) + "\n"


def _plain(value: Any) -> Any:
    return value.as_dict() if isinstance(value, Figure) else value


def show(value: Any) -> str:
    """Return a value as text: three decimals for shares, nothing for nothing."""
    if value is None:
        return ""
    return f"{value:.3f}" if isinstance(value, float) else str(value)

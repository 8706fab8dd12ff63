"""Output of every benchmark: a table, or one JSON object."""

import json
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from rich.console import Console
from rich.table import Table


def report(rows: Sequence[Mapping[str, Any]], as_json: bool, **summary: Any) -> None:
    """Print the rows and the summary of a benchmark."""
    if as_json:
        print(json.dumps({**summary, "rows": list(rows), "machine": machine()}, indent=2))
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(show(value) for value in row.values()))
    console = Console()
    console.print(table)
    console.print(", ".join(f"{name} {show(value)}" for name, value in {**summary, **machine()}.items()))


def show(value: Any) -> str:
    """Return a number with three significant digits."""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def machine() -> dict[str, Any]:
    """Return the machine: cores, device and version of torch."""
    import os

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor() or "cpu"
    return {"cores": len(os.sched_getaffinity(0)), "device": device, "torch": torch.__version__}

"""`experiment`: the paper's tables and figures, ours beside the published ones."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .arguments import Json
from .printing import console, print_json, say

if TYPE_CHECKING:
    from ..experiments import Table


def experiment(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which: questions.")],
    seeds: Annotated[int, typer.Option(min=1, help="Runs; the table gives their mean.")] = 3,
    quick: Annotated[
        bool, typer.Option("--quick", help="On a part of the data, to see that it works.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Also write table and pictures into this folder.")] = None,
    as_json: Json = False,
) -> None:
    """Run an experiment of the paper on the data in NEURALLP_DATA."""
    from ..errors import require_choice
    from ..experiments import EXPERIMENTS

    require_choice("NAME", name, list(EXPERIMENTS))
    table = None
    for table in import_module(EXPERIMENTS[name]).tables(seeds, quick, out):
        say(f"{len(table.rows)} done.")
        if out is not None:
            _write(table, name, out)
    if table is None:
        return
    if as_json:
        print_json(table.as_dict())
    else:
        console.print(escape(table.as_markdown()), soft_wrap=True)


def _write(table: "Table", name: str, out: Path) -> None:
    import json

    from ..formats.files import atomic_write
    from ..formats.folders import make_folder

    make_folder(out)
    atomic_write(out / f"{name}.md", table.as_markdown())
    atomic_write(out / f"{name}.json", json.dumps(table.as_dict(), indent=2, ensure_ascii=False) + "\n")

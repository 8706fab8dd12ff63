"""`data list`, `data get` and `data verify`: the public data sets."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import Json
from .output import console, markup, plain_table, print_json, print_line, progress, say

if TYPE_CHECKING:
    from ..datasets.registry import PublicSet

data = typer.Typer(
    help="The public data sets: list, get, verify.", no_args_is_help=True, rich_markup_mode=None
)

Names = Annotated[
    list[str], typer.Argument(metavar="NAME...", help="Which sets; `grail` means all of its sets.")
]


@data.command("list")
def list_sets(as_json: Json = False) -> None:
    """List the sets, their licences, and whether they are downloaded."""
    from ..datasets.registry import SETS, data_folder

    folder = data_folder()
    rows = [
        {
            "name": public.name,
            "title": public.title,
            "licence": public.licence,
            "home": public.home,
            "addresses": [address for source in public.sources for address in source.addresses],
            "is_here": (folder / public.name).is_dir(),
        }
        for public in SETS.values()
    ]
    if as_json:
        print_json({"folder": str(folder), "sets": rows})
        return
    table = plain_table("name", "here", "licence", "what")
    for row in rows:
        cells = (row["name"], "yes" if row["is_here"] else "", row["licence"], row["title"])
        table.add_row(*(markup(str(cell)) for cell in cells))
    console.print(table)
    console.print(f"\nIn {markup(str(folder))} (NEURALLP_DATA names another folder).", soft_wrap=True)


@data.command()
def get(names: Names, as_json: Json = False) -> None:
    """Download sets and check them; a download that was cut continues with the same command."""
    from ..datasets.download import fetch
    from ..datasets.registry import data_folder

    folders = {}
    for public in _wanted(names):
        with progress(public.name, quiet=as_json, unit="bytes") as bar:
            folders[public.name] = str(fetch(public, data_folder(), bar.set))
        if not as_json:
            say(f"{public.licence}. {public.home}")
            print_line(folders[public.name])
    if as_json:
        print_json(folders)


@data.command()
def verify(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME...]", help="Which sets.")] = None,
    as_json: Json = False,
) -> None:
    """Compare downloaded sets with their checksums; exit with 1 where they differ."""
    from ..datasets import registry

    folder = registry.data_folder()
    here = [name for name in registry.SETS if (folder / name).is_dir()]
    found = {each.name: registry.verify(each, folder) for each in _wanted(names or here)}
    if as_json:
        print_json(found)
    else:
        table = plain_table("file", "content")
        for name, judged in found.items():
            for file, judgement in judged.items():
                table.add_row(markup(f"{name}/{file}"), judgement)
        console.print(table)
    if any(judgement in ("wrong", "missing") for judged in found.values() for judgement in judged.values()):
        raise typer.Exit(1)


def _wanted(names: list[str]) -> "list[PublicSet]":
    from ..datasets.registry import find_sets

    return [public for name in names for public in find_sets(name)]

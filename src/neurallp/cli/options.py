"""What several commands are given, and how it is read."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase, Split


class Preset(StrEnum):
    """Settings that go together."""

    default = "default"
    paper = "paper"


class EngineName(StrEnum):
    """What walks the graph."""

    auto = "auto"
    reference = "reference"
    cpu = "cpu"
    cuda = "cuda"


class PartName(StrEnum):
    """A part of a split."""

    valid = "valid"
    test = "test"


Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="A file of triples, or a folder with train [facts, valid, test]."),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder that `neurallp learn` wrote.")]
Source = Annotated[
    Path,
    typer.Argument(metavar="MODEL", help="A model folder, or a file of rules."),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON and nothing else.")]
Engine = Annotated[EngineName, typer.Option(help="What walks the graph.")]
Device = Annotated[str, typer.Option(help="cpu, cuda, or auto.")]
Resume = Annotated[bool, typer.Option("--resume", help="Go on with the run in --out.")]


def choose_device(name: str, engine: EngineName = EngineName.auto) -> str:
    """Return the device to learn on; `auto` is a GPU where there is one that the engine can use."""
    if name != "auto":
        return name
    if engine == EngineName.cpu:
        return "cpu"
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def load_split(path: Path, seed: int) -> "Split":
    """Return the split of a folder, or one made from a file by `seed`."""
    from ..graph.knowledge_base import Split, split_triples
    from ..io.triples import load

    data = load(path)
    return data if isinstance(data, Split) else split_triples(data, seed)


def load_known(path: Path) -> "KnowledgeBase":
    """Return all facts that may be walked on."""
    from ..graph.knowledge_base import Split
    from ..io.triples import load

    data = load(path)
    return data.known if isinstance(data, Split) else data

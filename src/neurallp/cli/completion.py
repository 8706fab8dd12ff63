"""Names for the shell to complete: of the model and the data that stand before them on the line.

Nothing here imports torch, and nothing is said when a name cannot be looked up: the command itself will.
"""

import json
import os
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

import typer

from ..errors import NeuralLPError

#: The file of a model's relations, as in `io.models.store`; importing that would take longer.
RELATIONS = "relations.json"


def complete_relation(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the relations that go on from what is typed; after ~ their inverses."""
    from ..graph.vocabulary import INVERSE_MARK

    mark = INVERSE_MARK if incomplete.startswith(INVERSE_MARK) else ""
    return _matching((mark + name for name in _with_local(_relations(ctx))), incomplete)


def complete_entity(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the entities that go on from what is typed."""
    return _matching(
        _with_local(name for head, _, tail in _triples(ctx) for name in (head, tail)), incomplete
    )


def _with_local(names: Iterable[str]) -> Iterator[str]:
    """Yield names, and the shorter ones by which IRIs may be asked for."""
    from ..graph.iris import unambiguous

    known = dict.fromkeys(names)
    yield from known
    yield from unambiguous(known).values()


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    try:
        found = sorted({name for name in names if name.startswith(incomplete) and name.isprintable()})
    except (NeuralLPError, OSError, ValueError):
        return []
    return list(map(_escape, found)) if _is_open_in_bash() else found


def _relations(ctx: typer.Context) -> Iterator[str]:
    """Yield the relations of a model folder, or else those of the data."""
    from ..io.files import read_bytes

    model = _given(ctx, "model")
    if model is not None and (path := model / RELATIONS).is_file():
        yield from json.loads(read_bytes(path))
    else:
        yield from (relation for _, relation, _ in _triples(ctx))


def _triples(ctx: typer.Context) -> Iterator[tuple[str, str, str]]:
    from ..io.triples import find_parts, read_file

    if (data := _given(ctx, "data")) is not None:
        for file in find_parts(data).values():
            yield from read_file(file).triples


def _given(ctx: typer.Context, name: str) -> Path | None:
    """Return a path that stands on the line.

    Where the line ends with an option that lacks its value, the arguments before it are left unnamed.
    """
    unnamed = zip(
        (param.name for param in ctx.command.params if param.param_type_name == "argument"),
        ctx.args,
        strict=False,
    )
    found = ctx.params.get(name) or dict(unnamed).get(name)
    return Path(found) if found else None


def _is_open_in_bash() -> bool:
    """Return whether bash completes a word that stands in no quotes: there a space would end the name."""
    if os.environ.get("_NEURALLP_COMPLETE") != "complete_bash":
        return False
    try:
        shlex.split(os.environ.get("COMP_WORDS", ""))
    except ValueError:
        return False
    return True


def _escape(name: str) -> str:
    """Return a name with a backslash before whatever means something to a shell."""
    plain = "_-./:=+@%,~"
    return "".join(c if c.isalnum() or c in plain else "\\" + c for c in name)

"""Options that every command has, so that they may follow it: how much is printed, and columns of DATA."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Annotated, Any

import typer

from .output import verbosity

#: The columns of head, relation and tail in DATA; nothing: those that a header names, or the first three.
columns_of_data: ContextVar[tuple[str, ...]] = ContextVar("columns_of_data", default=())

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print results and errors alone.")]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Print each step, with the time.")]
Columns = Annotated[
    str,
    typer.Option(
        metavar="A,B,C",
        show_default="from a header, or 1,2,3",
        help="Columns of head, relation, tail in DATA: names or numbers.",
    ),
]

#: The parameters of commands that are files of triples.
DATA = ("data", "kb", "source")


def with_common_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with the options --quiet, --verbose and, where it reads data, --columns."""
    signature = inspect.signature(command, eval_str=True)
    own = [*signature.parameters.values()]
    options: dict[str, Any] = {"quiet": Quiet, "verbose": Verbose}
    if any(each.name in DATA for each in own):
        options = {"columns": Columns, **options}
    added = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default="" if name == "columns" else False,
            annotation=kind,
        )
        for name, kind in options.items()
    ]

    @wraps(command)
    def run(**given: Any) -> None:
        chosen = {name: given.pop(name) for name in options}
        with _chosen(chosen.get("columns", ""), chosen["quiet"], chosen["verbose"]):
            command(**given)

    named = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    run.__signature__ = signature.replace(parameters=named + added)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in named + added}
    return run


@contextmanager
def _chosen(columns: str, quiet: bool, verbose: bool) -> Iterator[None]:
    """Apply the options while a command runs."""
    places = columns_of_data.set(_parse(columns))
    level = verbosity.set(verbose - quiet)
    try:
        yield
    finally:
        columns_of_data.reset(places)
        verbosity.reset(level)


def _parse(columns: str) -> tuple[str, ...]:
    """Return the columns that were asked for; nothing is imported where there are none."""
    if not columns:
        return ()
    from ..io.triples.layout import parse_columns

    return parse_columns(columns)

"""`serve`: the explorer in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .common import columns_of_data
from .options import Data, Source, existing_question_model, existing_source
from .output import print_line

if TYPE_CHECKING:
    from ..web.explorer import Explorer

Port = Annotated[int, typer.Option(min=0, max=65535, help="The port; 0: any that is free.")]
Host = Annotated[str, typer.Option(help="The address to bind to; 0.0.0.0: all of this machine's.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the browser.")]


def serve(
    model: Source,
    data: Data,
    compare: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            callback=lambda path: path and existing_source(path),
            help="A second model to compare with.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            metavar="MODEL",
            callback=lambda path: path and existing_question_model(path),
            help="A folder of `neurallp qa learn`, for questions in words.",
        ),
    ] = None,
    port: Port = 8000,
    host: Host = "127.0.0.1",
    token: Annotated[
        bool, typer.Option("--token", help="Require a token; always required if others can reach the host.")
    ] = False,
    browser: Browser = True,
) -> None:
    """Explore rules and answers in the browser.

    Rules, answers, proofs, what-if and audits: pages, and JSON at the same addresses. Read-only; Ctrl-C ends
    it.
    """
    from ..errors import import_extra

    import_extra("fastapi", "web")
    from ..io.models.folders import is_question_model
    from ..io.triples import load
    from ..pipeline.program import RuleProgram, load_program
    from ..web.explorer import open_explorer

    questions = model if is_question_model(model) else questions
    sources = [model, *([compare] if compare is not None else [])]
    programs = [RuleProgram(()) if each == questions else load_program(each) for each in sources]
    has_numbers = any(program.numbers is not None for program in programs)
    facts = load(data, columns_of_data.get(), numbers=has_numbers)
    others = [open_explorer(*each, facts) for each in zip(sources[1:], programs[1:], strict=True)]
    explorer = open_explorer(model, programs[0], facts, next(iter(others), None), questions)
    start(explorer, port=port, host=host, token=token, browser=browser)


def start(explorer: "Explorer", *, port: int, host: str, token: bool, browser: bool) -> None:
    """Serve an explorer until Ctrl-C, and say where."""
    from ..web.launch import launch, prepare

    server = prepare(explorer, host, port, with_token=token)
    print_line(f"Exploring {explorer.name} at {server.address} (Ctrl-C ends it).")
    launch(server, browser=browser)

"""The command `neurallp`: its verbs; printing, progress and exit codes live here and nowhere else."""

import sys
import warnings
from typing import Annotated

import typer

from .. import __version__
from ..errors import NeuralLPError
from .demo import demo
from .exchanging import convert, export, import_rules
from .inspecting import evaluate, rules
from .learning import learn
from .printing import console, say, show_error, show_warning

app = typer.Typer(
    help="Learn weighted logical rules from a knowledge base, answer questions with them, and show why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
for command in (demo, learn, rules, evaluate, export, convert):
    app.command()(command)
app.command("import")(import_rules)


def main() -> None:
    """Run the command; a user's mistake prints its message and exits with 2."""
    warnings.showwarning = show_warning
    try:
        app()
    except NeuralLPError as error:
        if "--debug" in sys.argv:
            raise
        show_error(error)
        sys.exit(2)
    except KeyboardInterrupt:
        say("Stopped.")
        sys.exit(130)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"neurallp {__version__}", highlight=False)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the verb."""

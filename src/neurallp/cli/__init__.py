"""The command `neurallp`: its verbs; printing, progress and exit codes live here and nowhere else."""

import sys
import warnings
from io import TextIOWrapper
from typing import Annotated

import typer

from .. import __version__
from ..errors import NeuralLPError
from .ask import ask, explain, predict, why_not
from .calibrate import calibrate
from .datasets import data
from .demo import demo
from .exchange import convert, export, import_rules
from .experiment import experiment
from .inspect import evaluate, rules
from .learn import learn
from .output import console, show_error, show_warning
from .plot import plot
from .qa import qa
from .weigh import weigh

app = typer.Typer(
    help="Learn weighted logical rules from a knowledge base, answer questions with them, and show why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Plain help: it keeps names whole at 80 columns, and [brackets] as they are.
    rich_markup_mode=None,
)
ANSWERING = (ask, explain, why_not, predict)
VERBS = (demo, learn, weigh, calibrate, rules, *ANSWERING, evaluate, export, convert, experiment)
for command in VERBS:
    app.command()(command)
app.command("import")(import_rules)
app.add_typer(qa, name="qa")
app.add_typer(data, name="data")
app.add_typer(plot, name="plot")


def main() -> None:
    """Run the command; a user's mistake prints its message and exits with 2."""
    warnings.showwarning = show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # not every terminal knows every letter of a name
    # Taken out here, so that it may also stand after the verb.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        app(arguments)
    except NeuralLPError as error:
        if "--debug" in sys.argv:
            raise
        show_error(error)
        sys.exit(2)


def _print_version(wanted: bool) -> None:
    if wanted:
        console.print(f"neurallp {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
) -> None:
    """Options that stand before the verb."""

"""The command `neurallp`: one module for each command; printing, progress and exit codes are only here."""

import os
import sys
import warnings
from importlib import import_module
from io import TextIOWrapper
from typing import Annotated

import typer

from .. import __version__
from .common import with_common_options
from .output import console, show_warning
from .stopping import ending

EPILOG = (
    "Exit codes: 0 done; 1 `data verify` found a difference; 2 an error, with a message; "
    "130 ended by Ctrl-C; 143 by SIGTERM. Completion in your shell: neurallp --install-completion."
)

#: Options of earlier versions, which are still understood.
RENAMED = {"query": "relation"}

app = typer.Typer(
    help="Learn weighted logical rules from a knowledge base, answer questions with them, and show why.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    epilog=EPILOG,
    context_settings={
        "help_option_names": ["--help", "-h"],
        "token_normalize_func": lambda token: RENAMED.get(token, token),
    },
    # Plain help: it keeps names whole at 80 columns, and [brackets] as they are.
    rich_markup_mode=None,
)

#: The commands; each is a function of the same name in a module of the same name.
COMMANDS = (
    "demo",
    "learn",
    "weigh",
    "calibrate",
    "describe",
    "rules",
    "ask",
    "explain",
    "why_not",
    "verify",
    "audit",
    "mcp",
    "serve",
    "predict",
    "pack",
    "apply",
    "evaluate",
    "export",
    "import_rules",
    "convert",
    "experiment",
)
NAMES = {"import_rules": "import"}

#: The commands that have commands of their own.
GROUPS = ("qa", "data", "plot")


def _register() -> None:
    # By import_module and not by `from … import`: that would hide the module behind its function.
    for name in COMMANDS:
        command = getattr(import_module(f".{name}", __name__), name)
        app.command(NAMES.get(name))(with_common_options(command))
    for name in GROUPS:
        group = getattr(import_module(f".{name}", __name__), name)
        for each in group.registered_commands:
            each.callback = with_common_options(each.callback)
        app.add_typer(group, name=name)


_register()


def main() -> None:
    """Run the command; see `stopping` for how it ends."""
    # Numpy's products are small here: threads would cost more time than they save, most on a busy machine.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    warnings.showwarning = show_warning
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal may lack a letter of a name
    # Removed here, so that it may also come after the command.
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    with ending(debug="--debug" in sys.argv):
        app(arguments)


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
    """Options that come before the command."""

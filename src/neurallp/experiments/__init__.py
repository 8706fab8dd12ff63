"""Experiments: one module for each section of the paper, with the published numbers beside ours.

A module gives `experiment(quick, device)`: an `Experiment` made of `TableRow`s (see specification.py).
"""

from importlib import import_module

from ..errors import require_choice
from .specification import Experiment

__all__ = [
    "EXPERIMENTS",
    "Experiment",
    "Outcome",
    "Results",
    "Table",
    "TableRow",
    "TableSpec",
    "find_experiment",
]

#: Names on the command line, which are those of the modules.
EXPERIMENTS = ("srl", "grid", "completion", "inductive", "qa")


def find_experiment(name: str, *, quick: bool = False, device: str = "cpu") -> Experiment:
    """Return the experiment called `name`; `quick` asks for a part of the data, to see that it works."""
    require_choice("NAME", name, EXPERIMENTS)
    found: Experiment = import_module(f".{name}", __name__).experiment(quick, device)
    return found

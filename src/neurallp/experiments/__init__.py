"""Experiments: one module for each section of the paper, with the published numbers beside ours.

A module gives `experiment(quick, device)`: an `Experiment` made of `Cell`s (see cells.py).
"""

from importlib import import_module

from ..errors import require_choice
from .cells import Cell, Experiment, Outcome, Plan, Results
from .tables import Table

__all__ = ["EXPERIMENTS", "Cell", "Experiment", "Outcome", "Plan", "Results", "Table", "find_experiment"]

#: Names on the command line, which are those of the modules.
EXPERIMENTS = ("srl", "grid", "completion", "inductive", "qa")


def find_experiment(name: str, *, quick: bool = False, device: str = "cpu") -> Experiment:
    """Return the experiment called `name`; `quick` asks for a part of the data, to see that it works."""
    require_choice("NAME", name, EXPERIMENTS)
    found: Experiment = import_module(f".{name}", __name__).experiment(quick, device)
    return found

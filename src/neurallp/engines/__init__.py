"""Engines: they apply operators to memories (eqs. 5-8). One protocol, several engines with equal scores.

An engine is a module with `runs_on(device)` and `make(operators, device)`, and its line in `config.ENGINES`.
"""

from importlib import import_module
from typing import Any

from ..config import ENGINE_CHOICES, ENGINES
from ..errors import ConfigError, require_choice
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import Engine, QueryBatch, ScoresWithBackward

__all__ = ["Engine", "Operators", "QueryBatch", "Scores", "ScoresWithBackward", "make_engine"]


def make_engine(name: str, operators: Operators, device: str = "cpu") -> Engine:
    """Return the engine called `name`; `auto` takes the fastest that runs on `device`."""
    require_choice("engine", name, ENGINE_CHOICES)
    module = _fastest(device) if name == "auto" else import_module(ENGINES[name])
    if not module.runs_on(device):
        raise ConfigError(f"The engine {name} cannot run on {device!r}. Use another device, or engine auto.")
    engine: Engine = module.make(operators, device)
    return engine


def _fastest(device: str) -> Any:
    return next(module for module in map(import_module, ENGINES.values()) if module.runs_on(device))

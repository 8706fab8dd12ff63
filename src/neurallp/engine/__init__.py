"""What the operators do to a memory: one protocol, several engines with equal answers."""

from .operators import Operators
from .reference import ReferenceEngine
from .walks import Engine, Scores, Walks

__all__ = ["Engine", "Operators", "ReferenceEngine", "Scores", "Walks", "make_engine"]


def make_engine(name: str, operators: Operators, device: str = "cpu") -> Engine:
    """Return the engine called `name`."""
    return ReferenceEngine(operators, device)

"""What the operators do to a memory: one protocol, several engines with equal answers."""

from importlib.util import find_spec

from ..errors import ConfigError
from ..graph.operators import Operators
from ..graph.scores import Scores
from .base import Engine, QueryBatch, ScoresWithBackward
from .reference import ReferenceEngine

__all__ = [
    "Engine",
    "Operators",
    "QueryBatch",
    "ReferenceEngine",
    "Scores",
    "ScoresWithBackward",
    "make_engine",
]


def make_engine(name: str, operators: Operators, device: str = "cpu") -> Engine:
    """Return the engine called `name`; `auto` takes the fastest that runs on `device`."""
    if name == "auto":
        name = _fastest(device)
    if name == "reference":
        return ReferenceEngine(operators, device)
    if name == "cpu":
        if not device.startswith("cpu"):
            raise ConfigError(f"The cpu engine cannot run on {device!r}. Use cpu, or engine auto.")
        from .cpu import CpuEngine

        return CpuEngine(operators)
    if name == "cuda":
        from .cuda import CudaEngine

        return CudaEngine(operators, device if device.startswith("cuda") else "cuda")
    raise ConfigError(f"Unknown engine {name!r}. There are: auto, reference, cpu, cuda.")


def _fastest(device: str) -> str:
    if device.startswith("cuda"):
        return "cuda" if find_spec("triton") else "reference"
    return "cpu" if find_spec("numba") else "reference"

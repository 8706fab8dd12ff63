"""One training step of every engine side by side, on graphs of several shapes."""

import argparse
from time import perf_counter

import numpy as np
import torch
from graphs import SHAPES, make_operators
from report import report

from neurallp.controller.attention import Attention
from neurallp.engines import make_engine
from neurallp.engines.base import Engine, QueryBatch
from neurallp.graph.operators import Operators
from neurallp.neural.training import one_torch_thread

#: The reference sends a message for each edge and walk; past this many it is left out.
MOST_MESSAGES = 200_000_000


def main() -> None:
    """Time one hop (T = 1) and one training step (T = 2) of each engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--shapes", nargs="+", default=list(SHAPES), choices=list(SHAPES))
    parser.add_argument("--walks", type=int, default=64)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [
        row
        for shape in args.shapes
        for num_steps in (1, 2)
        for row in time_shape(shape, num_steps, args.walks, args.repeat)
    ]
    report(rows, args.json)


def time_shape(shape: str, num_steps: int, num_walks: int, repeat: int) -> list[dict[str, object]]:
    """Return a row for each engine that can take this shape."""
    operators = make_operators(shape)
    case = make_case(operators, num_steps, num_walks)
    engines = ["cpu"]
    if operators.num_edges * num_walks <= MOST_MESSAGES:
        engines.append("reference")
    if torch.cuda.is_available():
        engines.append("cuda")
    seconds = {name: time_step(make_engine(name, operators), *case, repeat) for name in engines}
    return [
        {
            "shape": shape,
            "edges": operators.num_edges,
            "steps": num_steps,
            "engine": name,
            "milliseconds": 1000 * taken,
            "times_cpu": taken / seconds["cpu"],
        }
        for name, taken in seconds.items()
    ]


def make_case(
    operators: Operators, num_steps: int, num_walks: int
) -> tuple[Attention, QueryBatch, np.ndarray]:
    """Return random attention, walks from random edges, and the ends of these as answers."""
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    operator = torch.randn(1, num_walks, num_steps, operators.num_operators).softmax(-1)
    causal = torch.ones(num_steps + 1, num_steps + 1).tril()
    memory = torch.rand(1, num_walks, num_steps + 1, num_steps + 1) * causal
    memory = memory / memory.sum(-1, keepdim=True)
    edges = rng.integers(operators.num_edges, size=num_walks)
    walks = QueryBatch.unmasked(operators.sources[edges], np.arange(num_walks))
    attention = Attention(operator.requires_grad_(), memory.requires_grad_())
    return attention, walks, operators.targets[edges]


def time_step(
    engine: Engine, attention: Attention, walks: QueryBatch, answers: np.ndarray, repeat: int
) -> float:
    """Return the least seconds of scoring the answers with gradients."""
    if type(engine).__name__ == "CudaEngine":
        attention = Attention(*(each.detach().cuda().requires_grad_() for each in attention.pair))
    taken = []
    with one_torch_thread():
        for _ in range(repeat + 1):
            started = perf_counter()
            scores, _total = engine.pair_scores(
                attention, walks, np.arange(len(walks)), answers, normalize=True
            )
            scores.sum().backward()
            if torch.cuda.is_available():
                torch.cuda.synchronize()
            taken.append(perf_counter() - started)
    return min(taken[1:])


if __name__ == "__main__":
    main()

"""Time for a question against the edges it expands, on generated graphs of 10^4 to 10^7 edges.

Linear growth means that the cost depends on the neighbourhood of the source, not on the size of the graph.
"""

import argparse
from pathlib import Path
from time import perf_counter

import numpy as np
from engine import make_case
from graphs import make_facts
from report import report

from neurallp.engines import make_engine
from neurallp.engines.base import Engine
from neurallp.graph.operators import Operators
from neurallp.neural.training import one_torch_thread


def main() -> None:
    """Time walks of several lengths on graphs of several sizes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=[10**4, 10**5, 10**6, 10**7])
    parser.add_argument("--steps", type=int, nargs="+", default=[2, 3, 4])
    parser.add_argument("--walks", type=int, default=64)
    parser.add_argument("--plot", type=Path, help="draw the figure here (PNG or SVG)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [row for size in args.sizes for row in measure_size(size, args.steps, args.walks)]
    slope = fit_slope(rows)
    report(rows, args.json, slope=slope)
    if args.plot:
        draw(rows, slope, args.plot)


def measure_size(num_edges: int, steps: list[int], num_walks: int) -> list[dict[str, float]]:
    """Return a row for each length of walk on a graph with `num_edges` edges, ten for each entity."""
    num_facts = num_edges // 2
    facts = make_facts(max(10, num_facts // 5), 20, num_facts, skew=0.3)
    operators = Operators.of_facts(facts, max(10, num_facts // 5), 20)
    engine = make_engine("cpu", operators)
    return [measure(engine, operators, num_steps, num_walks) for num_steps in steps]


def measure(engine: Engine, operators: Operators, num_steps: int, num_walks: int) -> dict[str, float]:
    """Return expanded edges and microseconds for one question."""
    attention, walks, _ = make_case(operators, num_steps, num_walks)
    with one_torch_thread():
        # Warm up: compilation, buffers of every thread, and pages of memory.
        for _ in range(4):
            engine.scores(attention, walks, normalize=True)
        started = perf_counter()
        engine.scores(attention, walks, normalize=True)
        seconds = perf_counter() - started
    expanded = np.mean([edges_expanded(operators, source, num_steps) for source in walks.sources])
    return {
        "edges": operators.num_edges,
        "steps": num_steps,
        "edges_expanded": float(expanded),
        "microseconds": 1e6 * seconds / num_walks,
        "nanoseconds_per_edge": 1e9 * seconds / num_walks / expanded,
    }


def edges_expanded(operators: Operators, source: int, num_steps: int) -> int:
    """Return the number of edges expanded from `source`: at each step those of all reached entities."""
    reached = np.array([source])
    degree = np.diff(operators.offsets)
    expanded = 0
    for _ in range(num_steps):
        expanded += int(degree[reached].sum())
        ranges = [np.arange(operators.offsets[e], operators.offsets[e + 1]) for e in reached]
        reached = np.union1d(reached, operators.targets[np.concatenate(ranges)])
    return expanded


def fit_slope(rows: list[dict[str, float]]) -> float:
    """Return the slope of log time over log edges, for at least 1,000 edges: 1 is linear."""
    kept = [row for row in rows if row["edges_expanded"] >= 1000]
    x, y = (np.log([row[name] for row in kept]) for name in ("edges_expanded", "microseconds"))
    return float(np.polyfit(x, y, 1)[0])


def draw(rows: list[dict[str, float]], slope: float, path: Path) -> None:
    """Draw time against expanded edges, one marker for each size of graph."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3.5), layout="constrained")
    for edges, mark in zip(sorted({row["edges"] for row in rows}), "os^Dv", strict=False):
        mine = [row for row in rows if row["edges"] == edges]
        x, y = ([row[name] for row in mine] for name in ("edges_expanded", "microseconds"))
        axes.loglog(x, y, mark, label=f"{edges:,.0f} edges")
    axes.set(xlabel="edges expanded for a question", ylabel="microseconds for a question")
    axes.set_title(f"Slope {slope:.2f} (1 is linear)", fontsize=10)
    axes.legend(fontsize=8)
    figure.savefig(path)


if __name__ == "__main__":
    main()

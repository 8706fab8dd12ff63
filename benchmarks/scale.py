"""Time, peak memory and bytes a fact for pack, apply and ask on generated graphs with hubs.

    python benchmarks/scale.py 1e6 1e7 --folder scale --results docs/results/scale.json --plot docs/scale.svg

Each stage runs in a process of its own, so that its peak memory is its own. Graphs, packed folders and
results stay in the folder; a stage whose result is there is not run again.
"""

import argparse
import json
import resource
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet

if TYPE_CHECKING:
    from neurallp.graph.packed import PackedKnowledgeBase
    from neurallp.weighting.weighted_rules import WeightedRules

FACTS_PER_ENTITY = 10
NUM_RELATIONS, NUM_TYPES = 50, 8

#: The exponent of hubs: the tail of a fact is the entity of rank n u^HUBS of its type, u uniform.
HUBS = 3.0

#: Facts generated at a time.
CHUNK = 5_000_000

NUM_RULES, NUM_QUESTIONS = 100, 1000

#: Bodies that are drawn, at most, to find the rules of the benchmark.
MAX_TRIES = 10_000

#: A rule of the benchmark has at most so many rows for each fact of the graph.
MAX_ROWS_PER_FACT = 1.0


def relation_table() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the type of heads, the type of tails and the share of the facts of each relation."""
    rng = np.random.default_rng(0)
    sizes = 1 / np.arange(1, NUM_RELATIONS + 1)
    return *rng.integers(0, NUM_TYPES, (2, NUM_RELATIONS)), sizes / sizes.sum()


def generate(num_facts: int, path: Path) -> None:
    """Write a graph: relations of Zipf sizes between types, uniform heads, tails with hubs."""
    domains, ranges, shares = relation_table()
    per_type = max(num_facts // FACTS_PER_ENTITY // NUM_TYPES, 2)
    rng = np.random.default_rng(1)
    relations = pa.array([f"relation{r}" for r in range(NUM_RELATIONS)])
    schema = pa.schema([(name, pa.string()) for name in ("head", "relation", "tail")])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for start in range(0, num_facts, CHUNK):
            num = min(CHUNK, num_facts - start)
            relation = rng.choice(NUM_RELATIONS, num, p=shares)
            heads = domains[relation] * per_type + rng.integers(0, per_type, num)
            tails = ranges[relation] * per_type + (per_type * rng.random(num) ** HUBS).astype(np.int64)
            columns = [_names(heads), relations.take(pa.array(relation)), _names(tails)]
            writer.write_table(pa.table(columns, schema=schema))


def _names(entities: np.ndarray) -> pa.Array:
    return pa.compute.binary_join_element_wise("entity", pa.array(entities).cast(pa.string()), "")


def random_rules(
    kb: "PackedKnowledgeBase", num_rules: int, num_steps: int, max_rows: float
) -> "WeightedRules":
    """Return weighted chains between the types of their queries, with a prior for each query."""
    from neurallp.scale.estimate import Estimator
    from neurallp.weighting.kinds.base import Candidate
    from neurallp.weighting.weighted_rules import WeightedQuery, WeightedRules

    rng, estimator, found = np.random.default_rng(2), Estimator(kb), {}
    numbers = np.array([int(name.removeprefix("relation")) for name in kb.relations])
    domains, ranges, _ = relation_table()
    first, last = (
        np.concatenate([a[numbers], b[numbers]]) for a, b in ((domains, ranges), (ranges, domains))
    )
    for _ in range(MAX_TRIES):
        if sum(map(len, found.values())) == num_rules:
            break
        query = int(rng.integers(len(kb.relations)))
        body, place = [], first[query]
        for _ in range(num_steps):
            body.append(int(rng.choice(np.flatnonzero(first == place))) if (first == place).any() else -1)
            place = last[body[-1]]
        if -1 in body or place != last[query] or tuple(body) in found.get(query, ()):
            continue
        if 0 < estimator.paths(tuple(body)) <= max_rows:
            found.setdefault(query, {})[tuple(body)] = rng.random(3)
    queries = {
        query: WeightedQuery(
            (Candidate("prior", (query,)), *(Candidate("chain", body) for body in own)),
            np.array([[0.3, 0.0, 0.0], *own.values()]),
            np.ones(len(own) + 1),
        )
        for query, own in found.items()
    }
    return WeightedRules(kb.relations, np.zeros(len(kb.relations), bool), queries)


# Stages, each in its own process


def stage_generate(folder: Path, num_facts: int) -> dict[str, float]:
    """Write the graph."""
    generate(num_facts, folder / "facts.parquet")
    return {"bytes a fact": (folder / "facts.parquet").stat().st_size / num_facts}


def stage_pack(folder: Path, num_facts: int) -> dict[str, float]:
    """Pack it."""
    from neurallp.io.triples.packed import pack

    found = pack(folder / "facts.parquet", folder / "packed", memory="4GB")
    return {
        "facts": found.num_facts,
        "entities": found.num_entities,
        "bytes a fact": found.num_bytes / found.num_facts,
    }


def _opened(folder: Path) -> "tuple[PackedKnowledgeBase, float]":
    from neurallp.io.triples.packed import open_packed

    start = time.perf_counter()
    kb = open_packed(folder / "packed")
    return kb, time.perf_counter() - start


def stage_ask(folder: Path, num_facts: int) -> dict[str, float]:
    """Ask questions; the first of each query, which loads what it needs, is told apart."""
    from neurallp.reasoning.calibration import Calibration
    from neurallp.reasoning.reasoner import Reasoner

    kb, opening = _opened(folder)
    weighted = random_rules(kb, NUM_RULES, 2, MAX_ROWS_PER_FACT * num_facts)
    calibration = Calibration((-9.0, 6.0), (0.4, 0.9, 0.7, 0.5, -0.2), {}, (-0.1, -0.2, -0.3), 3.0)
    reasoner, rng, times = Reasoner(kb, weighted, calibration=calibration), np.random.default_rng(3), []
    queries = sorted(weighted.queries)
    for number in range(NUM_QUESTIONS):
        query = queries[number % len(queries)]
        sources, _ = kb.operators.sources_of(query)
        name = kb.entities[int(rng.choice(sources))]
        start = time.perf_counter()
        reasoner.ask(head=name, relation=kb.relations[query])
        times.append(time.perf_counter() - start)
    p50, p95 = np.percentile(times[len(queries) :], [50, 95]) * 1000
    return {"open s": opening, "first ms": 1000 * max(times[: len(queries)]), "p50 ms": p50, "p95 ms": p95}


def stage_apply(
    folder: Path, num_facts: int, num_steps: int = 2, num_rules: int = NUM_RULES
) -> dict[str, float]:
    """Apply rules with DuckDB."""
    from neurallp.scale.apply import Application, Options
    from neurallp.scale.engines import open_engine
    from neurallp.scale.queries import Wanted

    kb, _ = _opened(folder)
    weighted = random_rules(kb, num_rules, num_steps, MAX_ROWS_PER_FACT * num_facts)
    options = Options(tuple(sorted(weighted.queries)), Wanted(10), max_rows=2**62)
    application = Application(weighted, kb, None, folder / f"predictions{num_steps}", options)
    start = time.perf_counter()
    costs = application.costs()
    estimating = time.perf_counter() - start
    summary = application.run(partial(open_engine, "duckdb", memory="6GB"))
    return {
        "rules": len(costs),
        "rows joined": sum(cost.rows for cost in costs),
        "estimated cpu s": 60 * sum(cost.minutes for cost in costs),
        "estimate s": estimating,
        "answers": sum(each["rows"] for each in summary.files.values()),
    }


STAGES = {
    "generate": stage_generate,
    "pack": stage_pack,
    "ask": stage_ask,
    "apply 2 steps": stage_apply,
    "apply 3 steps": partial(stage_apply, num_steps=3, num_rules=10),
}


def run_stage(name: str, folder: Path, num_facts: int) -> None:
    """Run one stage and write what it took."""
    start = time.perf_counter()
    found = STAGES[name](folder, num_facts)
    usage = resource.getrusage(resource.RUSAGE_SELF)
    took = {
        "stage": name,
        "facts given": num_facts,
        "s": time.perf_counter() - start,
        "cpu s": usage.ru_utime + usage.ru_stime,
        "peak GB": usage.ru_maxrss / 1e6,
        **found,
    }
    (folder / f"{name}.json").write_text(json.dumps({key: _short(value) for key, value in took.items()}))


def draw(rows: list[dict[str, float]], path: Path) -> None:
    """Draw CPU time and peak memory of each stage against the number of facts."""
    import matplotlib.pyplot as plt

    figure, both = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
    for stage, mark in zip(STAGES, "os^Dv", strict=True):
        own = sorted(
            (row["facts given"], row["cpu s"], row["peak GB"]) for row in rows if row["stage"] == stage
        )
        for axes, values in zip(both, list(zip(*own, strict=True))[1:], strict=False):
            axes.loglog([facts for facts, *_ in own], values, f"{mark}-", label=stage)
    for axes, label in zip(both, ("CPU seconds", "peak GB"), strict=True):
        axes.set(xlabel="facts", ylabel=label)
    both[0].legend(fontsize=8)
    figure.savefig(path)


def _short(value: object) -> object:
    return float(f"{value:.4g}") if isinstance(value, float) else value


def main() -> None:
    """Run the stages on graphs of several sizes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sizes", nargs="+", type=float)
    parser.add_argument("--folder", type=Path, default=Path("scale"))
    parser.add_argument("--stages", nargs="+", default=list(STAGES), choices=list(STAGES))
    parser.add_argument("--results", type=Path, help="where the results of all stages go")
    parser.add_argument("--plot", type=Path, help="draw them, as .svg or .png")
    parser.add_argument("--in-process", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for num_facts in map(int, given.sizes):
        folder = given.folder / f"{num_facts:.0e}"
        folder.mkdir(parents=True, exist_ok=True)
        for name in given.stages:
            if given.in_process:
                run_stage(name, folder, num_facts)
            elif not (folder / f"{name}.json").exists():
                own = [sys.executable, __file__, str(num_facts), "--folder", str(given.folder)]
                subprocess.run([*own, "--stages", name, "--in-process"], check=True)
            if not given.in_process:
                print((folder / f"{name}.json").read_text(), flush=True)
    rows = [json.loads(path.read_text()) for path in sorted(given.folder.glob("*/*.json"))]
    rows.sort(key=lambda row: (row["facts given"], list(STAGES).index(row["stage"])))
    if given.results:
        given.results.write_text("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n")
    if given.plot:
        draw(rows, given.plot)


if __name__ == "__main__":
    main()

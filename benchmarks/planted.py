"""Plain `learn` on a generated graph of a million facts and 50 relations with planted rules.

Most relations are random. Each planted one follows from two random ones, r(X, Y) <= a(X, A), b(A, Y), with a
share of its facts left out and a share of noise added; learning must find these bodies.
"""

import argparse
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from completion import run
from graphs import make_facts
from report import report

from neurallp.graph.arrays import Ids, distinct

#: Relations that follow from others, the share of their facts that is known, and of noise.
NUM_PLANTED = 10
KNOWN, NOISE = 0.9, 0.1


def main() -> None:
    """Make the graph, learn, and rank its test part."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--facts", type=int, default=10**6)
    parser.add_argument("--relations", type=int, default=50)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--sample", type=int, help="facts to learn from, about; all unless given")
    parser.add_argument("--data", type=Path, help="write the graph here and keep it")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with TemporaryDirectory() as folder:
        data = args.data or Path(folder) / "data"
        planted = write_graph(data, args.facts, args.relations)
        limits = {"--minutes": args.minutes, "--sample": args.sample}
        report([measure(data, limits, planted)], args.json)


def plant(facts: Ids, num_entities: int, num_relations: int, rng: np.random.Generator) -> list[Ids]:
    """Return the facts of planted relations: compositions of two random relations, with noise."""
    planted = []
    for r in range(num_relations - NUM_PLANTED, num_relations):
        first, second = rng.choice(num_relations - NUM_PLANTED, 2, replace=False)
        pairs = compose(facts[facts[:, 1] == first], facts[facts[:, 1] == second])
        pairs = pairs[rng.random(len(pairs)) < KNOWN]
        noise = rng.integers(num_entities, size=(int(NOISE * len(pairs)), 2))
        ends = np.concatenate([pairs, noise])
        planted.append(np.stack([ends[:, 0], np.full(len(ends), r), ends[:, 1]], axis=1))
    return planted


def compose(first: Ids, second: Ids) -> Ids:
    """Return the pairs that a fact of one relation followed by one of another links."""
    order = np.argsort(second[:, 0], kind="stable")
    starts, ends = (np.searchsorted(second[order, 0], first[:, 2], side=side) for side in ("left", "right"))
    sizes = ends - starts
    within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    rows = order[np.repeat(starts, sizes) + within]
    return distinct(np.stack([np.repeat(first[:, 0], sizes), second[rows, 2]], axis=1))


def write_graph(folder: Path, num_facts: int, num_relations: int, seed: int = 0) -> int:
    """Write train, valid and test; return how many facts are planted."""
    rng = np.random.default_rng(seed)
    num_entities = num_facts // 25
    facts = make_facts(num_entities, num_relations - NUM_PLANTED, num_facts * 19 // 20, 0.3, seed)
    planted = plant(facts, num_entities, num_relations, rng)
    rows = distinct(np.concatenate([facts, *planted]))
    rows = rows[rng.permutation(len(rows))[:num_facts]]
    folder.mkdir(parents=True, exist_ok=True)
    bounds = [0, 5000, 10_000, len(rows)]
    for name, start, end in zip(("valid", "test", "train"), bounds[:-1], bounds[1:], strict=True):
        lines = (f"e{h}\tr{r}\te{t}\n" for h, r, t in rows[start:end].tolist())
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")
    return int((rows[:, 1] >= num_relations - NUM_PLANTED).sum())


def measure(data: Path, limits: dict[str, float | None], planted: int) -> dict[str, Any]:
    """Return a row: time, memory, and how the test part was ranked."""
    options = [each for name, limit in limits.items() if limit is not None for each in (name, limit)]
    with TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        learned, used = run("learn", data, "--out", model, "--json", *options)
        found, _ = run("evaluate", model, data, "--json")
    cut = json.dumps(learned["cut"])
    return {"planted facts": planted, "rules": learned["rules"], "MRR": found["mrr"], **used, "cut": cut}


if __name__ == "__main__":
    main()

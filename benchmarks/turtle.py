"""Time and memory to load a Turtle file of a million triples, in a separate process."""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from report import report

# Runs in a separate process, so that the peak memory is that of loading alone.
LOAD = """
import json, resource, sys, time
start = time.perf_counter()
from neurallp.io.triples import load
kb = load(sys.argv[1])
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
took = {"seconds": seconds, "cpu_seconds": time.process_time(), "peak_gb": peak}
print(json.dumps({"facts": len(kb.facts), "entities": len(kb.entities), **took}))
"""


def main() -> None:
    """Write a file, load it, and print time and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--triples", type=int, default=1_000_000)
    parser.add_argument("--entities", type=int, default=200_000)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "facts.ttl"
        write_turtle(path, args.triples, args.entities)
        row = {"megabytes": path.stat().st_size / 1e6, **measure(path)}
    report([row], args.json)


def write_turtle(path: Path, num_triples: int, num_entities: int) -> None:
    """Write random triples over 50 relations, with prefixed names as heads and full IRIs as tails."""
    rng = np.random.default_rng(0)
    heads, tails = rng.integers(num_entities, size=(2, num_triples))
    relations = rng.integers(50, size=num_triples)
    with path.open("w") as file:
        file.write(
            "@prefix ex: <http://example.org/entity/> .\n@prefix r: <http://example.org/relation#> .\n"
        )
        for head, relation, tail in zip(heads.tolist(), relations.tolist(), tails.tolist(), strict=True):
            file.write(f"ex:e{head} r:r{relation} <http://example.org/entity/e{tail}> .\n")


def measure(path: Path) -> dict[str, Any]:
    """Return facts, entities, seconds and peak memory of loading."""
    done = subprocess.run([sys.executable, "-c", LOAD, str(path)], capture_output=True, check=True, text=True)
    return dict(json.loads(done.stdout))


if __name__ == "__main__":
    main()

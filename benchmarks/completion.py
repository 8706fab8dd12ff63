"""Accuracy, time and memory of plain `neurallp learn DATA` and `neurallp evaluate` on given folders.

An inductive set is two folders: DATA to learn on, and DATA_ind, whose test part is ranked on its own facts.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from report import report


def main() -> None:
    """Measure each data set with each seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="folders with train, valid, test")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--minutes", type=float, help="time limit of `learn`")
    parser.add_argument("--out", type=Path, help="write the rows here as JSON, after each data set")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for data in args.data:
        rows += [measure(data, seed, args.minutes) for seed in args.seeds]
        if args.out:
            args.out.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    report(rows, args.json)


def measure(data: Path, seed: int, minutes: float | None) -> dict[str, Any]:
    """Return a row: what was chosen, what it took, and how the test part was ranked."""
    tested = data.with_name(f"{data.name}_ind")
    options = [] if minutes is None else ["--minutes", minutes]
    with TemporaryDirectory() as folder:
        model, started = Path(folder) / "model", perf_counter()
        learned, used = run("learn", data, "--seed", seed, "--out", model, "--json", *options)
        seconds = perf_counter() - started
        found, _ = run("evaluate", model, tested if tested.is_dir() else data, "--json")
        plan, _ = run("describe", model, "--json")
    return {
        "data": data.name,
        "seed": seed,
        "minutes": minutes,
        "length": plan["weighting"]["max_length"],
        "kinds": ",".join(plan["weighting"]["kinds"]),
        "rules": learned["rules"],
        "MRR": found["mrr"],
        "Hits@10": found["hits@10"],
        "seconds": seconds,
        **used,
    }


def run(*arguments: object) -> tuple[dict[str, Any], dict[str, float]]:
    """Run a command of neurallp; return its JSON, the CPU seconds and the peak memory in MiB."""
    words = [sys.executable, "-c", "from neurallp.cli import main; main()", *map(str, arguments)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    printed = process.stdout.read()
    _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"neurallp {' '.join(map(str, arguments))} failed.")
    return json.loads(printed), describe_usage(used)


def describe_usage(used: resource.struct_rusage) -> dict[str, float]:
    """Return CPU seconds and MiB."""
    return {"CPU seconds": used.ru_utime + used.ru_stime, "MiB": used.ru_maxrss / 1024}


if __name__ == "__main__":
    main()

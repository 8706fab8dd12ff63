"""Accuracy against time: `neurallp learn --minutes M` beside AnyBURL with as many seconds.

Both learn on two threads and rank the test part; they run one after the other. AnyBURL's figures are those of
its own evaluation, from its 100 best answers (its ranks beyond these count as misses).
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from report import report

MINUTES = (1 / 6, 1.0, 5.0)


def main() -> None:
    """Measure every data set at every time limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, nargs="+", required=True, help="folders with train, valid, test")
    parser.add_argument("--minutes", type=float, nargs="+", default=MINUTES)
    parser.add_argument("--anyburl", type=Path, help="script: run DATA SECONDS LENGTH OUT THREADS")
    parser.add_argument("--length", type=int, default=3, help="longest cyclic rule of AnyBURL")
    parser.add_argument("--plot", type=Path, help="draw the curves here (PNG or SVG)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rows = [row for data in args.data for minutes in args.minutes for row in measure(data, minutes, args)]
    report(rows, args.json)
    if args.plot:
        draw(rows, args.plot)


def measure(data: Path, minutes: float, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Return a row for each program, given the same time to learn."""
    rows = [{"data": data.name, "minutes": minutes, "program": "neurallp", **run_neurallp(data, minutes)}]
    if args.anyburl:
        found = run_anyburl(args.anyburl, data, round(60 * minutes), args.length)
        rows.append({"data": data.name, "minutes": minutes, "program": "AnyBURL", **found})
    return rows


def run_neurallp(data: Path, minutes: float) -> dict[str, float]:
    """Learn for so many minutes and rank the test part."""
    with TemporaryDirectory() as folder:
        started = perf_counter()
        command("learn", data, "--minutes", minutes, "--out", Path(folder) / "model", "--json")
        seconds = perf_counter() - started
        found = json.loads(command("evaluate", Path(folder) / "model", data, "--json"))
    return {"seconds": seconds, "MRR": found["mrr"], "Hits@10": found["hits@10"]}


def command(*arguments: object) -> str:
    """Run a command of neurallp and return what it prints."""
    words = [sys.executable, "-c", "from neurallp.cli import main; main()", *map(str, arguments)]
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def run_anyburl(script: Path, data: Path, seconds: int, length: int) -> dict[str, float]:
    """Run AnyBURL, which prints `…: Hits@1 Hits@3 Hits@10 MRR` at the end of its last line."""
    with TemporaryDirectory() as folder:
        started = perf_counter()
        words = [str(script), str(data), str(seconds), str(length), folder, "2"]
        printed = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        taken = perf_counter() - started
    *_, hits_at_10, mrr = printed.split()
    return {"seconds": taken, "MRR": float(mrr), "Hits@10": float(hits_at_10)}


def draw(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw MRR against the time limit, a panel for each data set."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(row["data"] for row in rows))
    figure, panels = plt.subplots(1, len(names), figsize=(3.2 * len(names), 3), squeeze=False)
    for panel, name in zip(panels[0], names, strict=True):
        for program in dict.fromkeys(row["program"] for row in rows):
            points = [row for row in rows if (row["data"], row["program"]) == (name, program)]
            panel.plot([p["minutes"] for p in points], [p["MRR"] for p in points], "o-", label=program)
        panel.set(title=name, xlabel="minutes to learn", ylabel="test MRR", xscale="log")
        panel.legend()
    figure.tight_layout()
    figure.savefig(path)


if __name__ == "__main__":
    main()

"""Kill runs at random moments and resume them: each must end with the same bytes as one that was not killed.

python benchmarks/kills.py --num 200
"""

import argparse
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from neurallp import NeuralLPError, load_model
from neurallp.datasets.family import family_triples
from neurallp.io.models.store import holds_model, read_files
from neurallp.io.triples import write_triples

COMMAND = [sys.executable, "-c", "from neurallp.cli import main; main()"]

RUNS = {
    "learn": ("learn", "--no-weigh", "--epochs", "4", "--engine", "reference"),
    "weigh": ("weigh", "-", "--candidates", "20", "--length", "2", "--pairs", "40"),
}


def command(kind: str, data: Path, out: Path, *more: str) -> list[str]:
    """Return the command line of a run."""
    name, *options = RUNS[kind]
    before = ["-"] if options[:1] == ["-"] else []
    return [*COMMAND, name, *before, str(data), "--out", str(out), "--json", *options[len(before) :], *more]


def resume(kind: str, data: Path, out: Path) -> None:
    """Finish a run that was killed: from its checkpoint where there is one."""
    there = holds_model(out) and kind == "learn"
    subprocess.run(
        command(kind, data, out, *(["--resume"] if there else [])), capture_output=True, check=True
    )


def main() -> None:
    """Run; exit with 1 where a killed run is lost, or ends with other bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num", type=int, default=200, help="kills of each command")
    chosen, chance, wrong = parser.parse_args(), random.Random(0), 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        data = folder / "family.tsv"
        write_triples(data, family_triples(num_people=40, num_generations=3))
        for kind in RUNS:
            started = time.perf_counter()
            subprocess.run(command(kind, data, folder / kind), capture_output=True, check=True)
            seconds, expected = time.perf_counter() - started, read_files(folder / kind)
            for number in range(chosen.num):
                out = folder / f"{kind}-{number}"
                process = subprocess.Popen(command(kind, data, out), stdout=subprocess.DEVNULL)
                time.sleep(chance.uniform(0.0, seconds))
                process.kill()
                process.wait()
                wrong += not is_whole(out)
                resume(kind, data, out)
                wrong += read_files(out).contents != expected.contents
            print(f"{kind}: {chosen.num} kills; wrong so far: {wrong}.")
    sys.exit(wrong > 0)


def is_whole(out: Path) -> bool:
    """Return whether a folder holds no model, or one that loads."""
    try:
        return not holds_model(out) or bool(load_model(out))
    except NeuralLPError:
        return False


if __name__ == "__main__":
    main()

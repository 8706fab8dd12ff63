"""Kill runs at random moments and resume them: each must end with the same bytes as one that was not killed.

Runs are forks of this process, which has loaded all libraries, so that kills fall on the work itself.

python benchmarks/kills.py --num 50
"""

import os

os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")  # a fork has no threads

import argparse
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from neurallp import NeuralLPError, load_model, load_question_model
from neurallp.cli import main as run_command
from neurallp.datasets.family import family_triples
from neurallp.datasets.movies import movie_questions, movies_knowledge_base
from neurallp.experiments import grid
from neurallp.io.models.store import CHECKPOINT, holds_model, read_files
from neurallp.io.triples import write_triples

#: What each command is given besides --out and --json; data is made in the folder it runs in.
RUNS = {
    "learn": "learn family.tsv --no-weigh --epochs 8 --learning-rate 0.01 --engine reference",
    "weigh": "weigh - family.tsv --candidates 20 --length 2 --pairs 40",
    "qa": "qa learn films.tsv questions.tsv --epochs 6 --embedding-size 8 --hidden-size 8 --engine reference",
    "experiment": "experiment grid --quick --seeds 3 --only plain",
}

State = dict[str, bytes]

# An experiment of seconds: rows of several seeds, each kept when it is measured.
grid.QUICK_LENGTHS, grid.NUM_QUERIES, grid.MAX_PAIRS = {2: 6}, {6: 1}, {6: 40}


def fork(kind: str, out: Path, *more: str) -> int:
    """Start a command in a process of its own and return the id of that process."""
    if process := os.fork():
        return process
    code = 1
    try:
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        code = run(kind, out, *more)
    finally:
        os._exit(code)


def run(kind: str, out: Path, *more: str) -> int:
    """Run a command and return its exit code."""
    sys.argv = ["neurallp", *RUNS[kind].split(), "--out", str(out), "--json", *more]
    try:
        run_command()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0


def finish(kind: str, out: Path) -> bool:
    """Finish a run that was killed, from its checkpoint where it has one; return whether it succeeded."""
    resumes = kind in ("learn", "qa") and holds_model(out) and (out / CHECKPOINT).is_file()
    more = [] if kind == "experiment" else ["--resume" if resumes else "--force"]  # it may have ended before
    _, status = os.waitpid(fork(kind, out, *more), 0)
    return status == 0


def model_state(out: Path) -> State:
    """Return every file of a model, and of the folder."""
    return {
        **read_files(out, without=()).contents,
        "": str(sorted(each.name for each in out.iterdir())).encode(),
    }


def experiment_state(out: Path) -> State:
    """Return every file of an experiment, without the seconds that were measured."""
    files = {path.relative_to(out).as_posix(): path for path in out.rglob("*") if path.is_file()}
    return {
        name: re.sub(rb'"seconds": [\d.]+|<dc:date>.*|\| [\d.]+ \|\n', b"", path.read_bytes())
        for name, path in files.items()
    }


def is_whole(out: Path, load: Callable[[Path], object]) -> bool:
    """Return whether a folder holds no model, or one that loads."""
    try:
        return not holds_model(out) or bool(load(out))
    except NeuralLPError:
        return False


@dataclass
class Counts:
    """What the kills of one command left behind."""

    kills: int = 0
    early: int = 0  # before anything was saved
    late: int = 0  # after the run had ended
    wrong: int = 0


def kill_and_finish(kind: str, out: Path, seconds: float, expected: State, counts: Counts) -> None:
    """Kill a run after some seconds, look at what is left, finish it, and compare."""
    process = fork(kind, out)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    counts.kills += 1
    counts.late += not os.WIFSIGNALED(status)
    counts.early += not out.exists() or not any(out.rglob("*.*"))
    load = load_question_model if kind == "qa" else load_model
    whole = kind == "experiment" or is_whole(out, load)
    state = experiment_state if kind == "experiment" else model_state
    counts.wrong += not (whole and finish(kind, out) and state(out) == expected)


def main() -> None:
    """Run; exit with 1 where a killed run is lost, or ends with other bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--num", type=int, default=50, help="kills of each command")
    parser.add_argument("--seed", type=int, default=0, help="another seed, other moments")
    parser.add_argument("kinds", nargs="*", help=f"all unless given: {', '.join(RUNS)}")
    chosen, wrong = parser.parse_args(), 0
    chance = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        write_triples("family.tsv", family_triples(num_people=40, num_generations=3))
        films = movies_knowledge_base(num_films=30)
        write_triples("films.tsv", list(films.named_facts()))
        lines = (f"{each.text}\t{'|'.join(each.answers)}\n" for each in movie_questions(films, 200))
        Path("questions.tsv").write_text("".join(lines))
        for kind in chosen.kinds or RUNS:
            state = experiment_state if kind == "experiment" else model_state
            run(kind, Path(kind))  # loads the libraries and compiles
            started = time.perf_counter()
            os.waitpid(fork(kind, Path(f"{kind}-whole")), 0)
            seconds, expected, counts = time.perf_counter() - started, state(Path(f"{kind}-whole")), Counts()
            for number in range(chosen.num):
                out = Path(f"{kind}-{number}")
                kill_and_finish(kind, out, chance.uniform(0.0, 1.1 * seconds), expected, counts)
            print(f"{kind}: a run of {seconds:.2f} s; {counts}", file=sys.stderr)
            wrong += counts.wrong
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()

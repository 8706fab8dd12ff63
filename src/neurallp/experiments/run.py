"""Measuring rows: each outcome is a file, so that a run that was stopped continues where it was."""

import json
import os
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import active_children, get_context
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from time import perf_counter
from typing import Any

from ..errors import DataError, NeuralLPError
from ..io.files import atomic_write
from ..io.models.store import make_folder
from ..io.schema import as_error, convert, decode_json
from .specification import FAILED, Experiment, Outcome, Results, TableRow


@dataclass(frozen=True)
class Kept:
    """What is read of the file of an outcome."""

    outcome: dict[str, Any]


@dataclass(frozen=True)
class Job:
    """One row with one seed, and the file its outcome goes to."""

    row: TableRow
    seed: int
    path: Path

    def __str__(self) -> str:
        return f"{', '.join(self.row.labels.values())}, seed {self.seed}"

    def finished(self) -> Outcome | None:
        """Return the outcome of an earlier run, or None."""
        if not self.path.exists():
            return None
        with as_error(
            lambda why: DataError(f"{self.path} is damaged ({why}). Delete it to measure this row again.")
        ):
            outcome: Outcome = convert(decode_json(self.path.read_bytes()), Kept).outcome
        return outcome

    def do(self) -> Outcome:
        """Measure and write the outcome to its file; where that fails, return only the reason."""
        assert self.row.measure is not None
        started = perf_counter()
        try:
            outcome = self.row.measure(seed=self.seed, **self.row.arguments)
        except NeuralLPError as error:
            return {FAILED: str(error)}
        outcome = {**outcome, "seconds": round(perf_counter() - started, 1)}
        self._keep(outcome)
        return outcome

    def _keep(self, outcome: Outcome) -> None:
        what = {"labels": self.row.labels, "arguments": self.row.arguments, "seed": self.seed}
        text = json.dumps({**what, "outcome": outcome}, indent=1, ensure_ascii=False)
        atomic_write(self.path, text + "\n")


def jobs_of(experiment: Experiment, num_seeds: int, folder: Path) -> list[Job]:
    """Return all rows with all seeds; outcomes go to `folder`/rows."""
    make_folder(folder / "rows")
    return [
        Job(row, seed, folder / "rows" / f"{row.name}-seed{seed}.json")
        for row in experiment.rows()
        for seed in range(num_seeds)
    ]


def finished(jobs: Sequence[Job]) -> Results:
    """Return the outcomes of earlier runs."""
    results = Results()
    for job in jobs:
        if (outcome := job.finished()) is not None:
            results.add(job.row, job.seed, outcome)
    return results


def run(jobs: Sequence[Job], num_processes: int = 1) -> Iterator[tuple[Job, Outcome]]:
    """Yield outcomes as they finish: those of earlier runs first, then the rest, in one or more processes."""
    waiting = []
    for job in jobs:
        if (outcome := job.finished()) is not None:
            yield job, outcome
        else:
            waiting.append(job)
    if num_processes == 1:
        yield from ((job, job.do()) for job in waiting)
    elif waiting:
        yield from _run_apart(waiting, num_processes)


def _run_apart(jobs: Sequence[Job], num_processes: int) -> Iterator[tuple[Job, Outcome]]:
    """Yield the outcomes of processes, each on one core; they end when the caller stops."""
    context = get_context("spawn")  # a fork would inherit torch's threads in any state
    cores = context.SimpleQueue()
    for core in _cores(num_processes):
        cores.put(core)
    with ProcessPoolExecutor(num_processes, context, _keep_to_one_core, (cores,)) as pool:
        futures: dict[Future[Outcome], Job] = {pool.submit(job.do): job for job in jobs}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in active_children():
                process.terminate()
            raise


def _cores(num: int) -> list[int]:
    """Return a core for each of `num` processes, as far as there are different ones."""
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [0]
    return [cores[number % len(cores)] for number in range(num)]


def _keep_to_one_core(cores: "SimpleQueue[int]") -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends the others
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {cores.get()})
    import torch

    torch.set_num_threads(1)

"""Weighting in several processes: queries are fitted independently, so each process takes some of them.

Every fit depends on the facts, the settings and its query alone, so the weights are the same bytes as those
of one process. The queries of a process that is lost are fitted again in another.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any, Protocol, TypeVar

from ..config import WeightingConfig
from ..errors import NeuralLPError
from ..graph.knowledge_base import Split
from .fitting import Candidates, Weighting

#: How often processes are started again after some were lost, before the run is given up.
MAX_RESTARTS = 5

#: Seconds between two looks at whether the run is to stop.
PATIENCE = 1.0

T = TypeVar("T")

#: What makes the weighting of a worker process.
Settings = tuple[Split, WeightingConfig, Candidates]

#: A function of a module, which worker processes import, and the arguments of each call by number.
Work = Callable[..., Any]
Tasks = Mapping[int, tuple[Any, ...]]

#: The weighting of a worker process.
_own: list[Weighting] = []


class LostWorkersError(NeuralLPError):
    """Worker processes that are lost again and again."""


class Workers(Protocol):
    """Where the processes run."""

    def attempt(
        self, settings: Settings, work: Work, tasks: Tasks, should_stop: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results of tasks as they are done, until all are or a process is lost.

        Each process calls `start` with the settings first. The result of a task that a stopped run did not
        begin is None.
        """
        ...


class DistributedWeighting(Weighting):
    """A weighting whose queries are fitted in worker processes; each holds the facts and one thread."""

    def __init__(
        self,
        split: Split,
        config: WeightingConfig,
        given: Candidates | None = None,
        *,
        workers: int | Workers,
    ) -> None:
        super().__init__(split, config, given, num_threads=1)
        self.workers: Workers = LocalWorkers(workers) if isinstance(workers, int) else workers

    def _map(
        self, work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], pool: Executor
    ) -> Iterator[T | None]:
        return self.distribute(run, [(work, *task) for task in tasks])

    def distribute(self, work: Work, tasks: Sequence[tuple[Any, ...]]) -> Iterator[Any]:
        """Yield the result of each task in order; None for those that a stopped run did not begin."""
        done: dict[int, Any] = {}
        place, restarts = 0, 0
        settings = self.split, self.config, self.given
        while place < len(tasks):
            if self.should_stop():
                yield from (done.get(number) for number in range(place, len(tasks)))
                return
            if restarts > MAX_RESTARTS:
                raise LostWorkersError(
                    f"Worker processes were lost {restarts} times. Is there memory for all of them?"
                )
            restarts += 1
            left = {number: task for number, task in enumerate(tasks) if number not in done}
            for number, result in self.workers.attempt(settings, work, left, self.should_stop):
                done[number] = result
                while place in done:
                    yield done[place]
                    place += 1


class LocalWorkers:
    """Processes on this machine."""

    def __init__(self, num: int) -> None:
        self.num = num

    def attempt(
        self, settings: Settings, work: Work, tasks: Tasks, should_stop: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results of tasks as they are done, until all are or a process is lost."""
        context = get_context("spawn")
        with ProcessPoolExecutor(self.num, context, initializer=start, initargs=settings) as pool:
            waiting: dict[Future[Any], int] = {pool.submit(work, *task): i for i, task in tasks.items()}
            while waiting:
                for future in wait(waiting, PATIENCE, FIRST_COMPLETED).done:
                    number = waiting.pop(future)
                    if future.cancelled():
                        yield number, None
                    elif not isinstance(future.exception(), BrokenProcessPool):
                        yield number, future.result()
                if should_stop():
                    for future in waiting:
                        future.cancel()


def start(split: Split, config: WeightingConfig, given: Candidates) -> None:
    """Make the weighting of a worker process."""
    _own[:] = [Weighting(split, config, given, num_threads=1)]


def run(work: Callable[..., T], *task: Any) -> T:
    """Return what a method of a worker returns for a task, in a worker process."""
    with _own[0]._worker() as worker:
        return work(worker, *task)

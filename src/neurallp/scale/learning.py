"""Rules weighted by the executors of a Spark cluster, over a folder that they share with this process.

The facts and settings are written there once, and every task leaves a file with its result. So a task whose
executor is lost is done again, what is done is kept, and nothing large passes through Spark.
"""

import pickle
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from threading import Thread
from time import sleep
from typing import Any

from ..errors import ConfigError, import_extra
from ..weighting import workers
from ..weighting.workers import PATIENCE, Settings, Tasks, Work
from .engines import CONNECT, open_session

#: The folder whose settings a worker process has read last.
_read: list[Path] = []


@contextmanager
def spark_workers(address: str, near: Path) -> "Iterator[SparkWorkers]":
    """Yield the executors of a Spark master; they and this process must reach the folder of `near`."""
    if address.startswith(CONNECT):
        raise ConfigError("Spark Connect runs no Python tasks. Give a master, such as spark://host:7077.")
    near.parent.mkdir(parents=True, exist_ok=True)
    folder = Path(mkdtemp(prefix=f".{near.name}-", dir=near.parent.resolve()))
    try:
        with open_session(address) as session:
            yield SparkWorkers(session, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


class SparkWorkers:
    """Python processes of Spark's executors; one task is one query."""

    def __init__(self, session: Any, folder: Path) -> None:
        self.context, self.folder = session.sparkContext, folder
        self._num = 0

    def attempt(
        self, settings: Settings, work: Work, tasks: Tasks, should_stop: Callable[[], bool]
    ) -> Iterator[tuple[int, Any]]:
        """Yield numbers and results of tasks as they are done, until all are or an executor is lost."""
        self._num += 1
        folder, group = self.folder / str(self._num), f"weigh-{id(self)}-{self._num}"
        folder.mkdir()
        _write(folder / "settings", settings)
        job = Thread(target=self._run, args=(group, folder, work, tasks))
        job.start()
        waiting, is_over = set(tasks), False
        while not is_over:
            job.join(PATIENCE / 10)
            is_over = not job.is_alive()  # asked before looking for files: all are there by then
            for number in sorted(each for each in waiting if (folder / str(each)).exists()):
                waiting.discard(number)
                yield number, _result(folder / str(number))
            if should_stop():
                self.context.cancelJobGroup(group)
        shutil.rmtree(folder)
        if should_stop():
            yield from ((number, None) for number in waiting)

    def _run(self, group: str, folder: Path, work: Work, tasks: Tasks) -> None:
        """Run the tasks; a job that fails or is cancelled leaves some without a result."""
        error = import_extra("py4j.protocol", "spark").Py4JJavaError
        self.context.setJobGroup(group, "neurallp: rules are weighted", interruptOnCancel=True)
        given = [(str(folder), work, number, task) for number, task in tasks.items()]
        try:
            self.context.parallelize(given, len(given)).foreach(run_task)
        except error:
            sleep(PATIENCE)  # then the tasks without a result are tried again


def run_task(given: tuple[str, Work, int, tuple[Any, ...]]) -> None:
    """Do one task in a worker process and write its result, or its error, into the folder."""
    folder, work, number, task = Path(given[0]), *given[1:]
    if _read != [folder]:
        workers.start(*pickle.loads((folder / "settings").read_bytes()))
        _read[:] = [folder]
    try:
        result = work(*task)
    except Exception as error:
        result = error
    _write(folder / str(number), result)


def _write(path: Path, value: Any) -> None:
    temporary = path.with_suffix(".tmp")
    temporary.write_bytes(pickle.dumps(value))
    temporary.replace(path)


def _result(path: Path) -> Any:
    result = pickle.loads(path.read_bytes())
    if isinstance(result, Exception):
        raise result
    return result

"""Progress as lines of a log, for a run without a terminal: a job, a file, a pipe."""

from collections.abc import Callable
from time import monotonic

#: Seconds between two lines about the same task.
INTERVAL = 30.0


class LogLines:
    """Prints a line when a task begins, and every INTERVAL seconds how much of it is done."""

    def __init__(
        self,
        emit: Callable[[str], None],
        description: str,
        total: int | None,
        *,
        every_change: bool = False,
        now: Callable[[], float] = monotonic,
    ) -> None:
        self._emit, self._now, self._every_change = emit, now, every_change
        self._shown, self._last = "", now()
        self.restart(description, total)

    def advance(self, num: int = 1) -> None:
        """Count `num` more steps as done."""
        self.set(self._done + num, self._total)

    def describe(self, description: str) -> None:
        """Change what is said of the task; printed at once only if every change is."""
        self._description = description
        self._print(self._every_change)

    def set(self, done: int, total: int | None) -> None:
        """Set how much is done, and of how much."""
        self._done, self._total = done, total
        self._print(False)

    def restart(self, description: str, total: int | None, done: int = 0) -> None:
        """Begin another task."""
        self._description, self._total, self._done = description, total, done
        self._print(True)

    def _print(self, at_once: bool) -> None:
        if not at_once and self._now() - self._last < INTERVAL:
            return
        self._last = self._now()
        share = f" ({min(self._done / self._total, 1):.0%})" if self._total and self._done else ""
        if (line := self._description + share) != self._shown:
            self._shown = line
            self._emit(line)

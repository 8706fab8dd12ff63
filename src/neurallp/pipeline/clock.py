"""The time limit of a run. Without one, nothing depends on the clock, so equal runs give equal files."""

from collections.abc import Callable
from math import inf
from time import monotonic

from ..errors import ConfigError


class TimeIsOver(Exception):  # noqa: N818 (it ends a stage and is no error)
    """Raised to end a stage when no time is left."""


class Clock:
    """The time that is left of a run of at most `minutes`; None is no limit."""

    def __init__(self, minutes: float | None = None, now: Callable[[], float] = monotonic) -> None:
        if minutes is not None and not 0 < minutes < inf:
            raise ConfigError(f"minutes must be above 0 and finite, got {minutes}.")
        self.minutes, self._now = minutes, now
        self._end = inf if minutes is None else now() + 60 * minutes

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.minutes is not None

    @property
    def seconds_left(self) -> float:
        """The seconds that are left, at least 0; infinite without a limit."""
        return max(0.0, self._end - self._now()) if self.is_limited else inf

    def part(self, share: float) -> "Clock":
        """Return a clock that ends after a share of the time that is left."""
        part = Clock(None, self._now)
        part.minutes = self.minutes
        part._end = self._now() + share * self.seconds_left if self.is_limited else inf
        return part

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self.seconds_left <= 0

    def require_time(self) -> None:
        """Raise where no time is left."""
        if self.is_over:
            raise TimeIsOver

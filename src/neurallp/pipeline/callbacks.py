"""What follows a run of learning and may end it: callbacks, and the clock of a time limit.

Without a limit nothing depends on the clock, so equal runs give equal files.
"""

from collections.abc import Callable, Sequence
from math import inf
from time import monotonic
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from ..config import Plan
from ..errors import ConfigError
from ..io.files import AnyPath

if TYPE_CHECKING:
    from ..neural.loop import TrainingLoop
    from ..weighting.query_fit import FitResult
    from .plan import Estimate

    AnyTraining = TrainingLoop[Any, Any]

#: The stages of a run, in order.
Stage = Literal["plan", "train", "weigh", "calibrate"]


class Callbacks:
    """Functions that `learn` calls during a run. By default they do nothing, and Ctrl-C ends the run."""

    def on_plan(self, plan: Plan, estimate: "Estimate | None") -> None:
        """Called when the plan is made, with the time and memory it will take, where that was measured."""

    def on_mrr(self, mrr: float) -> None:
        """Called with the validation MRR so far."""

    def on_training(self, training: "AnyTraining") -> None:
        """Called before the first epoch, with the model as it is initialised; may restore a checkpoint."""

    def on_stage(self, stage: Stage, total: int, done: int = 0) -> None:
        """Called when a stage begins, with its number of steps and those that a checkpoint has done."""

    def on_progress(self, num: int) -> None:
        """Called after every `num` steps of a stage."""

    def on_epoch(self, training: "AnyTraining") -> None:
        """Called after every epoch of training; may write a checkpoint."""

    def should_stop(self) -> bool:
        """Return whether to end the run soon; what is learned so far is returned, and it is complete."""
        return False

    def on_interrupt(self, stage: Stage) -> bool:
        """Return whether to keep what is there and go on with the next stage after Ctrl-C in `stage`."""
        return False


class Checkpoints(Callbacks):
    """Write a checkpoint into a folder after every epoch; resume from it where that is wanted."""

    def __init__(self, folder: AnyPath, *, resume: bool = False) -> None:
        self.folder, self.resume = folder, resume

    @property
    def files(self) -> ModuleType:
        """The module that writes and resumes checkpoints of this kind of training."""
        from ..io.models import neural

        return neural

    def on_training(self, training: "AnyTraining") -> None:
        from ..io.models.store import make_folder

        make_folder(self.folder)
        if self.resume:
            self.files.resume(self.folder, training)

    def on_epoch(self, training: "AnyTraining") -> None:
        self.files.write_checkpoint(self.folder, training)


class ValidationMrr:
    """The validation MRR of the queries so far, each with its latest fit; passed to a callback."""

    def __init__(self, on_mrr: Callable[[float], None]) -> None:
        self.on_mrr = on_mrr
        self.best: dict[int, tuple[float, int]] = {}  # the sum of reciprocal ranks, and their number

    def __call__(self, query: int, fits: "Sequence[FitResult]") -> None:
        """Take a query's best length into account, under the middle penalty: a choice would raise it."""
        self.best[query] = float(max(fit.middle_ranks.sum() for fit in fits)), len(fits[0].reciprocal_ranks)
        if num := sum(num for _, num in self.best.values()):
            self.on_mrr(sum(total for total, _ in self.best.values()) / num)


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

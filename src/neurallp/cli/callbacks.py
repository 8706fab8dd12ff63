"""Callbacks of the command line: progress bars, notes on what Ctrl-C cut, and the dry run of `learn`."""

import signal
import sys
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any

import typer

from ..config import Plan
from ..pipeline.callbacks import Callbacks, Checkpoints, Stage
from ..pipeline.plan import Estimate
from .log_lines import LogLines
from .output import Bar, note, print_json, print_line, progress, say
from .plan_lines import describe_plan
from .stopping import Terminated

if TYPE_CHECKING:
    from types import ModuleType, TracebackType

    from ..neural.loop import TrainingLoop

    AnyTraining = TrainingLoop[Any, Any]

#: Stages as the progress bar names them.
NAMES: dict[Stage, str] = {
    "plan": "Planning",
    "train": "Training",
    "weigh": "Weighting",
    "calibrate": "Calibrating",
}


class ShownProgress(Callbacks):
    """Show each stage of a run as a progress bar."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.training: AnyTraining | None = None
        self.stage: Stage | None = None
        #: The signal that ends the run.
        self.stopped_by: int | None = None
        self._open = ExitStack()
        self._bar: Bar | LogLines | None = None

    def __enter__(self) -> "ShownProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: "TracebackType | None"
    ) -> None:
        self._open.close()

    def on_training(self, training: "AnyTraining") -> None:
        self.training = training

    def on_mrr(self, mrr: float) -> None:
        if self._bar is not None and self.stage is not None:
            self._bar.describe(f"{NAMES[self.stage]}: valid MRR {mrr:.3f}")

    def on_stage(self, stage: Stage, total: int, done: int = 0) -> None:
        self.stage = stage
        if self._bar is None:
            self._bar = self._open.enter_context(progress(NAMES[stage], total, quiet=self.quiet))
        description = NAMES[stage] if stage != "train" or self.training is None else describe(self.training)
        self._bar.restart(description, total, done)

    def on_progress(self, num: int) -> None:
        if self._bar is not None:
            self._bar.advance(num)

    def on_epoch(self, training: "AnyTraining") -> None:
        if self._bar is not None:
            self._bar.describe(describe(training))


class TrainingProgress(ShownProgress, Checkpoints):
    """Also write checkpoints, and use what is learned when Ctrl-C ends a stage."""

    def __init__(self, folder: Path, *, resume: bool, quiet: bool) -> None:
        ShownProgress.__init__(self, quiet=quiet)
        Checkpoints.__init__(self, folder, resume=resume)

    def on_training(self, training: "AnyTraining") -> None:
        ShownProgress.on_training(self, training)
        Checkpoints.on_training(self, training)

    def on_epoch(self, training: "AnyTraining") -> None:
        Checkpoints.on_epoch(self, training)
        ShownProgress.on_epoch(self, training)

    def on_interrupt(self, stage: Stage) -> bool:
        is_terminated = isinstance(sys.exc_info()[1], Terminated)
        self.stopped_by = signal.SIGTERM if is_terminated else signal.SIGINT
        if stage == "calibrate":
            note("Calibration was cut: answers have no probability. `neurallp calibrate` fits it.")
        elif self.training is None or not self.training.history:
            note("Training was cut in the first epoch: nothing is kept.")
        else:
            num = len(self.training.history)
            note(f"Training was cut after epoch {num}: the best epoch is kept. --resume continues it.")
        return True


class LearningProgress(TrainingProgress):
    """Also print the plan; a dry run ends there. Ctrl-C ends the run soon, with a complete model.

    A second Ctrl-C ends it at once.
    """

    def __init__(self, folder: Path, *, resume: bool, dry_run: bool, quiet: bool) -> None:
        super().__init__(folder, resume=resume, quiet=quiet)
        self.dry_run = dry_run
        self._previous: dict[int, Any] = {}

    @property
    def is_interrupted(self) -> bool:
        """Whether a signal ends the run."""
        return self.stopped_by is not None

    def __enter__(self) -> "LearningProgress":
        if current_thread() is main_thread():
            signals = (signal.SIGINT, signal.SIGTERM)
            self._previous = {number: signal.signal(number, self._interrupt) for number in signals}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: "TracebackType | None"
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        super().__exit__(kind, error, at)

    def _interrupt(self, number: int, frame: Any) -> None:
        again, self.stopped_by = self.is_interrupted, number
        if again or self.stage == "train":
            raise Terminated if number == signal.SIGTERM else KeyboardInterrupt
        note("Stopping: the run ends with what is learned so far. Once more ends it at once.")

    def should_stop(self) -> bool:
        return self.is_interrupted

    def on_plan(self, plan: Plan, estimate: Estimate | None) -> None:
        if self.dry_run and self.quiet:
            print_json(asdict(plan) | {"estimate": None if estimate is None else vars(estimate)})
        elif self.dry_run:
            print_line(describe_plan(plan, estimate))
        elif not self.quiet:
            say(describe_plan(plan, estimate))
        if self.dry_run:
            raise typer.Exit

    def on_training(self, training: "AnyTraining") -> None:
        from ..neural.estimate import estimate
        from ..neural.training import Training

        assert isinstance(training, Training)
        if not self.quiet:
            say(str(estimate(training)))
        super().on_training(training)


class QuestionTrainingProgress(TrainingProgress):
    """The same for training on questions in words."""

    @property
    def files(self) -> "ModuleType":
        """The module that writes and resumes checkpoints of question models."""
        from ..io.models import questions

        return questions


def describe(training: "AnyTraining") -> str:
    """Return the number of the epoch, and the loss and the first validation metric of the last one."""
    number = min(len(training.history) + 1, training.config.num_epochs)
    epoch = f"Epoch {number} of {training.config.num_epochs}"
    if not training.history:
        return epoch
    last, metric = training.history[-1], training.validator.selected_by[0]
    name = "MRR" if metric == "mrr" else metric
    valid = f", valid {name} {last.metrics[metric]:.3f}" if last.metrics else ""
    return f"{epoch}: loss {last.loss:.3f}{valid}"

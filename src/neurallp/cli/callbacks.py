"""Callbacks of the command line: progress bars, notes on what Ctrl-C cut, and the dry run of `learn`."""

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ..pipeline.learn import Callbacks, Checkpoints, Stage
from .output import Bar, console, print_json, progress, say

if TYPE_CHECKING:
    from types import TracebackType

    from ..neural.training import Training

#: Stages as the progress bar names them.
NAMES: dict[Stage, str] = {"train": "Training", "weigh": "Weighting"}


class ShownProgress(Callbacks):
    """Show each stage of a run as a progress bar."""

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.training: Training | None = None
        self._open = ExitStack()
        self._bar: Bar | None = None

    def __enter__(self) -> "ShownProgress":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: "TracebackType | None"
    ) -> None:
        self._open.close()

    def on_training(self, training: "Training") -> None:
        self.training = training

    def on_stage(self, stage: Stage, total: int, done: int = 0) -> None:
        if self._bar is None:
            self._bar = self._open.enter_context(progress(NAMES[stage], total, quiet=self.quiet))
        description = NAMES[stage] if stage != "train" or self.training is None else describe(self.training)
        self._bar.restart(description, total, done)

    def on_progress(self, num: int) -> None:
        if self._bar is not None:
            self._bar.advance(num)

    def on_epoch(self, training: "Training") -> None:
        if self._bar is not None:
            self._bar.describe(describe(training))


class LearningProgress(ShownProgress, Checkpoints):
    """Also keep checkpoints, and keep what is learned when Ctrl-C ends a stage."""

    def __init__(self, folder: Path, *, resume: bool, dry_run: bool, quiet: bool) -> None:
        ShownProgress.__init__(self, quiet=quiet)
        Checkpoints.__init__(self, folder, resume=resume)
        self.dry_run = dry_run

    def on_training(self, training: "Training") -> None:
        from ..neural.estimate import estimate

        ShownProgress.on_training(self, training)
        expected = estimate(training)
        if self.dry_run:
            print_json(vars(expected)) if self.quiet else console.print(str(expected))
            raise typer.Exit
        if not self.quiet:
            say(str(expected))
        Checkpoints.on_training(self, training)

    def on_epoch(self, training: "Training") -> None:
        Checkpoints.on_epoch(self, training)
        ShownProgress.on_epoch(self, training)

    def on_interrupt(self, stage: Stage) -> bool:
        if stage == "weigh":
            say("Weighting was cut: the model is kept without weighted rules.")
        elif self.training is None or not self.training.history:
            say("Training was cut in the first epoch: nothing is kept.")
        else:
            num = len(self.training.history)
            say(f"Training was cut after epoch {num}: the best epoch is kept. --resume continues it.")
        return True


def describe(training: "Training") -> str:
    """Return the number of the epoch, and the loss and validation MRR of the last one."""
    number = min(len(training.history) + 1, training.config.num_epochs)
    epoch = f"Epoch {number} of {training.config.num_epochs}"
    if not training.history:
        return epoch
    last = training.history[-1]
    mrr = "" if last.valid_mrr is None else f", valid MRR {last.valid_mrr:.3f}"
    return f"{epoch}: loss {last.loss:.3f}{mrr}"

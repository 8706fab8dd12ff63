"""Callbacks: functions that follow a run of learning: progress, checkpoints, and stopping early."""

from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from ..config import Plan
from ..io.files import AnyPath
from .plan import Estimate

if TYPE_CHECKING:
    from ..neural.loop import TrainingLoop

    AnyTraining = TrainingLoop[Any, Any]

#: The stages of a run, in order.
Stage = Literal["plan", "train", "weigh", "calibrate"]


class Callbacks:
    """Functions that `learn` calls during a run. By default they do nothing, and Ctrl-C ends the run."""

    def on_plan(self, plan: Plan, estimate: Estimate | None) -> None:
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

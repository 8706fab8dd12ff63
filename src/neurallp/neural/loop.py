"""The training loop: epochs of mini-batches, validation after each, early stopping, and the best weights.

It knows neither graphs nor rules. A kind of training gives it examples in batches, a loss with its gradient
for one batch, and a validator.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import isfinite
from time import perf_counter
from typing import Generic, Protocol, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ConfigError
from .optimizer import Optimizer, copy_of
from .processes import Processes

B = TypeVar("B")
B_co = TypeVar("B_co", covariant=True)
M_contra = TypeVar("M_contra", bound=nn.Module, contravariant=True)
M = TypeVar("M", bound=nn.Module)


@dataclass(frozen=True)
class Epoch:
    """The loss and the validation metrics of one pass over the training examples."""

    number: int
    loss: float
    metrics: Mapping[str, float]  # empty: there is nothing to validate on
    seconds: float = field(compare=False)  # not stored, so that equal runs write equal files
    is_best: bool

    @property
    def valid_mrr(self) -> float | None:
        """The mean reciprocal rank on validation, where it was measured."""
        return self.metrics.get("mrr")


class Examples(Protocol[B_co]):
    """Training examples, in as many batches each epoch."""

    @property
    def num_batches(self) -> int:
        """The number of batches of an epoch."""
        ...

    def batches(self, rng: np.random.Generator) -> Iterator[B_co]:
        """Yield every example once, in random order."""
        ...


class Validator(Protocol[M_contra]):
    """Measures a model on validation data."""

    #: The metrics by which epochs are compared, the most important first; larger is better.
    selected_by: tuple[str, ...]
    #: Which of several epochs with equal metrics gives the best weights.
    prefers_later: bool

    def validate(self, model: M_contra) -> dict[str, float]:
        """Return the metrics of the model; none where there is nothing to validate on."""
        ...


class LoopConfig(Protocol):
    """The settings that the loop reads."""

    @property
    def num_epochs(self) -> int: ...
    @property
    def patience(self) -> int: ...
    @property
    def learning_rate(self) -> float: ...
    @property
    def seed(self) -> int: ...


class TrainingLoop(ABC, Generic[M, B]):
    """One run of training; it can stop after any epoch and be resumed with the same result."""

    def __init__(self, model: M, examples: Examples[B], validator: Validator[M], config: LoopConfig) -> None:
        self.model = model
        self.examples = examples
        self.validator = validator
        self.config = config
        self.history: list[Epoch] = []
        self.on_step: Callable[[], object] = lambda: None
        self.optimizer = Optimizer(model, config.learning_rate)
        self.best_weights = copy_of(model.state_dict())
        self.processes = Processes()

    @abstractmethod
    def loss_and_gradient(self, batch: B) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch, and its clipped gradient with respect to the flat parameters."""

    def epochs(self) -> Iterator[Epoch]:
        """Yield epochs until the last, or until validation has not improved for `patience` of them."""
        while not self.is_over:
            with one_torch_thread():
                self.history.append(self._run_epoch())
            if self.history[-1].is_best:
                self.best_weights = copy_of(self.model.state_dict())
            yield self.history[-1]

    @property
    def is_over(self) -> bool:
        """Whether no epoch is left to run."""
        return (
            len(self.history) >= self.config.num_epochs
            or self._epochs_without_progress >= self.config.patience
        )

    @property
    def best_epoch(self) -> Epoch:
        """The epoch that `best_weights` are from."""
        return next(epoch for epoch in reversed(self.history) if epoch.is_best)

    @property
    def _epochs_without_progress(self) -> int:
        """The number of epochs since the first one with the best metrics; 0 without validation."""
        keys = [self._selection_key(epoch.metrics) for epoch in self.history if epoch.metrics]
        return len(keys) - 1 - keys.index(max(keys)) if keys else 0

    def _selection_key(self, metrics: Mapping[str, float]) -> tuple[float, ...]:
        return tuple(metrics[name] for name in self.validator.selected_by)

    def _run_epoch(self) -> Epoch:
        started, number = perf_counter(), len(self.history) + 1
        self.model.train()
        # Seeded by the epoch, so that a resumed run shuffles as an uninterrupted one would have.
        batches = self.examples.batches(np.random.default_rng([self.config.seed, number]))
        losses = [self.step(batch) for batch in batches]
        loss = float(torch.stack(losses).mean())
        self._require_finite(loss, number)
        metrics = self.validator.validate(self.model.eval())
        return Epoch(number, loss, metrics, perf_counter() - started, self._is_best(metrics))

    def _require_finite(self, loss: float, number: int) -> None:
        if isfinite(loss) and bool(self.optimizer.flat_parameters.isfinite().all()):
            return
        raise ConfigError(
            f"Training diverged in epoch {number}: the loss or the weights are infinite or NaN. "
            f"Try a learning_rate below {self.config.learning_rate}."
        )

    def _is_best(self, metrics: Mapping[str, float]) -> bool:
        """Return whether no earlier epoch is preferred; without validation the last epoch is the best."""
        if not metrics:
            return True
        key = self._selection_key(metrics)
        earlier = [self._selection_key(epoch.metrics) for epoch in self.history if epoch.metrics]
        return all(key > other or (key == other and self.validator.prefers_later) for other in earlier)

    def step(self, batch: B) -> Tensor:
        """Take one step of gradient descent and return the loss before it."""
        loss, gradient = self.loss_and_gradient(batch)
        self.optimizer.step(gradient)
        self.on_step()
        return loss

    def state(self) -> dict[str, Tensor]:
        """Return the last epoch's weights, Adam's moments, and the best weights.

        Together with the history this is all that resuming needs.
        """
        return self.optimizer.state(self.best_weights)

    def restore(self, state: dict[str, Tensor], history: list[Epoch]) -> None:
        """Continue from `state` as if the epochs of `history` had just been run."""
        self.best_weights, self.history = self.optimizer.restore(state), list(history)

    def follow_leader(self) -> None:
        """Continue from the leader's state in all processes; with one process nothing changes."""
        if self.processes.num > 1:
            self.restore(*self.processes.of_leader((self.state(), self.history)))


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Limit torch to one thread, because its pool would compete with the engine's threads for the cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)

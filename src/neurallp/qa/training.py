"""Training on questions with their answers: no relation is ever named."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import isfinite
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from ..config import QuestionTrainingConfig
from ..engines.base import Engine
from ..errors import ConfigError
from ..neural.objective import SMALLEST_SCORE
from ..neural.optimizer import Optimizer, copy_of, flatten
from ..neural.training import one_torch_thread
from .evaluation import evaluate_questions
from .examples import QuestionExamples
from .model import QuestionModel

#: A longer gradient is shortened to this.
LONGEST = 5.0


@dataclass(frozen=True)
class QuestionEpoch:
    """What one pass over the training questions gave."""

    number: int
    loss: float
    valid_hits_at_1: float
    valid_accuracy: float
    threshold: float  # of the scores, the one that validation likes best
    seconds: float
    is_best: bool

    @property
    def selection_metric(self) -> tuple[float, float]:
        """What epochs are chosen by: Hits@1, and among equals the paper's accuracy."""
        return self.valid_hits_at_1, self.valid_accuracy


class QuestionTraining:
    """One run of training on questions; can stop after any epoch and be taken up again."""

    def __init__(
        self,
        model: QuestionModel,
        engine: Engine,
        train: QuestionExamples,
        valid: QuestionExamples,
        config: QuestionTrainingConfig,
    ) -> None:
        self.model, self.engine, self.train, self.valid, self.config = model, engine, train, valid, config
        self.history: list[QuestionEpoch] = []
        self.on_step: Callable[[], object] = lambda: None
        self.descent = Optimizer(model, config.learning_rate)
        self.best_weights = copy_of(model.state_dict())

    @property
    def num_batches(self) -> int:
        """How many batches an epoch has."""
        return -(-len(self.train) // self.config.batch_size)

    def epochs(self) -> Iterator[QuestionEpoch]:
        """Yield epochs until the last, or until validation has not improved for `patience` of them."""
        while not self.is_over:
            with one_torch_thread():
                epoch = self._run_epoch(len(self.history) + 1)
            self.history.append(epoch)
            if epoch.is_best:
                self.best_weights = copy_of(self.model.state_dict())
            yield epoch

    @property
    def is_over(self) -> bool:
        """Whether there is no epoch left to run."""
        merits = [epoch.selection_metric for epoch in self.history]
        since_better = len(merits) - 1 - merits.index(max(merits)) if merits else 0
        return len(merits) >= self.config.num_epochs or since_better >= self.config.patience

    @property
    def best_epoch(self) -> QuestionEpoch:
        """The epoch that `best_weights` are from."""
        return next(epoch for epoch in reversed(self.history) if epoch.is_best)

    def state(self) -> dict[str, Tensor]:
        """Return the last epoch's weights and moments, and the best weights."""
        return self.descent.state(self.best_weights)

    def restore(self, state: dict[str, Tensor], history: list[QuestionEpoch]) -> None:
        """Go on from `state` as if the epochs of `history` had just been run."""
        self.best_weights, self.history = self.descent.restore(state), list(history)

    def _run_epoch(self, number: int) -> QuestionEpoch:
        started = perf_counter()
        self.model.train()
        rng = np.random.default_rng([self.config.seed, number])
        torch.manual_seed(int(rng.integers(2**31)))
        loss = float(np.mean([self._step(batch) for batch in self._batches(rng)]))
        if not isfinite(loss):
            raise ConfigError(f"The loss of epoch {number} is {loss}. Lower the learning_rate.")
        found = evaluate_questions(self.model.eval(), self.engine, self.valid)
        selection_metric = float(found.hits_at_1[:, 0].mean()), float(found.accuracy[:, 0].mean())
        # Of equals the last: it has learned for longer, so that its rules are surer.
        is_best = all(selection_metric >= epoch.selection_metric for epoch in self.history)
        seconds = perf_counter() - started
        return QuestionEpoch(number, loss, *selection_metric, found.best_threshold(), seconds, is_best)

    def _batches(self, rng: np.random.Generator) -> Iterator[QuestionExamples]:
        order = rng.permutation(len(self.train))
        for start in range(0, len(order), self.config.batch_size):
            yield self.train[order[start : start + self.config.batch_size]]

    def _step(self, batch: QuestionExamples) -> float:
        loss = self.loss(batch)
        gradient = flatten(torch.autograd.grad(loss, self.descent.weights, materialize_grads=True))
        self.descent.step(gradient * (LONGEST / gradient.norm()).clamp(max=1.0))
        self.on_step()
        return float(loss.detach())

    def loss(self, batch: QuestionExamples) -> Tensor:
        """Return the mean of -log of the right answers' share of all scores.

        Of several right answers the sum counts: which of them gets how much is left to the walk.
        """
        rows = batch.rows
        pairs, total = self.model.pair_scores(self.engine, batch.sources, batch.phrases, rows, batch.answers)
        right = total.new_zeros(len(batch)).index_add(0, torch.as_tensor(rows, device=total.device), pairs)
        reachable = right > SMALLEST_SCORE
        shares = right[reachable] / total[reachable]
        return -shares.clamp(max=1.0).log().sum() / max(1, len(shares))

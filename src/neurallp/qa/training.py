"""Training of a question model on questions with their answers; the questions name no relations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..config import QuestionTrainingConfig
from ..engines.base import Engine
from ..neural.loop import TrainingLoop
from ..neural.objective import normalized_likelihood
from ..neural.optimizer import flatten
from .evaluation import evaluate_questions
from .examples import QuestionExamples
from .model import QuestionModel

#: A gradient of greater norm is scaled down to this norm.
MAX_GRADIENT_NORM = 5.0


class QuestionTraining(TrainingLoop[QuestionModel, QuestionExamples]):
    """One run of training on questions."""

    config: QuestionTrainingConfig

    def __init__(
        self,
        model: QuestionModel,
        engine: Engine,
        train: QuestionExamples,
        valid: QuestionExamples,
        config: QuestionTrainingConfig,
    ) -> None:
        batches = QuestionBatches(train, config.batch_size)
        super().__init__(model, batches, QuestionValidator(engine, valid), config)
        self.engine = engine
        self.train, self.valid = train, valid

    def loss_and_gradient(self, batch: QuestionExamples) -> tuple[Tensor, Tensor]:
        """Return the normalised likelihood of a batch, and its clipped gradient for the flat parameters."""
        right, negatives = self._right_and_negatives(batch)
        loss, *gradients = normalized_likelihood(right.detach(), negatives.detach())
        found = torch.autograd.grad(
            (right, negatives), self.optimizer.weights, gradients, materialize_grads=True
        )
        gradient = flatten(found)
        return loss, gradient * (MAX_GRADIENT_NORM / gradient.norm()).clamp(max=1.0)

    def _right_and_negatives(self, batch: QuestionExamples) -> tuple[Tensor, Tensor]:
        """Return the sum of the scores of all right answers and of all others, for each question.

        Right answers count together: how they divide their sum does not change the loss.
        """
        questions = batch.sources, batch.phrases
        pairs, totals = self.model.pair_scores(self.engine, *questions, batch.rows, batch.answers)
        rows = torch.as_tensor(batch.rows, device=totals.device)
        right = totals.new_zeros(len(batch)).index_add(0, rows, pairs)
        return right, (totals - right).clamp(min=0.0)


@dataclass(frozen=True, eq=False)
class QuestionBatches:
    """Training examples in batches of random order."""

    examples: QuestionExamples
    batch_size: int

    @property
    def num_batches(self) -> int:
        """The number of batches of an epoch."""
        return -(-len(self.examples) // self.batch_size)

    def batches(self, rng: np.random.Generator) -> Iterator[QuestionExamples]:
        """Yield every example once, in random order; the same generator also seeds word dropout."""
        torch.manual_seed(int(rng.integers(2**31)))
        order = rng.permutation(len(self.examples))
        for start in range(0, len(order), self.batch_size):
            yield self.examples[order[start : start + self.batch_size]]


class QuestionValidator:
    """Measures Hits@1, accuracy and the best threshold on held-out questions."""

    selected_by: tuple[str, ...] = ("hits@1", "accuracy")
    #: Of epochs with equal measures the last one has the most confident rules.
    prefers_later: bool = True

    def __init__(self, engine: Engine, examples: QuestionExamples) -> None:
        self.engine, self.examples = engine, examples

    def validate(self, model: QuestionModel) -> dict[str, float]:
        """Return the measures of the model's answers, and the threshold with the best F1."""
        found = evaluate_questions(model, self.engine, self.examples)
        return {
            "hits@1": float(found.hits_at_1[:, 0].mean()),
            "accuracy": float(found.accuracy[:, 0].mean()),
            "threshold": found.best_threshold(),
        }

"""Training of the neural model on the facts of a knowledge base."""

import numpy as np
import torch
from torch import Tensor

from ..config import TrainingConfig
from ..engines import make_engine
from ..errors import ConfigError
from ..evaluation import Evaluation, evaluate
from ..graph.knowledge_base import Split
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from .examples import Batch, TrainingExamples
from .gradients import score_with_backward
from .loop import Epoch, TrainingLoop, one_torch_thread
from .model import ModelScorer, NeuralLP
from .objective import OBJECTIVES
from .optimizer import flatten
from .processes import Processes

__all__ = [
    "Epoch",
    "RankingValidator",
    "Training",
    "TrainingExamples",
    "one_torch_thread",
    "require_device",
]

#: Each component of the gradient is clipped to this absolute value.
MAX_GRADIENT = 5.0


class Training(TrainingLoop[NeuralLP, Batch]):
    """One run of training on a split."""

    examples: TrainingExamples
    validator: "RankingValidator"
    config: TrainingConfig

    def __init__(
        self,
        model: NeuralLP,
        split: Split,
        config: TrainingConfig,
        engine: str = "auto",
        device: str = "cpu",
    ) -> None:
        examples = TrainingExamples.of(split, config)
        super().__init__(model.to(device), examples, RankingValidator(split, engine, device), config)
        self.split = split
        self.engine = make_engine(engine, examples.operators, device)
        self.processes = Processes.join()

    @torch.inference_mode()
    def loss_and_gradient(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch, and its clipped gradient with respect to the flat parameters."""
        if self.processes.num > 1:
            loss, gradient = self._average(batch[self.processes.part(len(batch))])
        else:
            loss, gradients = self.loss_and_gradients(batch)
            gradient = flatten(gradients)
        return loss, gradient.clamp_(-MAX_GRADIENT, MAX_GRADIENT)

    def _average(self, part: Batch) -> tuple[Tensor, Tensor]:
        """Return the loss of a batch and its gradient, averaged over the processes; `part` is this one's."""
        values, weight = (
            self.optimizer.flat_parameters.new_zeros(1 + self.optimizer.flat_parameters.numel()),
            0,
        )
        if len(part):
            loss, gradients, weight = self._score(part)
            values = torch.cat([loss.reshape(1), flatten(gradients)])
        loss, gradient = self.processes.mean(values, weight).tensor_split([1])
        return loss.squeeze(0), gradient

    @torch.inference_mode()
    def loss_and_gradients(self, batch: Batch) -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the loss of a batch, and its gradient with respect to each of the model's parameters."""
        loss, gradients, _ = self._score(batch)
        return loss, gradients

    def _score(self, batch: Batch) -> tuple[Tensor, tuple[Tensor, ...], int]:
        """Return the loss of a batch, its gradients, and the number of questions that it is the mean of."""
        objective = OBJECTIVES[self.config.objective]
        excludes_source = self.model.excludes_source(batch.questions.queries)
        pairs = objective.pairs(batch.questions, self.examples.known, excludes_source)
        scored = score_with_backward(self.model, self.engine, batch.queries, *pairs)
        loss, grad_scores, grad_totals = objective.loss(scored.scores, scored.totals, pairs[0])
        num = objective.num_counted(scored.scores[: len(batch)])
        return loss, scored.backward(grad_scores, grad_totals), num


class RankingValidator:
    """Measures the realistic filtered MRR on the validation triples; never sees the test triples."""

    selected_by: tuple[str, ...] = ("mrr",)
    prefers_later: bool = False

    def __init__(self, split: Split, engine: str, device: str) -> None:
        num_relations = len(split.relations)
        self.engine = make_engine(engine, Operators.of(split.known), device)
        self.questions = ask_both_ways(split.valid, num_relations)
        self.known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), num_relations)

    def validate(self, model: NeuralLP) -> dict[str, float]:
        """Return the MRR of the validation answers; nothing without validation triples."""
        return {"mrr": self.evaluate(model, self.questions).mrr} if len(self.questions) else {}

    def evaluate(self, model: NeuralLP, questions: Questions) -> Evaluation:
        """Return all measures of some validation questions."""
        return evaluate(ModelScorer(model, self.engine), questions, self.known)


def choose_device(name: str, engine: str = "auto") -> str:
    """Return the device to train on; `auto` is a GPU where there is one that the engine can use."""
    if name != "auto":
        return name
    return "cuda" if engine != "cpu" and torch.cuda.is_available() else "cpu"


def require_device(device: str) -> None:
    """Raise unless torch can use `device`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"Cannot use the device {device!r}. Use cpu, or cuda with a GPU.") from error

"""Training: epochs of mini-batches, judged on validation, the best one kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter

import numpy as np
import torch
from torch import Tensor

from ..config import TrainingConfig, TrainingMasking
from ..engines import make_engine
from ..engines.base import QueryBatch
from ..errors import ConfigError
from ..evaluation import Evaluation, evaluate
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split, separate_facts
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from .model import ModelScorer, NeuralLP
from .objective import log_score, share
from .optimizer import Optimizer, copy_of, flatten


@dataclass(frozen=True)
class Epoch:
    """What one pass over the training questions gave."""

    number: int
    loss: float
    valid_mrr: float | None  # None: there is nothing to validate on
    seconds: float
    is_best: bool


class Training:
    """One run of training; can stop after any epoch and be taken up again with the same result."""

    def __init__(
        self,
        model: NeuralLP,
        split: Split,
        config: TrainingConfig,
        engine: str = "auto",
        device: str = "cpu",
    ) -> None:
        self.model = model.to(device)
        self.split = split
        self.config = config
        self.history: list[Epoch] = []
        self.on_step: Callable[[], object] = lambda: None
        self.examples = TrainingExamples.of(split, config)
        self.engine = make_engine(engine, self.examples.operators, device)
        self.validator = Validator(split, engine, device)
        self.optimizer = Optimizer(self.model, config.learning_rate)
        self.best_weights = copy_of(model.state_dict())

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
        return (
            len(self.history) >= self.config.num_epochs
            or len(self.history) - self._best_number >= self.config.patience
        )

    @property
    def _best_number(self) -> int:
        return max((epoch.number for epoch in self.history if epoch.is_best), default=0)

    def _run_epoch(self) -> Epoch:
        started = perf_counter()
        number = len(self.history) + 1
        # Seeded by the epoch, so that a resumed run shuffles as an uninterrupted one would have.
        batches = self.examples.batches(np.random.default_rng([self.config.seed, number]))
        losses = [self.step(batch) for batch in batches]
        loss = float(torch.stack(losses).mean())
        if not bool(self.optimizer.flat_parameters.isfinite().all()):
            rate = self.config.learning_rate
            raise ConfigError(f"Learning went out of bounds in epoch {number}. Lower learning_rate {rate}.")
        mrr = self.validator.valid_mrr(self.model)
        return Epoch(number, loss, mrr, perf_counter() - started, self._is_best(mrr))

    def _is_best(self, mrr: float | None) -> bool:
        """Return whether no epoch so far validates as well; without validation the last is the best."""
        earlier = [epoch.valid_mrr for epoch in self.history if epoch.valid_mrr is not None]
        return mrr is None or mrr > max(earlier, default=-1.0)

    def step(self, batch: "Batch") -> Tensor:
        """Take one step of gradient descent and return the loss before it."""
        with torch.inference_mode():
            loss, gradients = self.differentiate(batch)
            self.optimizer.step(flatten(gradients).clamp_(-5.0, 5.0))
        self.on_step()
        return loss

    @torch.inference_mode()
    def differentiate(self, batch: "Batch") -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the objective over a batch of questions, and its gradients to the weights.

        Nothing is told to autograd, which makes every operation of torch a sixth quicker.
        """
        if self.config.objective == "normalized":
            return self._share(batch)
        rows, answers = np.arange(len(batch.walks)), batch.questions.answers
        followed = self.model.score_with_backward(self.engine, batch.walks, rows, answers)
        loss, to_answers = log_score(followed.scores)
        return loss, followed.backward(to_answers, None)

    def _share(self, batch: "Batch") -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the share with its gradients; other known answers and barred sources are no rivals."""
        questions, num = batch.questions, len(batch.walks)
        known_rows, known = self.examples.known.pairs(questions.sources, questions.queries)
        excluded = np.flatnonzero(self.model.excludes_source(questions.queries))
        rows = np.concatenate([np.arange(num), known_rows, excluded])
        entities = np.concatenate([questions.answers, known, questions.sources[excluded]])
        followed = self.model.score_with_backward(self.engine, batch.walks, rows, entities)
        excused = torch.as_tensor(rows[num:], device=followed.scores.device)
        negatives = followed.totals.index_add(0, excused, followed.scores[num:], alpha=-1)
        loss, to_answers, to_rivals = share(followed.scores[:num], negatives.clamp(min=0.0))
        to_rivals = torch.where(negatives > 0, to_rivals, 0.0)
        return loss, followed.backward(torch.cat([to_answers, -to_rivals[excused]]), to_rivals)

    def state(self) -> dict[str, Tensor]:
        """Return the last epoch's weights and moments, and the best weights.

        With the history it is all that resuming needs.
        """
        return self.optimizer.state(self.best_weights)

    def restore(self, state: dict[str, Tensor], history: list[Epoch]) -> None:
        """Go on from `state` as if the epochs of `history` had just been run."""
        self.best_weights, self.history = self.optimizer.restore(state), list(history)


@dataclass(frozen=True, eq=False)
class Batch:
    """Questions, and the walks that look for their answers; `walks.rows` are the queries."""

    questions: Questions
    walks: QueryBatch


@dataclass(frozen=True, eq=False)
class TrainingExamples:
    """What training walks on, what it asks, and what it hides while asking.

    - `fact` walks on all that is known, asks all of it, and hides the asked fact from its own question;
    - `batch` walks on all that is known, asks train, and hides the whole batch (the authors' program);
    - `train` walks on facts alone and asks train (the paper's text).
    """

    operators: Operators
    asked: Ids
    known: KnownAnswers
    masking: TrainingMasking
    facts_at_once: int

    @classmethod
    def of(cls, split: Split, config: TrainingConfig) -> "TrainingExamples":
        """Return the examples that `config` asks for; facts are set apart 3:1 where that is needed."""
        if config.training_masking != "fact":
            split = separate_facts(split, config.seed, unlinked=config.facts_apart == "unlinked")
        walked = split.facts if config.training_masking == "train" else split.known.facts
        asked = split.known.facts if config.training_masking == "fact" else split.train
        num_relations = len(split.relations)
        return cls(
            Operators.of_facts(walked, len(split.entities), num_relations),
            asked,
            KnownAnswers(split.known.facts, num_relations),
            config.training_masking,
            max(1, config.batch_size // 2),
        )

    @property
    def num_batches(self) -> int:
        """How many batches an epoch has."""
        return -(-len(self.asked) // self.facts_at_once)

    def batches(self, rng: np.random.Generator) -> Iterator[Batch]:
        """Yield all questions once, in random order."""
        facts = self.asked[rng.permutation(len(self.asked))]
        questions, edges = self._ask(facts)
        for start in range(0, len(facts), self.facts_at_once):
            end = start + self.facts_at_once
            yield self._batch(questions[2 * start : 2 * end], edges[start:end])

    def batch(self, facts: Ids) -> Batch:
        """Return both questions of each fact, with what they must not see."""
        return self._batch(*self._ask(facts))

    def _ask(self, facts: Ids) -> tuple[Questions, Ids]:
        """Return both questions of each fact, and its edges."""
        return ask_both_ways(facts, self.operators.num_relations), self.operators.edges_of(facts)

    def _batch(self, questions: Questions, edges: Ids) -> Batch:
        sources, queries = questions.sources, questions.queries
        if self.masking == "train":
            return Batch(questions, QueryBatch.unmasked(sources, queries))
        if self.masking == "fact":
            return Batch(
                questions, QueryBatch.masked(sources, queries, edges, np.repeat(np.arange(len(edges)), 2))
            )
        lists = np.zeros(len(sources), dtype=np.int64)
        return Batch(questions, QueryBatch.masked(sources, queries, edges.reshape(1, -1), lists))


class Validator:
    """Validation: the realistic filtered MRR over all that is known, test never looked at."""

    def __init__(self, split: Split, engine: str, device: str) -> None:
        num_relations = len(split.relations)
        self.engine = make_engine(engine, Operators.of(split.known), device)
        self.questions = ask_both_ways(split.valid, num_relations)
        self.known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), num_relations)

    def valid_mrr(self, model: NeuralLP) -> float | None:
        """Return the realistic mean reciprocal rank of the validation answers, or None without any."""
        if not len(self.questions):
            return None
        return self.evaluate(model, self.questions).mrr

    def evaluate(self, model: NeuralLP, questions: Questions) -> Evaluation:
        """Return the measures of some validation questions."""
        return evaluate(ModelScorer(model, self.engine), questions, self.known)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Keep torch to one thread: its pool and the engine's would fight for the same cores."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def require_device(device: str) -> None:
    """Raise unless torch can use `device`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"Cannot use the device {device!r}. Use cpu, or cuda with a GPU.") from error

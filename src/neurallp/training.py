"""Training: epochs of mini-batches, judged on validation, the best one kept."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import perf_counter
from typing import Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from .engine import Operators, Walks, make_engine
from .errors import ConfigError, ModelError, require_choice, require_positive
from .evaluation import Evaluation, evaluate
from .knowledge import Ids, KnownAnswers, Questions, Split, ask_both_ways, separate_facts
from .model import ModelScorer, NeuralLP
from .objective import Objective, log_score, share

Hiding = Literal["fact", "batch", "train"]
FactsApart = Literal["relation", "unlinked"]


@dataclass(frozen=True)
class TrainingConfig:
    """How a model is trained; the fields are the command's flags and the keys of config.json."""

    num_epochs: int = 20
    batch_size: int = 128  # questions: each fact is asked both ways
    learning_rate: float = 0.001
    patience: int = 4  # epochs without a better validation MRR before training stops
    # Departs from eq. 4: wrong answers count too. UMLS validation MRR .64 -> .68, test .87 -> .93.
    objective: Objective = "share"
    # Departs from the fixed 3:1 split: every fact is asked, hidden from its own question only.
    hiding: Hiding = "fact"
    facts_apart: FactsApart = "relation"  # how train gives up facts where hiding needs them apart
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("num_epochs", "batch_size", "patience"):
            require_positive(name, getattr(self, name))
        for name, choices in (("objective", Objective), ("hiding", Hiding), ("facts_apart", FactsApart)):
            require_choice(name, getattr(self, name), get_args(choices))
        if not 0 < self.learning_rate < float("inf"):
            raise ConfigError(f"learning_rate must be above 0 and finite, got {self.learning_rate}.")
        if not 0 <= self.seed < 2**63:
            raise ConfigError(f"seed must be at least 0 and below 2^63, got {self.seed}.")


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
        self.lesson = Lesson.of(split, config)
        self.engine = make_engine(engine, self.lesson.operators, device)
        self.judge = Judge(split, engine, device)
        self.weights = list(model.parameters())
        self.flat_weights = _lay_end_to_end(self.weights)
        self.optimizer = torch.optim.Adam([self.flat_weights], lr=config.learning_rate, fused=True)
        self.best_weights = _copy(model.state_dict())

    def epochs(self) -> Iterator[Epoch]:
        """Yield epochs until the last, or until validation has not improved for `patience` of them."""
        while not self.is_over:
            with one_torch_thread():
                self.history.append(self._run_epoch())
            if self.history[-1].is_best:
                self.best_weights = _copy(self.model.state_dict())
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
        batches = self.lesson.batches(np.random.default_rng([self.config.seed, number]))
        losses = [self.step(batch) for batch in batches]
        loss = float(torch.stack(losses).mean())
        if not bool(self.flat_weights.isfinite().all()):
            rate = self.config.learning_rate
            raise ConfigError(f"Learning went out of bounds in epoch {number}. Lower learning_rate {rate}.")
        mrr = self.judge.valid_mrr(self.model)
        return Epoch(number, loss, mrr, perf_counter() - started, self._is_best(mrr))

    def _is_best(self, mrr: float | None) -> bool:
        """Return whether no epoch so far validates as well; without validation the last is the best."""
        earlier = [epoch.valid_mrr for epoch in self.history if epoch.valid_mrr is not None]
        return mrr is None or mrr > max(earlier, default=-1.0)

    def step(self, batch: "Batch") -> Tensor:
        """Take one step of gradient descent and return the loss before it."""
        loss, gradients = self.differentiate(batch)
        self.flat_weights.grad = torch.cat([each.flatten() for each in gradients]).clamp_(-5.0, 5.0)
        self.optimizer.step()
        self.on_step()
        return loss

    def differentiate(self, batch: "Batch") -> tuple[Tensor, tuple[Tensor, ...]]:
        """Return the loss of a batch and its gradients to the weights."""
        loss = self.loss(batch)
        return loss.detach(), torch.autograd.grad(loss, self.weights)

    def loss(self, batch: "Batch") -> Tensor:
        """Return the objective over a batch of questions."""
        rows, answers = np.arange(len(batch.walks)), batch.questions.answers
        if self.config.objective == "log-score":
            return log_score(self.model.pair_scores(self.engine, batch.walks, rows, answers)[0])
        return self._share(batch, rows, answers)

    def _share(self, batch: "Batch", rows: Ids, answers: Ids) -> Tensor:
        questions = batch.questions
        known_rows, known = self.lesson.known.pairs(questions.sources, questions.queries)
        barred = np.flatnonzero(self.model.excludes_source(questions.queries))
        all_rows = np.concatenate([rows, known_rows, barred])
        entities = np.concatenate([answers, known, questions.sources[barred]])
        pairs, total = self.model.pair_scores(self.engine, batch.walks, all_rows, entities)
        excused = total.new_zeros(len(rows)).index_add(
            0, torch.as_tensor(all_rows[len(rows) :], device=total.device), pairs[len(rows) :]
        )
        return share(pairs[: len(rows)], (total - excused).clamp(min=0.0))

    def state(self) -> dict[str, Tensor]:
        """Return the last epoch's weights and optimizer moments, and the best weights.

        With the history it is all that resuming needs.
        """
        return gather_state(self.model, self.optimizer, self.best_weights)

    def restore(self, state: dict[str, Tensor], history: list[Epoch]) -> None:
        """Go on from `state` as if the epochs of `history` had just been run."""
        self.best_weights, self.history = spread_state(state, self.model, self.optimizer), list(history)


@dataclass(frozen=True, eq=False)
class Batch:
    """Questions, and the walks that look for their answers; `walks.rows` are the queries."""

    questions: Questions
    walks: Walks


@dataclass(frozen=True, eq=False)
class Lesson:
    """What training walks on, what it asks, and what it hides while asking.

    - `fact` walks on all that is known, asks all of it, and hides the asked fact from its own question;
    - `batch` walks on all that is known, asks train, and hides the whole batch (the authors' program);
    - `train` walks on facts alone and asks train (the paper's text).
    """

    operators: Operators
    asked: Ids
    known: KnownAnswers
    hiding: Hiding
    facts_at_once: int

    @classmethod
    def of(cls, split: Split, config: TrainingConfig) -> "Lesson":
        """Return the lesson that `config` asks for; facts are set apart 3:1 where that is needed."""
        if config.hiding != "fact":
            split = separate_facts(split, config.seed, unlinked=config.facts_apart == "unlinked")
        walked = split.facts if config.hiding == "train" else split.known.facts
        asked = split.known.facts if config.hiding == "fact" else split.train
        num_relations = len(split.relations)
        return cls(
            Operators.of_facts(walked, len(split.entities), num_relations),
            asked,
            KnownAnswers(split.known.facts, num_relations),
            config.hiding,
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
        if self.hiding == "train":
            return Batch(questions, Walks.free(sources, queries))
        if self.hiding == "fact":
            return Batch(
                questions, Walks.hiding(sources, queries, edges, np.repeat(np.arange(len(edges)), 2))
            )
        lists = np.zeros(len(sources), dtype=np.int64)
        return Batch(questions, Walks.hiding(sources, queries, edges.reshape(1, -1), lists))


class Judge:
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


def _lay_end_to_end(weights: list[nn.Parameter]) -> nn.Parameter:
    """Move all weights into one row, of which they become parts: one long step of Adam takes a third."""
    row = nn.Parameter(torch.cat([each.detach().flatten() for each in weights]))
    parts = row.detach().split_with_sizes([each.numel() for each in weights])
    for each, place in zip(weights, parts, strict=True):
        each.data = place.view_as(each)
    return row


def gather_state(
    model: nn.Module, optimizer: torch.optim.Optimizer, best_weights: dict[str, Tensor]
) -> dict[str, Tensor]:
    """Return the weights of a run, the moments of its optimizer and its best weights under one roof."""
    moments = {
        f"optimizer.{place}.{name}": value
        for place, entry in optimizer.state_dict()["state"].items()
        for name, value in entry.items()
    }
    weights = {f"model.{name}": value for name, value in model.state_dict().items()}
    best = {f"best.{name}": value for name, value in best_weights.items()}
    return _copy(weights | best | moments)


def spread_state(
    state: dict[str, Tensor], model: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    """Give weights and moments of `gather_state` back to model and optimizer; return the best weights."""
    moments: dict[int, dict[str, Tensor]] = {}
    for key, value in _under("optimizer.", state).items():
        place, name = key.split(".")
        moments.setdefault(int(place), {})[name] = value
    moved = [weights.shape for group in optimizer.param_groups for weights in group["params"]]
    if moments and [moments[place]["exp_avg"].shape for place in sorted(moments)] != moved:
        raise ModelError("The checkpoint is of another version of neurallp. Learn without --resume.")
    model.load_state_dict(_under("model.", state))
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": moments, "param_groups": groups})
    return _under("best.", state)


def require_device(device: str) -> None:
    """Raise unless torch can use `device`."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(f"Cannot use the device {device!r}. Use cpu, or cuda with a GPU.") from error


def _copy(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor.detach().clone() for name, tensor in tensors.items()}


def _under(prefix: str, tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return the tensors whose name starts so, without that start."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}

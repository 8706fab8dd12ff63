"""Weighting on a GPU: features in dense blocks, while the CPU finds the candidates of the next queries."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import torch
from torch import Tensor

from ..config import WeightingConfig
from ..evaluation import realistic_rank
from ..graph.arrays import Floats, Ids
from ..graph.questions import Questions
from .adam_kernels import EPSILON, FIRST_DECAY, LAST_RATE, SECOND_DECAY
from .features_gpu import Block, GpuFeatureWalker
from .features_kernels import QuestionBatch
from .fitting import OnQuery, Weighting
from .fitting_kernels import is_left_out
from .kinds.base import Candidate
from .masking import Filters
from .query_fit import FitResult, QueryFit, Setting
from .thread_worker import Worker

#: Questions that are counted or ranked at a time.
QUESTIONS_AT_ONCE = 64

T = TypeVar("T")


class GpuWeighting(Weighting):
    """Weights rules query by query on one device of torch."""

    def __init__(self, *given: Any, device: str = "cuda", **named: Any) -> None:
        super().__init__(*given, **named)
        self.device = device
        self._on_device: GpuWorker | None = None

    def _pilot_all(
        self, queries: Sequence[int], pool: Executor, on_done: OnQuery
    ) -> dict[int, list[FitResult]]:
        fits = map(self._pilot, queries, pool.map(self._find, queries))
        return self._collect(queries, fits, on_done)

    def _find(self, query: int) -> list[tuple[Candidate, ...]]:
        with self._worker() as worker:
            return worker.attempt(lambda: worker.candidates(query)) or []

    def _pilot(self, query: int, candidates: list[tuple[Candidate, ...]]) -> list[FitResult] | None:
        worker = self._gpu_worker
        return worker.attempt(lambda: worker.pilot(query, candidates)) or None

    def _map(
        self, work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], pool: Executor
    ) -> Iterator[T | None]:
        worker = self._gpu_worker
        return (worker.attempt(partial(work, worker, *task)) for task in tasks)

    @property
    def _gpu_worker(self) -> "GpuWorker":
        """The one worker of the device; kept once made."""
        if self._on_device is None:
            self._on_device = GpuWorker(self)
        return self._on_device

    def with_config(self, config: WeightingConfig) -> "GpuWeighting":
        """Return a weighting of the same facts with other settings."""
        other = super().with_config(config)
        assert isinstance(other, GpuWeighting)
        other._on_device = None
        return other


class GpuWorker(Worker):
    """The worker that fits weights on the device."""

    def __init__(self, weighting: GpuWeighting) -> None:
        super().__init__(weighting)
        self.blocks = GpuFeatureWalker(self.walker, weighting.device)

    def _start(
        self, query: int, rules: tuple[Candidate, ...], settings: Sequence[Setting], dropout: float = 0.0
    ) -> QueryFit:
        return GpuQueryFit(self, query, rules, settings, dropout)


@dataclass(frozen=True, eq=False)
class _GpuExamples:
    """Questions on the device: features, answers, which entities are no candidates, and which are right."""

    values: Tensor  # (row, 2, question)
    answers: Tensor  # (question,)
    masked: Tensor  # (entity, question)
    known: Tensor  # (entity, question)
    answer_excluded: Tensor  # (question,)


class GpuQueryFit(QueryFit):
    """The fit of one query on the device. The weights are copied to the CPU when they are learned."""

    worker: GpuWorker

    def __init__(
        self,
        worker: GpuWorker,
        query: int,
        rules: tuple[Candidate, ...],
        settings: Sequence[Setting],
        dropout: float = 0.0,
    ) -> None:
        super().__init__(worker, query, rules, settings, dropout)
        self.layout = worker.blocks.layout(query, self.rules)
        self.dense_values = self._tensor(self.dense.values).float()
        self.own_fact = self._tensor(self.dense.masked - self.dense.values).float()

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.worker.blocks.device)

    @torch.no_grad()
    def learn(self, questions: Questions, effort: float = 1.0) -> None:
        """Fit the weights on the device."""
        state = ("penalties", "lower", "upper", "values", "gradients", "first", "second")
        for name in state:
            setattr(self, name, self._tensor(getattr(self, name)))
        super().learn(questions, effort)
        for name in state:
            setattr(self, name, getattr(self, name).cpu().numpy())

    def _gather(self, batch: QuestionBatch) -> Block:
        return self.worker.blocks.gather(self.plans, self.layout, batch)

    @torch.no_grad()
    def _prepare(self, features: Block, questions: Questions, filters: Filters) -> _GpuExamples:
        shape = len(self.dense.values), len(questions)
        known = torch.zeros(shape, dtype=torch.bool, device=self.worker.blocks.device)
        columns = np.repeat(np.arange(len(questions)), np.diff(filters.offsets))
        is_known = np.arange(len(columns)) < filters.known_ends[columns]
        known[self._tensor(filters.entities[is_known]), self._tensor(columns[is_known])] = True
        masked = known.clone()
        masked[self._tensor(filters.entities), self._tensor(columns)] = True
        answers = self._tensor(questions.answers)
        each = torch.arange(len(questions), device=known.device)
        known[answers, each] = True
        if self.exclude_source:
            masked[self._tensor(questions.sources), each] = True
        excluded = self._tensor(self._answers_excluded(questions))
        return _GpuExamples(features.values, answers, masked, known, excluded)

    def _count(self, examples: _GpuExamples) -> None:
        known = examples.known
        rows = torch.zeros(len(self.layout), 2, dtype=torch.int64, device=known.device)
        for start in range(0, len(examples.answers), QUESTIONS_AT_ONCE):
            own = slice(start, start + QUESTIONS_AT_ONCE)
            predicted = examples.values[:, 0, own] > 0
            rows[:, 0] += predicted.sum(1)
            rows[:, 1] += known[:, own].index_select(0, self.layout.entities).logical_and_(predicted).sum(1)
        counts = torch.zeros(self.num_rules, 2, dtype=torch.int64, device=known.device)
        self.counts += counts.index_add_(0, self.layout.rules, rows).cpu().numpy()

    def _like_values(self, array: Floats) -> Tensor:
        return self._tensor(array)

    def _fit_batches(self, examples: _GpuExamples, order: Ids, total: int) -> None:
        columns = self._tensor(order)  # once for all: the device waits for each copy
        for start in range(0, len(order), self.config.batch_size):
            batch = slice(start, start + self.config.batch_size)
            self._gradient(examples, columns[batch], self._dropout_mask(examples, order[batch]))
            self._step(total)

    def _step(self, total: int) -> None:
        """Take one step of Adam within the bounds, as `adam_kernels` does."""
        self.num_steps += 1
        self.gradients += self.penalties * self.values
        self.first += (1 - FIRST_DECAY) * (self.gradients - self.first)
        self.second += (1 - SECOND_DECAY) * (self.gradients**2 - self.second)
        share = max(LAST_RATE, 1 - (1 - LAST_RATE) * self.num_steps / total)
        mean = self.first / (1 - FIRST_DECAY**self.num_steps)
        variance = self.second / (1 - SECOND_DECAY**self.num_steps)
        change = self.config.learning_rate * share * mean / (variance**0.5 + EPSILON)
        self.values = (self.values - change).clip(self.lower, self.upper)

    def _dropout_mask(self, examples: _GpuExamples, questions: Ids) -> Tensor | None:
        """Return 1 / the share of rules that dropout keeps, for each rule that it keeps, (rule, question)."""
        if not self.dropout:
            return None
        salts = self.num_steps * len(examples.answers) + questions
        left_out = is_left_out(salts, np.arange(self.num_rules)[:, None], self.dropout)
        return self._tensor(~left_out / (1.0 - self.dropout)).float()

    def _gradient(self, examples: _GpuExamples, columns: Tensor, kept: Tensor | None) -> None:
        """Set the gradients to those of a batch's mean loss."""
        features = examples.values.index_select(2, columns)
        rows = None if kept is None else kept.index_select(0, self.layout.rules)
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        # Faster than torch's softmax, which visits the entities of a column one after another.
        amounts = self._amounts(features)
        amounts = amounts if rows is None else amounts.mul_(rows[:, None])
        odds = self._training_scores(examples, columns, amounts)
        odds = odds.sub_(odds.amax(0)).exp_()
        gradients = odds.div_(odds.sum(0) * len(columns))
        gradients[answers, :, each] -= 1 / len(columns)
        dense = (gradients * self.dense_values[:, None, None]).sum((0, 2))
        dense += (gradients[answers, :, each] * self.own_fact[answers][:, None]).sum(0)
        self.gradients = torch.cat([self._per_rule(gradients, features, rows), dense[None]]).double()

    def _training_scores(self, examples: _GpuExamples, columns: Tensor, amounts: Tensor) -> Tensor:
        """Return scores, (entity, setting, question), without the answer's own fact; -inf: no candidate."""
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        scores = self._scores(amounts)
        scores[answers, :, each] += self.own_fact[answers][:, None] * self._dense_weights
        return scores.masked_fill_(examples.masked.index_select(1, columns)[:, None], -torch.inf)

    @property
    def _dense_weights(self) -> Tensor:
        return self._tensor(self.values)[-1].float()

    def _amounts(self, features: Tensor) -> Tensor:
        """Return what each row adds to its entity's score, (row, setting, question)."""
        values = self._tensor(self.values).float()
        weights = self._rule_weights(values).index_select(0, self.layout.rules)[..., None]
        forward, backward = features[:, :1], features[:, 1:]
        rows: Tensor = weights[:, 0] * (forward > 0)
        return rows.addcmul_(weights[:, 1], forward).addcmul_(weights[:, 2], backward)

    def _scores(self, amounts: Tensor) -> Tensor:
        """Return the scores of all entities, (entity, setting, question)."""
        scores = self.layout.per_entity.sum(amounts)
        return scores.addcmul_(self.dense_values[:, None, None], self._dense_weights[:, None])

    @torch.no_grad()
    def _add_removal_losses(self, examples: _GpuExamples, removal: Floats) -> float:
        every = torch.arange(len(examples.answers), device=examples.masked.device)
        parts = [self._removal_chunk(examples, columns) for columns in torch.split(every, QUESTIONS_AT_ONCE)]
        removal += sum(part[0] for part in parts).cpu().numpy()  # type: ignore[union-attr]
        return float(sum(part[1] for part in parts))

    def _removal_chunk(self, examples: _GpuExamples, columns: Tensor) -> tuple[Tensor, Tensor]:
        """Return the rise of the loss without each rule, and how much all rules lower it."""
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        amounts = self._amounts(examples.values.index_select(2, columns))
        scores = self._training_scores(examples, columns, amounts)[:, 0]
        alone = self._training_scores(examples, columns, torch.zeros_like(amounts))[:, 0]
        loss, dense_loss = (each_.logsumexp(0) - each_[answers, each] for each_ in (scores, alone))
        shares = scores.softmax(0).index_select(0, self.layout.entities)
        own = amounts[:, 0] * (self.layout.entities[:, None] == answers)
        lost = shares * (1 - torch.exp(-amounts[:, 0]))
        per_rule = [
            self.layout.per_rule.sum(rows.index_select(0, self.layout.by_rule)).double()
            for rows in (own, lost)
        ]
        rises = per_rule[0] + torch.log(torch.clamp(1 - per_rule[1], min=1e-12))
        return rises.sum(1), (dense_loss - loss).double().sum()

    def _per_rule(self, gradients: Tensor, features: Tensor, kept: Tensor | None) -> Tensor:
        """Return the gradients of the rules' weights, (rule x 3, setting), from those of the scores."""
        gradients = gradients.index_select(0, self.layout.entities)
        gradients = gradients if kept is None else gradients.mul_(kept[:, None])
        forward, backward = features[:, :1], features[:, 1:]
        rows = torch.stack([(gradients * each).sum(2) for each in (forward > 0, forward, backward)], dim=1)
        return self.layout.per_rule.sum(rows.index_select(0, self.layout.by_rule)).flatten(0, 1)

    @torch.no_grad()
    def _rank(self, examples: _GpuExamples) -> Floats:
        every = torch.arange(len(examples.answers), device=examples.masked.device)
        chunks = torch.split(every, QUESTIONS_AT_ONCE)
        return np.concatenate([self._rank_chunk(examples, columns) for columns in chunks])

    def _rank_chunk(self, examples: _GpuExamples, columns: Tensor) -> Floats:
        """Return realistic ranks, (question, setting); an answer that is no candidate ranks last."""
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        scores = self._scores(self._amounts(examples.values.index_select(2, columns)))
        negatives = ~examples.masked.index_select(1, columns)
        excluded = examples.answer_excluded[columns]
        wanted = scores[answers, :, each].masked_fill(excluded[:, None], -torch.inf).T
        negatives[answers, each] = False
        better = (scores > wanted).logical_and_(negatives[:, None]).sum(0)
        ties = (scores == wanted).logical_and_(negatives[:, None]).sum(0)
        ranks: Floats = realistic_rank(better, ties + 1).T.cpu().double().numpy()
        return ranks

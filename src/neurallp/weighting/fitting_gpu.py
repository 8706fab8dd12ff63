"""Weighting on a GPU: features in dense blocks, while the CPU finds the candidates of the next queries."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..evaluation import realistic_rank
from ..graph.arrays import Floats, Ids
from ..graph.questions import Questions
from .features_gpu import Block, GpuFeatureWalker
from .features_kernels import QuestionBatch
from .fitting import Weighting, Worker
from .kinds.base import Candidate
from .masking import Filters
from .query_fit import FitResult, QueryFit

#: Questions that are counted or ranked at a time.
QUESTIONS_AT_ONCE = 64


class GpuWeighting(Weighting):
    """Weights rules query by query on one device of torch."""

    def __init__(self, *given: Any, device: str = "cuda", **named: Any) -> None:
        super().__init__(*given, **named)
        self.device = device

    def _fit_all(self, pool: Executor, on_done: Callable[[int], None]) -> Iterator[list[FitResult]]:
        worker = GpuWorker(self)
        for query, found in zip(self.queries, pool.map(self._find, self.queries), strict=True):
            yield [worker.fit(query, rules) for rules in found]
            on_done(len(self.questions[query]))

    def _find(self, query: int) -> list[tuple[Candidate, ...]]:
        with self._worker() as worker:
            return worker.candidates(query)


class GpuWorker(Worker):
    """The worker that fits weights on the device."""

    def __init__(self, weighting: GpuWeighting) -> None:
        super().__init__(weighting)
        self.blocks = GpuFeatureWalker(self.walker, weighting.device)

    def _start(self, query: int, rules: tuple[Candidate, ...]) -> QueryFit:
        return GpuQueryFit(self, query, rules)


@dataclass(frozen=True, eq=False)
class _GpuExamples:
    """Questions on the device: features, answers, which entities are no candidates, and which are right."""

    values: Tensor  # (row, 2, question)
    answers: Tensor  # (question,)
    masked: Tensor  # (entity, question)
    known: Tensor  # (entity, question)


class GpuQueryFit(QueryFit):
    """The fit of one query on the device. The weights are copied to the CPU when they are learned."""

    worker: GpuWorker

    def __init__(self, worker: GpuWorker, query: int, rules: tuple[Candidate, ...]) -> None:
        super().__init__(worker, query, rules)
        self.layout = worker.blocks.layout(query, self.rules)
        self.dense_values = self._tensor(self.dense.values).float()
        self.own_fact = self._tensor(self.dense.masked - self.dense.values).float()

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.worker.blocks.device)

    @torch.no_grad()
    def learn(self, questions: Questions) -> None:
        """Fit the weights on the device."""
        state = ("penalties", "values", "gradients", "first", "second")
        for name in state:
            setattr(self, name, self._tensor(getattr(self, name)))
        super().learn(questions)
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
        return _GpuExamples(features.values, answers, masked, known)

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

    def _ids(self, order: Ids) -> Tensor:
        return self._tensor(order)  # once for a pass: the device waits for each copy

    def _gradient(self, examples: _GpuExamples, columns: Tensor) -> None:
        features = examples.values.index_select(2, columns)
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        own_fact = self.own_fact[answers][:, None]
        scores = self._scores(features)
        scores[answers, :, each] += own_fact * self.values[-1].float()
        scores.masked_fill_(examples.masked.index_select(1, columns)[:, None], -torch.inf)
        # Faster than torch's softmax, which visits the entities of a column one after another.
        odds = scores.sub_(scores.amax(0)).exp_()
        gradients = odds.div_(odds.sum(0) * len(columns))
        gradients[answers, :, each] -= 1 / len(columns)
        dense = (gradients * self.dense_values[:, None, None]).sum((0, 2))
        dense += (gradients[answers, :, each] * own_fact).sum(0)
        self.gradients = torch.cat([self._per_rule(gradients, features), dense[None]]).double()

    def _scores(self, features: Tensor) -> Tensor:
        """Return the scores of all entities, (entity, setting, question), from (row, 2, question)."""
        values = self._tensor(self.values).float()
        weights = self._rule_weights(values).index_select(0, self.layout.rules)[..., None]
        forward, backward = features[:, :1], features[:, 1:]
        rows = weights[:, 0] * (forward > 0)
        rows.addcmul_(weights[:, 1], forward).addcmul_(weights[:, 2], backward)
        scores = self.layout.per_entity.sum(rows)
        return scores.addcmul_(self.dense_values[:, None, None], values[-1][:, None])

    def _per_rule(self, gradients: Tensor, features: Tensor) -> Tensor:
        """Return the gradients of the rules' weights, (rule x 3, setting), from those of the scores."""
        gradients = gradients.index_select(0, self.layout.entities)
        forward, backward = features[:, :1], features[:, 1:]
        rows = torch.stack([(gradients * each).sum(2) for each in (forward > 0, forward, backward)], dim=1)
        return self.layout.per_rule.sum(rows.index_select(0, self.layout.by_rule)).flatten(0, 1)

    @torch.no_grad()
    def _rank(self, examples: _GpuExamples) -> Floats:
        every = torch.arange(len(examples.answers), device=examples.masked.device)
        chunks = torch.split(every, QUESTIONS_AT_ONCE)
        return np.concatenate([self._rank_chunk(examples, columns) for columns in chunks])

    def _rank_chunk(self, examples: _GpuExamples, columns: Tensor) -> Floats:
        """Return realistic ranks, (question, setting); an answer that is the excluded source ranks last."""
        answers, each = examples.answers[columns], torch.arange(len(columns), device=columns.device)
        scores = self._scores(examples.values.index_select(2, columns))
        negatives = ~examples.masked.index_select(1, columns)
        wanted = scores[answers, :, each].masked_fill(~negatives[answers, each, None], -torch.inf).T
        negatives[answers, each] = False
        better = (scores > wanted).logical_and_(negatives[:, None]).sum(0)
        ties = (scores == wanted).logical_and_(negatives[:, None]).sum(0)
        ranks: Floats = realistic_rank(better, ties + 1).T.cpu().double().numpy()
        return ranks

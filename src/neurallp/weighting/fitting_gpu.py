"""Weighting on a GPU: evidence in dense blocks, rules found on the CPU's cores meanwhile."""

from collections.abc import Callable, Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ConfigError
from ..graph.arrays import Body, Floats, Ids
from ..graph.questions import Questions
from .features import Clue
from .features_gpu import Block, GpuFeatureWalker, Layout
from .fitting import FitResult, QueryFit, Weighting, Worker
from .masking import Filters

#: Questions that are counted or ranked at a time.
AT_ONCE = 64


class GpuWeighting(Weighting):
    """Weighs query by query on one device of torch's, while the cores find the candidates of the next."""

    def __init__(self, *given: Any, device: str = "cuda", **named: Any) -> None:
        super().__init__(*given, **named)
        if self.config.has_non_chain_kinds:
            raise ConfigError(
                "On a device only chains and a prior are weighted. Weigh other kinds on the CPU."
            )
        self.device = device

    def _fit_all(self, pool: Executor, on_done: Callable[[int], None]) -> Iterator[list[FitResult]]:
        bench = GpuWorker(self)
        for query, found in zip(self.queries, pool.map(self._find, self.queries), strict=True):
            yield [bench.fit(query, bodies) for bodies in found]
            on_done(len(self.questions[query]))

    def _find(self, query: int) -> list[list[Body]]:
        with self._bench() as bench:
            return [bodies for bodies, _ in bench.candidates(query)]


class GpuWorker(Worker):
    """Where the device works."""

    def __init__(self, weighting: GpuWeighting) -> None:
        super().__init__(weighting)
        self.blocks = GpuFeatureWalker(weighting.operators, weighting.device)

    def _start(self, query: int, bodies: tuple[Body, ...], clues: tuple[Clue, ...]) -> QueryFit:
        return GpuQueryFit(self, query, bodies)


@dataclass(frozen=True, eq=False)
class _Asked:
    """Questions on the device: what rules say, their answers, who is no candidate, and who is right."""

    values: Tensor  # (row, 2, question)
    answers: Tensor  # (question,)
    masked: Tensor  # (entity, question)
    known: Tensor  # (entity, question)


class GpuQueryFit(QueryFit):
    """The weights of one query on their way, on the device; back on the CPU once learned."""

    bench: GpuWorker

    def __init__(self, bench: GpuWorker, query: int, bodies: tuple[Body, ...]) -> None:
        super().__init__(bench, query, bodies)
        self.layout = Layout(bench.blocks, bodies)
        self.walk = partial(bench.blocks.gather, self.tree, self.layout)
        self.frequencies = self._tensor(self.priors).float()
        # An answer's own fact does not count in its frequency.
        own = np.log(np.maximum(np.exp(self.priors) - 1.0, 1.0))
        self.own_fact = self._tensor(own - self.priors).float()

    def _tensor(self, array: Any) -> Tensor:
        return torch.as_tensor(array, device=self.bench.blocks.device)

    @torch.no_grad()
    def learn(self, questions: Questions) -> None:
        state = ("penalties", "values", "gradients", "first", "second")
        for name in state:
            setattr(self, name, self._tensor(getattr(self, name)))
        super().learn(questions)
        for name in state:
            setattr(self, name, getattr(self, name).cpu().numpy())

    @torch.no_grad()
    def _prepare(self, told: Block, now: Questions, aside: Filters) -> _Asked:
        known = torch.zeros(len(self.priors), len(now), dtype=torch.bool, device=self.bench.blocks.device)
        columns = np.repeat(np.arange(len(now)), np.diff(aside.offsets))
        is_known = np.arange(len(columns)) < aside.known_ends[columns]
        known[self._tensor(aside.entities[is_known]), self._tensor(columns[is_known])] = True
        masked = known.clone()
        masked[self._tensor(aside.entities), self._tensor(columns)] = True
        answers, each = self._tensor(now.answers), torch.arange(len(now), device=known.device)
        known[answers, each] = True
        if self.excluded:
            masked[self._tensor(now.sources), each] = True
        return _Asked(told.values, answers, masked, known)

    def _count(self, lessons: _Asked) -> None:
        known, num = lessons.known, len(lessons.answers)
        rows = torch.zeros(len(self.layout), 2, dtype=torch.int64, device=known.device)
        for start in range(0, num, AT_ONCE):
            fired = lessons.values[:, 0, start : start + AT_ONCE] > 0
            rows[:, 0] += fired.sum(1)
            rows[:, 1] += (
                known[:, start : start + AT_ONCE].index_select(0, self.layout.entities).logical_and_(fired)
            ).sum(1)
        counts = torch.zeros(len(self.bodies), 2, dtype=torch.int64, device=known.device)
        self.counts += counts.index_add_(0, self.layout.rules, rows).cpu().numpy()

    def _like_values(self, array: Floats) -> Tensor:
        return self._tensor(array)

    def _ids(self, order: Ids) -> Tensor:
        return self._tensor(order)  # once for a pass: the device stands still meanwhile

    def _gradient(self, lessons: _Asked, columns: Tensor) -> None:
        told = lessons.values.index_select(2, columns)
        answers, each = lessons.answers[columns], torch.arange(len(columns), device=columns.device)
        own_fact = self.own_fact[answers][:, None]
        scores = self._scores(told)
        scores[answers, :, each] += own_fact * self.values[-1].float()
        scores.masked_fill_(lessons.masked.index_select(1, columns)[:, None], -torch.inf)
        # Not torch's softmax, which goes through the entities of a column one after another.
        shares = scores.sub_(scores.amax(0)).exp_()
        gradients = shares.div_(shares.sum(0) * len(columns))
        gradients[answers, :, each] -= 1 / len(columns)
        prior = (gradients * self.frequencies[:, None, None]).sum((0, 2))
        prior += (gradients[answers, :, each] * own_fact).sum(0)
        self.gradients = torch.cat([self._per_rule(gradients, told), prior[None]]).double()

    def _scores(self, told: Tensor) -> Tensor:
        """Return the scores of all entities, (entity, setting, question), from (row, 2, question)."""
        values = self._tensor(self.values).float()
        weights = self._weights(values).index_select(0, self.layout.rules)[..., None]
        parts = weights[:, 0] * (told[:, :1] > 0)
        parts.addcmul_(weights[:, 1], told[:, :1]).addcmul_(weights[:, 2], told[:, 1:])
        return self.layout.per_entity.sum(parts).addcmul_(
            self.frequencies[:, None, None], values[-1][:, None]
        )

    def _per_rule(self, gradients: Tensor, told: Tensor) -> Tensor:
        """Return the slopes of the rules' weights, (rule x 3, setting), from those of the scores."""
        gradients = gradients.index_select(0, self.layout.entities)
        there, back = told[:, :1], told[:, 1:]
        rows = torch.stack([(gradients * each).sum(2) for each in (there > 0, there, back)], dim=1)
        return self.layout.per_rule.sum(rows.index_select(0, self.layout.by_rule)).flatten(0, 1)

    @torch.no_grad()
    def _rank(self, lessons: _Asked) -> Floats:
        parts = torch.split(torch.arange(len(lessons.answers), device=lessons.masked.device), AT_ONCE)
        return np.concatenate([self._rank_part(lessons, columns) for columns in parts])

    def _rank_part(self, lessons: _Asked, columns: Tensor) -> Floats:
        """Return realistic ranks, (question, setting); an answer that is the barred source comes last."""
        answers, each = lessons.answers[columns], torch.arange(len(columns), device=columns.device)
        scores = self._scores(lessons.values.index_select(2, columns))
        negatives = ~lessons.masked.index_select(1, columns)
        wanted = scores[answers, :, each].masked_fill(~negatives[answers, each, None], -torch.inf).T
        negatives[answers, each] = False
        better = (scores > wanted).logical_and_(negatives[:, None]).sum(0)
        ties = (scores == wanted).logical_and_(negatives[:, None]).sum(0)
        ranks: Floats = (1 + better + ties / 2.0).T.cpu().double().numpy()
        return ranks

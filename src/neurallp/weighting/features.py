"""The feature matrix of rules: which rules predict an entity, and how strongly, question by question."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..graph.arrays import Flags, Floats, Ids, concatenate_ranges
from .features_kernels import (
    Entries,
    FeatureValues,
    QuestionBatch,
    Scratch,
    Small,
    Unsigned,
    entries_for,
    scratch_for,
)
from .fitting_kernels import add_scores
from .graph_index import GraphIndex

#: Entries that a buffer has room for, at most, unless a single question needs more.
MAX_ENTRIES = 1 << 25

#: A buffer that is too small becomes 2 ** GROWTH times as large.
GROWTH = 5


class FeatureKind(Protocol):
    """A kind of rule as the feature walker uses it."""

    def gather(
        self, plan: Any, walker: "FeatureWalker", batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions; return how many questions fit into `entries`."""
        ...


class Plan(NamedTuple):
    """The rules of one kind and query, compiled to what the kind's `gather` takes."""

    kind: Any  # a FeatureKind
    compiled: Any
    rules: tuple[int, ...]  # their numbers


def ask(
    query: int,
    sources: Ids,
    answers: Ids | None = None,
    mask_pair: bool | Flags = False,
    exclude_source: bool = False,
) -> QuestionBatch:
    """Return a batch of questions; without `answers` nothing is masked."""
    masked = np.full(len(sources), -1) if answers is None else answers
    flags = np.broadcast_to(mask_pair, len(sources)).copy()
    return QuestionBatch(query, np.ascontiguousarray(sources), masked, flags, exclude_source)


@dataclass(frozen=True, eq=False)
class Features:
    """Features question by question. The walker overwrites the arrays at its next call."""

    entries: Entries
    ends: Ids  # (question,) where its segments of entries end

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def num_entries(self) -> int:
        """The number of entries of all questions."""
        return int(self.entries.bounds[self.ends[-1]]) if len(self.ends) else 0

    @property
    def starts(self) -> Ids:
        """Where each question's segments begin."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    def add_scores(self, question: int, weights: Floats, row: Floats) -> None:
        """Add weights, (rule, 3), times one question's features to the scores of entities, (entity,)."""
        segments = self.starts[question], self.ends[question]
        add_scores(self.entries, *segments, weights[:, :, None], row[None])

    def entities(self, question: int) -> Ids:
        """Return the entities of one question's entries, one for each rule that predicts them."""
        first, last = self.entries.bounds[[self.starts[question], self.ends[question]]]
        return self.entries.entities[first:last].astype(np.int64)

    def rows(self, question: int) -> tuple[Unsigned, Small, FeatureValues, FeatureValues]:
        """Return one question's entries: entities, rules, forward and backward features."""
        entries, start, end = self.entries, self.starts[question], self.ends[question]
        bounds = entries.bounds[start : end + 1]
        own = slice(bounds[0], bounds[-1])
        rules = np.repeat(entries.rules[start:end], np.diff(bounds))
        return entries.entities[own], rules, entries.forward[own], entries.backward[own]


class FeatureWalker:
    """Computes features on the CPU. Each thread needs its own, as it holds working memory and buffers.

    Takes 24 bytes x entities x (longest body + 1), 12 bytes for each entry, and 12 for each segment; in
    double precision, which reasoning uses and fitting does not need, 20 bytes for each entry.
    """

    def __init__(
        self,
        index: GraphIndex,
        max_length: int,
        max_entries: int = MAX_ENTRIES,
        precision: type = np.float32,
    ) -> None:
        self.index, self.edges, self.max_entries = index, index.segments, max_entries
        self.precision = precision
        self.scratch: Scratch = scratch_for(index.num_entities, index.num_operators, max_length)
        self._buffers: list[Entries] = []

    def gather(self, plans: Sequence[Plan], batch: QuestionBatch) -> Features:
        """Return the features for as many of the questions as there is room for, at least one.

        Each kind fills a buffer of its own; with more than one kind they are merged question by question.
        """
        if not plans:
            return Features(self._buffer(0, 1), np.zeros(batch.size, dtype=np.int64))
        parts = []
        for number, plan in enumerate(plans):
            parts.append(self._gather(number, plan, batch))
            batch = batch.rows(0, len(parts[-1]))
        return parts[0] if len(parts) == 1 else merge_features(parts)

    def _gather(self, number: int, plan: Plan, batch: QuestionBatch) -> Features:
        ends = np.zeros(batch.size, dtype=np.int64)
        room = batch.size * len(plan.rules) * self.index.num_entities  # a rule predicts an entity once
        while True:
            entries = self._buffer(number, room)
            done = plan.kind.gather(plan.compiled, self, batch, entries, ends)
            if done or not batch.size:
                return Features(entries, ends[:done])
            self._buffers[number] = entries_for(2 * len(entries.entities), self.precision)

    def _buffer(self, number: int, room: int) -> Entries:
        """Return a kind's buffer, enlarged where it has less than `room`: small graphs take few addresses.

        In large steps, as memory between buffers that are given back is not always used again.
        """
        steps = -(-max(room, 1).bit_length() // GROWTH)
        size = min(1 << steps * GROWTH, self.max_entries)
        while len(self._buffers) <= number:
            self._buffers.append(entries_for(size, self.precision))
        if len(self._buffers[number].entities) < size:
            del self._buffers[number]  # before the larger one is made
            self._buffers.insert(number, entries_for(size, self.precision))
        return self._buffers[number]


def merge_features(parts: Sequence[Features]) -> Features:
    """Return the features of several kinds together, for the questions that all of them have.

    The segments of a question stand in the order of the parts.
    """
    num = min(map(len, parts))
    sizes = [part.ends[:num] - part.starts[:num] for part in parts]
    questions = np.concatenate([np.repeat(np.arange(num), size) for size in sizes])
    order = np.argsort(questions, kind="stable")
    used = [part.entries.bounds[: size.sum() + 1] for part, size in zip(parts, sizes, strict=True)]
    shifts = np.cumsum([0, *(bounds[-1] for bounds in used)])
    starts = np.concatenate([bounds[:-1] + shift for bounds, shift in zip(used, shifts, strict=False)])[order]
    stops = np.concatenate([bounds[1:] + shift for bounds, shift in zip(used, shifts, strict=False)])[order]
    rows = concatenate_ranges(starts, stops)

    def column(name: str) -> Any:
        arrays = [getattr(part.entries, name)[: bounds[-1]] for part, bounds in zip(parts, used, strict=True)]
        return np.concatenate(arrays)[rows]

    rules = np.concatenate(
        [part.entries.rules[: size.sum()] for part, size in zip(parts, sizes, strict=True)]
    )
    bounds = np.append(0, np.cumsum(stops - starts)).astype(np.int64)
    entries = Entries(column("entities"), column("forward"), column("backward"), rules[order], bounds)
    return Features(entries, np.cumsum(np.sum(sizes, axis=0)).astype(np.int64))

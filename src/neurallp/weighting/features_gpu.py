"""Features of many questions at once, in dense blocks on a GPU (or any device of torch)."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..graph.arrays import Ids, concatenate_ranges
from ..graph.operators import Operators
from .features import Features, FeatureWalker, Plan
from .features_kernels import QuestionBatch
from .graph_index import GraphIndex
from .kinds import get_kind
from .kinds.base import Candidate
from .kinds.chain_kernels import Trie

#: Rows that one thread adds up; longer sums are sums of shorter ones, so that no thread takes much longer.
MAX_SEGMENT = 64

#: Memory that one block of features may take, on a GPU (and at most this share of it) and elsewhere.
GPU_BYTES = 32 << 30
GPU_SHARE = 0.25
CPU_BYTES = 1 << 30


def _max_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return CPU_BYTES
    return min(GPU_BYTES, int(GPU_SHARE * torch.cuda.mem_get_info(device)[1]))


class Segments:
    """Sums of neighbouring rows, always added in the same order, so that results are repeatable."""

    def __init__(self, lengths: Ids, device: torch.device) -> None:
        self.stages: list[Tensor] = []
        while True:
            pieces = np.maximum(-(-lengths // MAX_SEGMENT), 1)
            owners = np.repeat(np.arange(len(lengths)), pieces)
            nth = np.arange(len(owners)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
            parts = np.minimum(lengths[owners] - nth * MAX_SEGMENT, MAX_SEGMENT)
            self.stages.append(torch.as_tensor(np.append(0, np.cumsum(parts)), device=device))
            if len(pieces) == len(owners):
                return
            lengths = pieces

    def sum(self, rows: Tensor) -> Tensor:
        """Return the sum of each segment's rows; 0 where it has none."""
        shape = rows.shape[1:]
        rows = rows.flatten(1)
        for offsets in self.stages:
            rows = torch.segment_reduce(rows, "sum", offsets=offsets, unsafe=True, initial=0)
        return rows.view(len(rows), *shape)


class _Hop:
    """The edges of one operator, sorted by target.

    A memory has a row for each entity of the operator's range, and one more that is always 0, for all other
    entities.
    """

    def __init__(self, operators: Operators, k: int, device: torch.device) -> None:
        mine = np.flatnonzero(operators.operators == k)
        sources, targets = operators.sources[mine], operators.targets[mine]
        order = np.lexsort((sources, targets))
        sources, targets = sources[order], targets[order]
        _, place, degrees = np.unique(sources, return_inverse=True, return_counts=True)
        self.range, self.row_of_edge, self.fan_in = np.unique(
            targets, return_inverse=True, return_counts=True
        )
        self.degree_of_edge = degrees[place]
        self.keys = targets * operators.num_entities + sources
        rows = np.full(operators.num_entities, len(self.range))
        rows[self.range] = np.arange(len(self.range))
        shares = np.stack([1 / self.degree_of_edge, 1 / self.fan_in[self.row_of_edge]], axis=1)
        self.rows = torch.as_tensor(rows, device=device)  # (entity,)
        self.sources = torch.as_tensor(sources, device=device)  # (edge,)
        self.shares = torch.as_tensor(shares[:, :, None], dtype=torch.float32, device=device)
        self.segments = Segments(np.append(self.fan_in, 0), device)

    @property
    def num_edges(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, eq=False)
class _MaskedEdges:
    """Edges that are masked: in which question's column, of which operator, from where to where."""

    columns: Ids
    operators: Ids
    starts: Ids
    ends: Ids

    def __getitem__(self, rows: NDArray[Any]) -> "_MaskedEdges":
        return _MaskedEdges(self.columns[rows], self.operators[rows], self.starts[rows], self.ends[rows])


class _MaskedHop:
    """The masked edges of one operator: where each starts, and the edges left to the entity where it ends.

    The sums at these ends are computed anew, as subtracting the masked edge would leave rounding errors where
    the result must be 0.
    """

    def __init__(self, hop: _Hop, edges: _MaskedEdges, num_entities: int, device: torch.device) -> None:
        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.as_tensor(array, device=device)

        own = np.searchsorted(hop.keys, edges.ends * num_entities + edges.starts)
        rows, degrees = hop.row_of_edge[own], hop.degree_of_edge[own]
        left = hop.fan_in[rows] - 1
        self.columns, self.starts, self.rows = tensor(edges.columns), tensor(edges.starts), tensor(rows)
        scales = np.where(degrees > 1, degrees / np.maximum(degrees - 1, 1), 0.0)
        self.scales = tensor(scales).float()
        self.segments = Segments(left, device)
        first = (np.cumsum(hop.fan_in) - hop.fan_in)[rows] - (np.cumsum(left) - left)
        owners = torch.repeat_interleave(tensor(left), output_size=int(left.sum()))
        places = tensor(first)[owners] + torch.arange(len(owners), device=device)
        places += places >= tensor(own)[owners]
        backward = tensor(1 / np.maximum(left, 1)).float()[owners]
        self.other_sources, self.other_columns = hop.sources[places], self.columns[owners]
        self.other_shares = torch.stack([hop.shares[places, 0, 0], backward], dim=1)


class Layout:
    """Where the features of a query's rules are: one row for each rule and entity that it can predict.

    Rows are sorted by entity, then rule.
    """

    def __init__(
        self, index: GraphIndex, query: int, rules: Sequence[Candidate], device: torch.device
    ) -> None:
        ranges = [get_kind(rule.kind).reachable(index, query, rule) for rule in rules]
        lengths = np.array(list(map(len, ranges)), dtype=np.int64)
        entities = np.concatenate([np.zeros(0, np.int64), *ranges])
        numbers = np.repeat(np.arange(len(rules)), lengths)
        order = np.argsort(entities, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        self._keys, self._num_entities = numbers * index.num_entities + entities, index.num_entities
        self.entities = torch.as_tensor(entities[order], device=device)
        self.rules = torch.as_tensor(numbers[order], device=device)
        self.by_rule = torch.as_tensor(places, device=device)  # the rows of each rule, one after another
        self.rows_of_rule = torch.split(self.by_rule, lengths.tolist())
        self.per_rule = Segments(lengths, device)
        self.per_entity = Segments(np.bincount(entities, minlength=index.num_entities), device)

    def __len__(self) -> int:
        return len(self.entities)

    def rows(self, rules: Ids, entities: Ids) -> Tensor:
        """Return the rows of pairs of rule and entity."""
        places = np.searchsorted(self._keys, rules * self._num_entities + entities)
        return self.by_rule[torch.as_tensor(places, device=self.by_rule.device)]


@dataclass(frozen=True, eq=False)
class Block:
    """Features of questions: (row, 2, question), forward and backward; 0 where a rule predicts nothing."""

    layout: Layout
    values: Tensor

    def __len__(self) -> int:
        return self.values.shape[2]

    @property
    def num_entries(self) -> int:
        """The number of features other than 0."""
        return int(torch.count_nonzero(self.values[:, 0]))


class GpuFeatureWalker:
    """Computes the features of many questions at once, on any device of torch.

    A kind without GPU features is computed by the CPU's `walker` and copied. Takes 8 bytes x questions x
    (rows of the layout + entities + what native kinds hold); `max_bytes` bounds the questions of a block.
    """

    def __init__(self, walker: FeatureWalker, device: str = "cpu", max_bytes: int | None = None) -> None:
        self.walker, self.device = walker, torch.device(device)
        self.index, self.operators = walker.index, walker.index.operators
        self.num_entities = self.operators.num_entities
        self.max_bytes = max_bytes or _max_bytes(self.device)
        self._hops: dict[int, _Hop] = {}
        self._every_entity = torch.arange(self.num_entities, device=self.device)

    def layout(self, query: int, rules: Sequence[Candidate]) -> Layout:
        """Return where the features of some rules are in a block."""
        return Layout(self.index, query, rules, self.device)

    def hop(self, k: int) -> _Hop:
        """Return the edges of an operator; kept once made."""
        if k not in self._hops:
            self._hops[k] = _Hop(self.operators, k, self.device)
        return self._hops[k]

    @cached_property
    def _pairs(self) -> tuple[Ids, Ids]:
        """The edges sorted by the pair they link, and the pairs' numbers."""
        pairs = self.operators.sources * self.num_entities + self.operators.targets
        order = np.argsort(pairs, kind="stable")
        return order, pairs[order]

    @torch.no_grad()
    def gather(self, plans: Sequence[Plan], layout: Layout, batch: QuestionBatch) -> Block:
        """Return the features for as many of the questions as there is room for, at least one."""
        native = [plan for plan in plans if plan.kind.has_gpu_features]
        copied = [plan for plan in plans if not plan.kind.has_gpu_features]
        held = sum(plan.kind.gpu_numbers(self, plan.compiled) for plan in native)
        size = 8 * (len(layout) + self.num_entities + held)
        batch = batch.rows(0, max(1, self.max_bytes // size))
        features = self.walker.gather(copied, batch)
        batch = batch.rows(0, len(features))
        shape = len(layout), 2, batch.size
        values = torch.zeros(shape, device=self.device) if copied else torch.empty(shape, device=self.device)
        for plan in native:
            plan.kind.fill_block(self, plan.compiled, layout, batch, values)
        if copied:
            _copy_features(features, layout, values)
        return Block(layout, values)

    # Walks along chains

    def numbers_of_walk(self, trie: Trie) -> int:
        """Return the numbers that a walk holds for a question: frontiers of a path, edges of a step."""
        hops = [self.hop(int(k)) for k in np.unique(trie.operators)]
        longest = max((len(hop.range) + 1 for hop in hops), default=0) * (max(trie.depths, default=0) + 1)
        return int(longest + 2 * max((hop.num_edges for hop in hops), default=0))

    def walk(self, trie: Trie, layout: Layout, batch: QuestionBatch, values: Tensor) -> None:
        """Write the walk probabilities of all bodies of a trie, on a logarithmic scale, into `values`."""
        masked = self._mask(batch, trie)
        origins = torch.as_tensor(batch.sources, device=self.device)
        columns = torch.arange(batch.size, device=self.device)
        memory = torch.zeros(self.num_entities + 1, 2, batch.size, device=self.device)
        memory[origins, :, columns] = 1.0
        path = [(memory, self._every_entity)]
        for depth, k, rule in zip(*(column.tolist() for column in trie), strict=True):
            del path[depth:]
            hop = self.hop(k)
            path.append((_step(hop, *path[-1], masked.get(k)), hop.rows))
            if rule >= 0:
                scaled = log_scale(path[-1][0])
                if batch.exclude_source:
                    scaled[hop.rows[origins], :, columns] = 0.0
                values.index_copy_(0, layout.rows_of_rule[rule], scaled[:-1])

    def _mask(self, batch: QuestionBatch, trie: Trie) -> dict[int, _MaskedHop]:
        """Return the masked edges of the questions, by operator of the trie."""
        edges = self._masked_edges(batch)
        edges = edges[np.isin(edges.operators, trie.operators)]
        order = np.argsort(edges.operators, kind="stable")
        operators, first = np.unique(edges.operators[order], return_index=True)
        return {
            int(k): _MaskedHop(self.hop(int(k)), edges[rows], self.num_entities, self.device)
            for k, rows in zip(operators, np.split(order, first[1:]), strict=False)
        }

    def _masked_edges(self, batch: QuestionBatch) -> _MaskedEdges:
        """Return the masked edges of the questions, in both directions."""
        order, pairs = self._pairs
        asked = np.flatnonzero(batch.answers >= 0)
        sources, answers = batch.sources[asked], batch.answers[asked]
        wanted = sources * self.num_entities + answers
        first, end = np.searchsorted(pairs, wanted), np.searchsorted(pairs, wanted, side="right")
        rows = np.repeat(np.arange(len(asked)), end - first)
        operators = self.operators.operators[order[concatenate_ranges(first, end)]]
        masked = batch.mask_pair[asked][rows] | (operators == batch.query)
        rows, operators = rows[masked], operators[masked]
        columns, starts, ends = asked[rows], sources[rows], answers[rows]
        inverses = self.operators.inverse(operators)
        both = np.concatenate(
            [np.stack([columns, operators, starts, ends]), np.stack([columns, inverses, ends, starts])],
            axis=1,
        )
        return _MaskedEdges(*np.unique(both, axis=1))  # a loop is its own inverse edge


def _copy_features(features: Features, layout: Layout, values: Tensor) -> None:
    """Copy features computed on the CPU to their rows of a block."""
    entries, num = features.entries, int(features.ends[-1])
    bounds = entries.bounds[: num + 1]
    sizes = np.diff(bounds)
    rules = np.repeat(entries.rules[:num].astype(np.int64), sizes)
    questions = np.repeat(np.repeat(np.arange(len(features)), features.ends - features.starts), sizes)
    own = slice(0, bounds[-1])
    rows = layout.rows(rules, entries.entities[own].astype(np.int64))
    columns = torch.as_tensor(questions, device=values.device)
    for feature, column in enumerate((entries.forward, entries.backward)):
        values[rows, feature, columns] = torch.as_tensor(column[own].copy(), device=values.device)


def _step(hop: _Hop, memory: Tensor, rows: Tensor, masked: _MaskedHop | None) -> Tensor:
    """Return the memory after one step; `rows` maps each entity to its row in the present one."""
    if masked is None:
        return _spread(hop, memory, rows)
    losers = rows[masked.starts]
    kept = memory[losers, 0, masked.columns]
    memory[losers, 0, masked.columns] = kept * masked.scales
    reached = _spread(hop, memory, rows)
    others = memory[rows[masked.other_sources], :, masked.other_columns] * masked.other_shares
    reached[masked.rows, :, masked.columns] = masked.segments.sum(others)
    memory[losers, 0, masked.columns] = kept
    return reached


def _spread(hop: _Hop, memory: Tensor, rows: Tensor) -> Tensor:
    return hop.segments.sum(memory.index_select(0, rows[hop.sources]).mul_(hop.shares))


def log_scale(probabilities: Tensor) -> Tensor:
    """Return log(1 + 100 p) / log(101), as on the CPU."""
    return torch.mul(probabilities, 100.0).log1p_().mul_(0.2166790653)

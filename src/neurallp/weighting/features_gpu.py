"""The evidence of many questions at once, in dense blocks: what evidence.py walks one by one, for GPUs."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ..graph.arrays import Body, Flags, Ids
from ..graph.operators import Operators
from .features_kernels import Trie

#: Rows that one thread adds up; longer sums are made of shorter ones, so that none holds up the rest.
MAX_SEGMENT = 64

#: What the evidence of one block may take, on a GPU (but no more than this share of it) and elsewhere.
GPU_BYTES = 32 << 30
GPU_SHARE = 0.25
CPU_BYTES = 1 << 30


def _most_bytes(device: torch.device) -> int:
    if device.type != "cuda":
        return CPU_BYTES
    return min(GPU_BYTES, int(GPU_SHARE * torch.cuda.mem_get_info(device)[1]))


class Segments:
    """Neighbouring rows to be added up; always in the same order, so sums do not differ between runs."""

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
    """The edges of one operator, sorted by where they arrive.

    Memories are kept on the operator's range alone, and one row more that is always 0: it stands for all
    entities that are not in the range.
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
class _Links:
    """Edges that questions must not see: whose question, of which operator, from where to where."""

    columns: Ids
    operators: Ids
    starts: Ids
    ends: Ids

    def __getitem__(self, rows: NDArray[Any]) -> "_Links":
        return _Links(self.columns[rows], self.operators[rows], self.starts[rows], self.ends[rows])


class _Hidden:
    """The hidden edges of one operator: who loses one, and the edges left to those where one arrived.

    What arrives there is added up anew, as taking it off again would leave rounding noise where 0 must be.
    """

    def __init__(self, hop: _Hop, links: _Links, num_entities: int, device: torch.device) -> None:
        def tensor(array: NDArray[Any]) -> Tensor:
            return torch.as_tensor(array, device=device)

        own = np.searchsorted(hop.keys, links.ends * num_entities + links.starts)
        rows, degrees = hop.row_of_edge[own], hop.degree_of_edge[own]
        left = hop.fan_in[rows] - 1
        self.columns, self.starts, self.rows = tensor(links.columns), tensor(links.starts), tensor(rows)
        scales = np.where(degrees > 1, degrees / np.maximum(degrees - 1, 1), 0.0)
        self.scales = tensor(scales).float()
        self.segments = Segments(left, device)
        first = (np.cumsum(hop.fan_in) - hop.fan_in)[rows] - (np.cumsum(left) - left)
        owners = torch.repeat_interleave(tensor(left), output_size=int(left.sum()))
        places = tensor(first)[owners] + torch.arange(len(owners), device=device)
        places += places >= tensor(own)[owners]
        behind = tensor(1 / np.maximum(left, 1)).float()[owners]
        self.other_sources, self.other_columns = hop.sources[places], self.columns[owners]
        self.other_shares = torch.stack([hop.shares[places, 0, 0], behind], dim=1)


class Layout:
    """Where the evidence of a query's rules lies: a row for each rule and entity it can lead to.

    Rows are sorted by entity, then rule.
    """

    def __init__(self, walker: "GpuFeatureWalker", bodies: Sequence[Body]) -> None:
        hops = [walker.hop(body[-1]) for body in bodies]
        lengths = np.array([len(hop.range) for hop in hops], dtype=np.int64)
        entities = np.concatenate([np.zeros(0, np.int64), *(hop.range for hop in hops)])
        order = np.argsort(entities, kind="stable")
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        rules = np.repeat(np.arange(len(bodies)), lengths)
        self.entities = torch.as_tensor(entities[order], device=walker.device)
        self.rules = torch.as_tensor(rules[order], device=walker.device)
        # The rows of each rule, one after another.
        self.by_rule = torch.as_tensor(places, device=walker.device)
        self.rows_of_rule = torch.split(self.by_rule, lengths.tolist())
        self.per_rule = Segments(lengths, walker.device)
        self.per_entity = Segments(np.bincount(entities, minlength=walker.num_entities), walker.device)

    def __len__(self) -> int:
        return len(self.entities)


@dataclass(frozen=True, eq=False)
class Block:
    """What rules say in answer to questions: (row, 2, question), the walk there and back; 0 for nothing."""

    layout: Layout
    values: Tensor

    def __len__(self) -> int:
        return self.values.shape[2]


class GpuFeatureWalker:
    """Walks a tree of bodies for many questions at once, on any device that torch knows.

    Takes 8 bytes x questions x (rows of the layout + entities + what one path through the tree holds), of
    which `max_bytes` says how many questions are done at once.
    """

    def __init__(self, operators: Operators, device: str = "cpu", max_bytes: int | None = None) -> None:
        self.operators, self.device = operators, torch.device(device)
        self.num_entities = operators.num_entities
        self.max_bytes = max_bytes or _most_bytes(self.device)
        self._hops: dict[int, _Hop] = {}
        self._everywhere = torch.arange(self.num_entities, device=self.device)

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

    def room_for(self, tree: Trie, layout: Layout) -> int:
        """Return how many questions are done at once, at least one."""
        hops = [self.hop(int(k)) for k in np.unique(tree.operators)]
        longest = max((len(hop.range) + 1 for hop in hops), default=0) * (max(tree.depths, default=0) + 1)
        most_edges = 2 * max((hop.num_edges for hop in hops), default=0)
        return max(1, self.max_bytes // (8 * int(len(layout) + self.num_entities + longest + most_edges)))

    @torch.no_grad()
    def gather(
        self,
        tree: Trie,
        layout: Layout,
        query: int,
        sources: Ids,
        answers: Ids | None = None,
        *,
        mask_pair: bool | Flags = False,
        excluded: bool = False,
    ) -> Block:
        """Return the evidence for as many of the questions as there is room for, as EvidenceWalker does."""
        sources = sources[: self.room_for(tree, layout)]
        hidden: dict[int, _Hidden] = {}
        if answers is not None:
            whole = np.broadcast_to(mask_pair, len(answers))[: len(sources)]
            links = self._links(query, sources, answers[: len(sources)], whole)
            hidden = self._hide(links[np.isin(links.operators, tree.operators)])
        origins = torch.as_tensor(sources, device=self.device)
        columns = torch.arange(len(sources), device=self.device)
        memory = torch.zeros(self.num_entities + 1, 2, len(sources), device=self.device)
        memory[origins, :, columns] = 1.0
        values = memory.new_empty(len(layout), 2, len(sources))
        path = [(memory, self._everywhere)]
        for depth, k, rule in zip(*(column.tolist() for column in tree), strict=True):
            del path[depth:]
            hop = self.hop(k)
            path.append((_step(hop, *path[-1], hidden.get(k)), hop.rows))
            if rule >= 0:
                told = log_scale(path[-1][0])
                if excluded:
                    told[hop.rows[origins], :, columns] = 0.0
                values.index_copy_(0, layout.rows_of_rule[rule], told[:-1])
        return Block(layout, values)

    def _hide(self, links: _Links) -> dict[int, _Hidden]:
        """Return what is hidden, by operator."""
        order = np.argsort(links.operators, kind="stable")
        operators, first = np.unique(links.operators[order], return_index=True)
        return {
            int(k): _Hidden(self.hop(int(k)), links[rows], self.num_entities, self.device)
            for k, rows in zip(operators, np.split(order, first[1:]), strict=False)
        }

    def _links(self, query: int, sources: Ids, answers: Ids, mask_pair: Flags) -> _Links:
        """Return what the questions must not see: their own facts or their pairs', there and back."""
        order, pairs = self._pairs
        asked = sources * self.num_entities + answers
        first, end = np.searchsorted(pairs, asked), np.searchsorted(pairs, asked, side="right")
        columns = np.repeat(np.arange(len(sources)), end - first)
        before = np.cumsum(end - first) - (end - first)
        operators = self.operators.operators[order[(first - before)[columns] + np.arange(len(columns))]]
        hidden = mask_pair[columns] | (operators == query)
        columns, operators = columns[hidden], operators[hidden]
        starts, ends = sources[columns], answers[columns]
        num_relations = self.operators.num_relations
        inverses = (operators + num_relations) % (2 * num_relations)
        both = np.concatenate(
            [np.stack([columns, operators, starts, ends]), np.stack([columns, inverses, ends, starts])],
            axis=1,
        )
        return _Links(*np.unique(both, axis=1))  # a loop is its own way back


def _step(hop: _Hop, memory: Tensor, rows: Tensor, hidden: _Hidden | None) -> Tensor:
    """Return the memory one step further; `rows` says where in the present one each entity has its row."""
    if hidden is None:
        return _spread(hop, memory, rows)
    losers = rows[hidden.starts]
    kept = memory[losers, 0, hidden.columns]
    memory[losers, 0, hidden.columns] = kept * hidden.scales
    reached = _spread(hop, memory, rows)
    others = memory[rows[hidden.other_sources], :, hidden.other_columns] * hidden.other_shares
    reached[hidden.rows, :, hidden.columns] = hidden.segments.sum(others)
    memory[losers, 0, hidden.columns] = kept
    return reached


def _spread(hop: _Hop, memory: Tensor, rows: Tensor) -> Tensor:
    return hop.segments.sum(memory.index_select(0, rows[hop.sources]).mul_(hop.shares))


def log_scale(probabilities: Tensor) -> Tensor:
    """Return log(1 + 100 p) / log(101), as the walker does."""
    return torch.mul(probabilities, 100.0).log1p_().mul_(0.2166790653)

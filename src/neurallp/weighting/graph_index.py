"""The known facts as rules look them up: edges in segments, and the masked graph of one question."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..graph.arrays import Body, Flags, Floats, Ids, concatenate_ranges
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.packed import PackedOperators
from .features_kernels import CsrSegments, QuestionBatch

#: Pairs of entity and operator up to which each has a counter, 8 bytes, while edges are counted.
MAX_COUNTERS = 1 << 24


@dataclass(frozen=True, eq=False)
class GraphIndex:
    """A knowledge base and its edges, in the forms that kinds of rules use."""

    kb: KnowledgeBase
    operators: Operators

    @classmethod
    def of(cls, kb: KnowledgeBase) -> "GraphIndex":
        """Return the index of a knowledge base."""
        return cls(kb, Operators.of(kb))

    @cached_property
    def segments(self) -> CsrSegments:
        """The edges grouped by source and operator."""
        return as_segments(self.operators)

    def targets_of(self, operator: int) -> Ids:
        """Return the entities that an operator leads to, ascending; kept once computed."""
        if operator not in self._targets:
            self._targets[operator] = np.unique(
                self.operators.targets_at(self.operators.edges_by_operator(operator))
            )
        return self._targets[operator]

    @cached_property
    def _targets(self) -> dict[int, Ids]:
        return {}

    @property
    def num_entities(self) -> int:
        return self.operators.num_entities

    @property
    def num_operators(self) -> int:
        return self.operators.num_operators

    def operators_between(self, source: int, target: int) -> Ids:
        """Return the operators of the edges from one entity to another."""
        edges = self.operators.edges_out_of(np.array([source]))
        return self.operators.operators_at(edges[self.operators.targets_at(edges) == target])

    def body_ids(self, body: tuple[str, ...]) -> tuple[int, ...]:
        """Return the operators that the names of a rule's body stand for."""
        return tuple(map(self.kb.relations.operator_id, body))


def as_segments(operators: Operators) -> CsrSegments:
    """Return the edges in segments; those of a packed knowledge base are there already."""
    return operators.csr if isinstance(operators, PackedOperators) else csr_segments(operators)


def csr_segments(operators: Operators) -> CsrSegments:
    """Return the edges grouped by source and operator, with each target's number of arriving edges."""
    starts, offsets = operators.segments()
    of_segment = operators.operators[starts]
    order = np.argsort(of_segment, kind="stable")
    columns: tuple[Any, ...] = (
        offsets,
        of_segment,
        np.append(starts, operators.num_edges),
        operators.targets,
        count_fan_in(operators),
        np.searchsorted(of_segment[order], np.arange(operators.num_operators + 1)),
        operators.sources[starts][order],
        order,
    )
    edges = CsrSegments(*(np.ascontiguousarray(column.astype(np.int32)) for column in columns))
    targets, sources = (column.astype(np.uint32) for column in (edges.targets, edges.sources))
    return edges._replace(targets=targets, sources=sources)


def count_fan_in(operators: Operators) -> Ids:
    """Return for each edge how many edges of its operator have the same target."""
    arrivals = operators.targets * operators.num_operators + operators.operators
    if operators.num_entities * operators.num_operators <= MAX_COUNTERS:  # faster than sorting
        return np.asarray(np.bincount(arrivals)[arrivals])
    _, place, fan_in = np.unique(arrivals, return_inverse=True, return_counts=True)
    return np.asarray(fan_in[place])


class MaskedGraph:
    """The graph of one question: all edges but those that its masking removes."""

    def __init__(self, index: GraphIndex, batch: QuestionBatch, question: int) -> None:
        self.operators, self._entities = index.operators, index.kb.entities
        self.query = batch.query
        self.source, self.answer = int(batch.sources[question]), int(batch.answers[question])
        self._masked: set[int] = set()
        if self.answer >= 0:
            links = index.operators_between(self.source, self.answer)
            self._masked = set(links.tolist()) if batch.mask_pair[question] else {batch.query}

    @property
    def num_entities(self) -> int:
        return self.operators.num_entities

    def tally(self, entities: Ids, operator: int) -> tuple[Ids, Ids]:
        """Return the targets but the source of an operator, and from how many of `entities` each is reached.

        None of the entities may be the source.
        """
        reached = self.operators.targets_at(concatenate_ranges(*self.operators.spans(entities, operator)))
        return np.unique(reached[reached != self.source], return_counts=True)

    def find(self, name: str) -> int:
        """Return the id of an entity, or -1."""
        return self._entities.find(name)

    @cached_property
    def walks(self) -> "Walks":
        """The random walks of the question."""
        return Walks(self)

    def edges(self, operator: int) -> tuple[Ids, Ids]:
        """Return the sources and targets of all edges of one operator."""
        own = self.operators.edges_by_operator(operator)
        sources, targets = self.operators.sources_at(own), self.operators.targets_at(own)
        masked = np.zeros(len(own), dtype=bool)
        if operator in self._masked:
            masked |= (sources == self.source) & (targets == self.answer)
        if self.operators.inverse(operator) in self._masked:
            masked |= (sources == self.answer) & (targets == self.source)
        return sources[~masked], targets[~masked]

    def edges_from(self, entities: Ids) -> Ids:
        """Return the numbers of the edges of all operators that leave entities."""
        edges = self.operators.edges_out_of(entities)
        return edges[~self._are_masked(edges)]

    def num_edges_from(self, entities: Ids) -> Ids:
        """Return how many edges of all operators leave each entity."""
        num = self.operators.degrees(entities)
        if self._masked:
            ends = np.unique([self.source, self.answer])
            edges = self.operators.edges_out_of(ends)
            masked = self.operators.sources_at(edges[self._are_masked(edges)])
            num = num - (entities[:, None] == masked).sum(axis=1)
        return num

    def _are_masked(self, edges: Ids) -> Flags:
        """Return which of the edges are masked: those of a fact, in both directions."""
        if not self._masked:
            return np.zeros(len(edges), dtype=bool)
        at = self.operators
        sources, targets, names = at.sources_at(edges), at.targets_at(edges), at.operators_at(edges)
        masked = np.array(list(self._masked))
        ahead = (sources == self.source) & (targets == self.answer) & np.isin(names, masked)
        back = (sources == self.answer) & (targets == self.source) & np.isin(at.inverse(names), masked)
        return np.asarray(ahead | back)

    def targets(self, entity: int, operator: int) -> Ids:
        """Return the entities that an operator leads to from an entity, ascending."""
        (start,), (stop,) = self.operators.spans(np.array([entity]), operator)
        found = self.operators.targets_at(slice(start, stop))
        if entity == self.source and operator in self._masked:
            found = found[found != self.answer]
        if entity == self.answer and self.operators.inverse(operator) in self._masked:
            found = found[found != self.source]
        return found


class Walks:
    """Random walks along bodies from the source of one question, in numpy; prefixes are walked once."""

    def __init__(self, graph: MaskedGraph) -> None:
        self.graph, self.num_entities = graph, graph.num_entities
        start = np.zeros(self.num_entities)
        start[graph.source] = 1.0
        self._walked: dict[Body, tuple[Floats, Floats]] = {(): (start, start)}
        self._steps: dict[int, tuple[Ids, Ids, Floats, Floats]] = {}

    def probabilities(self, body: Body) -> tuple[Floats, Floats]:
        """Return for each entity the probability of a walk along `body` to it, and of one back from it."""
        if body not in self._walked:
            forward, backward = self.probabilities(body[:-1])
            sources, targets, by_source, by_target = self._step(body[-1])
            masses = forward[sources] * by_source, backward[sources] * by_target
            reached = [np.bincount(targets, mass, self.num_entities).astype(np.float64) for mass in masses]
            self._walked[body] = reached[0], reached[1]
        return self._walked[body]

    def _step(self, operator: int) -> tuple[Ids, Ids, Floats, Floats]:
        """Return the edges of an operator, 1 / its source's edges, and 1 / its target's edges."""
        if operator not in self._steps:
            sources, targets = self.graph.edges(operator)
            leaving, arriving = np.bincount(sources), np.bincount(targets)
            self._steps[operator] = sources, targets, 1 / leaving[sources], 1 / arriving[targets]
        return self._steps[operator]

"""The known facts as rules look them up: edges in segments, and the masked graph of one question."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from .features_kernels import CsrSegments, QuestionBatch


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
        return csr_segments(self.operators)

    def targets_of(self, operator: int) -> Ids:
        """Return the entities that an operator leads to, ascending; kept once computed."""
        if operator not in self._targets:
            self._targets[operator] = np.unique(self.operators.targets[self.operators.operators == operator])
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

    def body_ids(self, body: tuple[str, ...]) -> tuple[int, ...]:
        """Return the operators that the names of a rule's body stand for."""
        return tuple(map(self.kb.relations.operator_id, body))


def csr_segments(operators: Operators) -> CsrSegments:
    """Return the edges grouped by source and operator, with each target's number of arriving edges."""
    starts, offsets = operators.segments()
    arrivals = operators.targets * operators.num_operators + operators.operators
    _, place, fan_in = np.unique(arrivals, return_inverse=True, return_counts=True)
    of_segment = operators.operators[starts]
    order = np.argsort(of_segment, kind="stable")
    columns = (
        offsets,
        of_segment,
        np.append(starts, operators.num_edges),
        operators.targets,
        fan_in[place],
        np.searchsorted(of_segment[order], np.arange(operators.num_operators + 1)),
        operators.sources[starts][order],
        order,
    )
    edges = CsrSegments(*(np.ascontiguousarray(column.astype(np.int32)) for column in columns))
    targets, sources = (column.astype(np.uint32) for column in (edges.targets, edges.sources))
    return edges._replace(targets=targets, sources=sources)


class MaskedGraph:
    """The graph of one question: all edges but those that its masking removes."""

    def __init__(self, index: GraphIndex, batch: QuestionBatch, question: int) -> None:
        self.operators = index.operators
        self.query = batch.query
        self.source, self.answer = int(batch.sources[question]), int(batch.answers[question])
        self._masked: set[int] = set()
        if self.answer >= 0:
            self._masked = self._links() if batch.mask_pair[question] else {batch.query}

    def _links(self) -> set[int]:
        """Return the operators that link source and answer."""
        edges = self.operators.edges_out_of(np.array([self.source]))
        return set(self.operators.operators[edges][self.operators.targets[edges] == self.answer].tolist())

    def targets(self, entity: int, operator: int) -> Ids:
        """Return the entities that an operator leads to from an entity, ascending."""
        (start,), (stop,) = self.operators.spans(np.array([entity]), operator)
        found = self.operators.targets[start:stop]
        if entity == self.source and operator in self._masked:
            found = found[found != self.answer]
        if entity == self.answer and self.operators.inverse(operator) in self._masked:
            found = found[found != self.source]
        return found

"""Knowledge bases in arrays of a packed folder: nothing is read before it is used, and names are not held.

The arrays may be memory-mapped, so that processes share them. `facts` and the edge arrays of `Operators` are
there too, but they are made in memory when they are first used: looking up, asking and explaining never do.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import UnknownNameError
from .arrays import Flags, Ids, concatenate_ranges, group_rows
from .knowledge_base import KnowledgeBase
from .operators import Operators
from .segments import CsrSegments, sort_edges
from .vocabulary import Relations, Vocabulary

#: Names that one which is not there is compared with, before and after its place.
NEAR_NAMES = 500


class StringTable(Vocabulary):
    """Names in one array of UTF-8 bytes, ascending, so that a name is found by bisection."""

    def __init__(self, offsets: Ids, text: NDArray[np.uint8]) -> None:
        self.offsets, self.text = offsets, text

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """The names in order; each is decoded when it is read."""
        return self

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        place = int(index) + (len(self) if index < 0 else 0)
        if not 0 <= place < len(self):
            raise IndexError(f"There are {len(self):,} names, no name {index}.")
        return self._bytes(place).decode()

    def _bytes(self, place: int) -> bytes:
        return self.text[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        return (self._bytes(place).decode() for place in range(len(self)))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) >= 0

    def __eq__(self, other: object) -> bool:
        if self is other or not isinstance(other, Vocabulary):
            return self is other
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), int(self.offsets[-1])))

    def _place(self, name: bytes) -> int:
        """Return how many names come before `name`."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            low, high = (middle + 1, high) if self._bytes(middle) < name else (low, middle)
        return low

    def find(self, name: str) -> int:
        """Return the id of `name`, or -1."""
        sought = name.encode(errors="surrogatepass")
        place = self._place(sought)
        return place if place < len(self) and self._bytes(place) == sought else -1

    def _unknown(self, name: str) -> UnknownNameError:
        """Return the error with the nearest of the names that stand near it."""
        around = self._place(name.encode(errors="surrogatepass"))
        near = self[max(0, around - NEAR_NAMES) : around + NEAR_NAMES]
        return UnknownNameError.among(self.kind, name, near, self.owner)


class PackedOperators(Operators):
    """The operators of a packed knowledge base: edges in segments instead of lists."""

    def __init__(self, num_relations: int, csr: CsrSegments, shared: Ids | None = None) -> None:
        object.__setattr__(self, "num_entities", len(csr.offsets) - 1)
        object.__setattr__(self, "num_relations", num_relations)
        object.__setattr__(self, "csr", csr)
        object.__setattr__(self, "shared", shared)

    csr: CsrSegments
    shared: Ids | None  # (operator, operator) how many entities have edges of both; None: to be counted

    @cached_property
    def offsets(self) -> Ids:
        """Where each entity's edges begin; (entity + 1,)."""
        return self.csr.starts[self.csr.offsets].astype(np.int64)

    @cached_property
    def sources(self) -> Ids:
        """The source of each edge."""
        degrees = np.diff(self.csr.starts[self.csr.offsets])
        return np.repeat(np.arange(self.num_entities), degrees)

    @cached_property
    def operators(self) -> Ids:
        """The operator of each edge."""
        return np.repeat(self.csr.operators.astype(np.int64), np.diff(self.csr.starts))

    @cached_property
    def targets(self) -> Ids:
        """The target of each edge."""
        return self.csr.targets.astype(np.int64)

    @property
    def num_edges(self) -> int:
        return len(self.csr.targets)

    def sources_at(self, edges: Ids) -> Ids:
        """Return the sources of edges."""
        segments = self._segments_of(edges)
        return np.searchsorted(self.csr.offsets, segments, side="right") - 1

    def operators_at(self, edges: Ids) -> Ids:
        """Return the operators of edges."""
        return self.csr.operators[self._segments_of(edges)].astype(np.int64)

    def targets_at(self, edges: Ids | slice) -> Ids:
        """Return the targets of edges."""
        return self.csr.targets[edges].astype(np.int64)

    def _segments_of(self, edges: Ids) -> Ids:
        return np.searchsorted(self.csr.starts, edges, side="right") - 1

    def edges_by_operator(self, k: int) -> Ids:
        """Return the numbers of all edges of one operator, ascending."""
        own = self.csr.own[self.csr.operator_offsets[k] : self.csr.operator_offsets[k + 1]]
        starts = self.csr.starts
        return concatenate_ranges(starts[own].astype(np.int64), starts[own + 1].astype(np.int64))

    def sources_of(self, k: int) -> tuple[Ids, Ids]:
        """Return the entities with edges of one operator, ascending, and how many edges each has."""
        part = slice(self.csr.operator_offsets[k], self.csr.operator_offsets[k + 1])
        own, starts = self.csr.own[part], self.csr.starts
        return self.csr.sources[part].astype(np.int64), (starts[own + 1] - starts[own]).astype(np.int64)

    def segments(self) -> tuple[Ids, Ids]:
        """Return the first edge of each segment (one source and operator), and the segments' offsets."""
        return self.csr.starts[:-1].astype(np.int64), self.csr.offsets.astype(np.int64)

    def spans(self, entities: Ids, k: int | Ids) -> tuple[Ids, Ids]:
        """Return the first edge of each entity for one operator, or one each, and the end of these edges."""
        operators, starts = self.csr.operators, self.csr.starts
        offsets = self.csr.offsets[entities], self.csr.offsets[np.asarray(entities) + 1]
        segment = _bisect(operators, *offsets, k)
        inside = segment < offsets[1]
        found = inside.copy()
        found[inside] = operators[segment[inside]] == np.broadcast_to(k, segment.shape)[inside]
        return starts[segment].astype(np.int64), starts[segment + found].astype(np.int64)

    def _find(self, sources: Ids, operators: Ids, targets: Ids) -> Ids:
        first, last = self.spans(sources, operators)
        place = _bisect(self.csr.targets, first, last, targets)
        found = place < last
        found[found] = self.csr.targets[place[found]] == targets[found]
        return np.where(found, place, -1)


def _bisect(values: NDArray[Any], first: NDArray[Any], last: NDArray[Any], sought: int | Ids) -> Ids:
    """Return for each range of ascending values the place of the first that is not below the one sought."""
    low, high = np.array(first, np.int64), np.array(last, np.int64)
    while (low < high).any():
        middle = (low + high) >> 1
        below = (low < high) & (values[np.minimum(middle, len(values) - 1)] < sought)
        low, high = np.where(below, middle + 1, low), np.where(below, high, np.minimum(middle, high))
    return low


class PackedKnowledgeBase(KnowledgeBase):
    """A knowledge base whose facts are segments of edges in both directions."""

    def __init__(
        self,
        entities: Vocabulary,
        operators: PackedOperators,
        relations: Relations,
        num_duplicates: int = 0,
    ) -> None:
        object.__setattr__(self, "entities", entities)
        object.__setattr__(self, "relations", relations)
        object.__setattr__(self, "num_duplicates", num_duplicates)
        object.__setattr__(self, "operators", operators)

    operators: PackedOperators

    @property
    def num_facts(self) -> int:
        """How many facts there are."""
        return self.operators.num_edges // 2

    def __repr__(self) -> str:
        return (
            f"PackedKnowledgeBase({len(self.entities):,} entities, {len(self.relations):,} relations, "
            f"{self.num_facts:,} facts)"
        )

    @cached_property
    def facts(self) -> Ids:
        """The facts by id, sorted by head, relation and tail; made in memory."""
        return np.stack(self.fact_columns(), axis=1).astype(np.int64)

    def fact_columns(self) -> "tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]":
        """Return heads, relations and tails, 4 bytes each."""
        csr = self.operators.csr
        forward = np.flatnonzero(csr.operators < len(self.relations))
        sizes = csr.starts[forward + 1] - csr.starts[forward]
        edges = concatenate_ranges(
            csr.starts[forward].astype(np.int64), csr.starts[forward + 1].astype(np.int64)
        )
        heads = group_rows(csr.offsets.astype(np.int64))[forward]
        return (
            np.repeat(heads.astype(np.int32), sizes),
            np.repeat(csr.operators[forward], sizes),
            csr.targets[edges].astype(np.int32),
        )

    def with_relations(self, relations: Relations) -> "KnowledgeBase":
        """Return the same facts under another numbering, sorted anew, without those of other relations."""
        if relations == self.relations:
            return self
        numbers = np.array([relations.find(name) for name in self.relations], np.int32)
        heads, own, tails = self.fact_columns()
        renumbered = numbers[own]
        kept = renumbered >= 0
        csr = sort_edges(heads[kept], renumbered[kept], tails[kept], len(self.entities), len(relations))
        return PackedKnowledgeBase(self.entities, PackedOperators(len(relations), csr), relations)

    @cached_property
    def reflexive_relations(self) -> Flags:
        """For each relation, whether a fact relates an entity to itself."""
        flags = np.zeros(len(self.relations), dtype=bool)
        for k in range(len(self.relations)):
            sources, _ = self.operators.sources_of(k)
            flags[k] = bool((self.operators._find(sources, np.full(len(sources), k), sources) >= 0).any())
        return flags

"""What chain rules say of every entity: which fire, and how likely a walk along them is, there and back."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..knowledge import Ids
from .evidence_kernels import Entries, Runs, Scratch, Tree, gather
from .operators import Operators

Body = tuple[int, ...]

#: Entries held at first, 16 bytes each; one question that needs more makes room for itself.
MOST_ENTRIES = 1 << 25


def grow_tree(bodies: Sequence[Body]) -> Tree:
    """Return the bodies as a tree, so that what they begin with in common is walked once."""
    root: dict[int, Any] = {}
    for rule, body in enumerate(bodies):
        node = root
        for k in body:
            node = node.setdefault(k, {})
        node[-1] = rule
    nodes = np.array(list(_list_nodes(root, 1)), dtype=np.int32).reshape(-1, 3)
    return Tree(*np.ascontiguousarray(nodes.T))


def _list_nodes(node: dict[int, Any], depth: int) -> Iterator[tuple[int, int, int]]:
    for k in sorted(k for k in node if k >= 0):
        yield depth, k, node[k].get(-1, -1)
        yield from _list_nodes(node[k], depth + 1)


def group_edges(operators: Operators) -> Runs:
    """Return the edges in runs of one entity and operator, with how many arrive where each does."""
    keys = operators.sources * operators.num_operators + operators.operators
    starts = np.flatnonzero(np.diff(keys, prepend=-1))
    arrivals = operators.targets * operators.num_operators + operators.operators
    _, place, fan_in = np.unique(arrivals, return_inverse=True, return_counts=True)
    offsets = np.searchsorted(operators.sources[starts], np.arange(operators.num_entities + 1))
    columns = (
        offsets,
        operators.operators[starts],
        np.append(starts, operators.num_edges),
        operators.targets,
        fan_in[place],
    )
    return Runs(*(np.ascontiguousarray(column.astype(np.int32)) for column in columns))


@dataclass(frozen=True, eq=False)
class Gathered:
    """What rules say, question by question; the arrays are the walker's own, good until it walks again."""

    entries: Entries
    ends: Ids  # (question,)

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ids:
        """Where each question's entries begin."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)


class EvidenceWalker:
    """Walks trees of bodies over the facts; one for each thread, as it holds the space it works in.

    Takes 20 bytes x entities x (longest body + 1), and 16 bytes for each entry.
    """

    def __init__(
        self, runs: Runs, num_operators: int, max_length: int, max_entries: int = MOST_ENTRIES
    ) -> None:
        num_entities = len(runs.offsets) - 1
        size = (max_length + 1, num_entities)
        self.runs = runs
        self.entries = _room_for(max_entries)
        self.scratch = Scratch(
            np.empty(size, np.int32),
            np.empty(size),
            np.empty(size),
            np.zeros(max_length + 1, np.int64),
            np.full(num_entities, -1, np.int32),
            np.zeros(num_operators, np.bool_),
        )

    def gather(
        self,
        tree: Tree,
        query: int,
        sources: Ids,
        answers: Ids | None = None,
        *,
        whole_pair: bool = False,
        barred: bool = False,
    ) -> Gathered:
        """Return the evidence for as many of the questions as there is room for, at least one.

        The facts that link a source to its answer are hidden: the one asked, or the `whole_pair`'s. A
        source that is `barred` is no answer.
        """
        hidden = np.full(len(sources), -1) if answers is None else answers
        ends = np.zeros(len(sources), dtype=np.int64)
        while True:
            done = gather(
                self.runs, tree, self.scratch, sources, query, hidden, whole_pair, barred, self.entries, ends
            )
            if done or not len(sources):
                return Gathered(self.entries, ends[:done])
            self.entries = _room_for(2 * len(self.entries.entities))


def _room_for(num: int) -> Entries:
    """Return entries yet to be written; pages never written to take no memory."""
    kinds = (np.int32, np.int32, np.float32, np.float32)
    return Entries(*(np.empty(num, kind) for kind in kinds))  # type: ignore[arg-type]

"""What rules say of every entity: which fire, and how much for.

A chain tells how likely a walk along it is, there and back. A clue is a rule that is none.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from ..graph.arrays import Body, Flags, Ids
from ..graph.operators import Operators
from ..graph.vocabulary import Vocabulary
from .clue_kernels import Clues, gather
from .features_kernels import CsrSegments, Entries, Evidence, Scratch, Small, Trie, Unsigned

ClueKind = Literal["unary", "anchored", "mirrored"]

#: Entries held at first, 12 bytes each; one question that needs more makes room for itself.
MAX_ENTRIES = 1 << 25


def build_trie(bodies: Sequence[Body]) -> Trie:
    """Return the bodies as a tree, so that what they begin with in common is walked once."""
    root: dict[int, Any] = {}
    for rule, body in enumerate(bodies):
        node = root
        for k in body:
            node = node.setdefault(k, {})
        node[-1] = rule
    nodes = np.array(list(_list_nodes(root, 1)), dtype=np.int32).reshape(-1, 3)
    return Trie(*np.ascontiguousarray(nodes.T))


def _list_nodes(node: dict[int, Any], depth: int) -> Iterator[tuple[int, int, int]]:
    for k in sorted(k for k in node if k >= 0):
        yield depth, k, node[k].get(-1, -1)
        yield from _list_nodes(node[k], depth + 1)


class Clue(NamedTuple):
    """A rule for query r that looks at one operator b, and at no more of a path.

    unary: r(X, answer) where X has any b. anchored: r(X, Y) where b(X, D), as far as others that have this D
    have this answer; told are the largest share of them over all D, and the noisy-or. mirrored: r(X, Y)
    where b(Y, D), as far as others that have this D are answers of X.
    """

    kind: str
    operator: int
    answer: str = ""  # of a unary rule


def list_clues(clues: Sequence[Clue], first: int, num_operators: int, entities: Vocabulary) -> Clues | None:
    """Return clues as the kernels have them, numbered from `first` on, but those of answers unknown.

    None where there are none.
    """
    if not clues:
        return None
    known = [
        (clue.kind, clue.operator, number, entities.find(clue.answer))
        for number, clue in enumerate(clues, first)
        if clue.kind != "unary" or clue.answer in entities
    ]
    rows = {
        kind: np.array([row[1:] for row in known if row[0] == kind], dtype=np.int32).reshape(-1, 3)
        for kind in get_args(ClueKind)
    }
    unary = rows["unary"][np.argsort(rows["unary"][:, 0], kind="stable")]
    offsets = np.searchsorted(unary[:, 0], np.arange(num_operators + 1)).astype(np.int32)
    columns = unary[:, 2], unary[:, 1], rows["anchored"][:, :2], rows["mirrored"][:, :2]
    return Clues(offsets, *map(np.ascontiguousarray, columns))


def csr_segments(operators: Operators) -> CsrSegments:
    """Return the edges in runs of one entity and operator, with how many arrive where each does."""
    starts, offsets = operators.segments()
    arrivals = operators.targets * operators.num_operators + operators.operators
    _, place, fan_in = np.unique(arrivals, return_inverse=True, return_counts=True)
    of_run = operators.operators[starts]
    order = np.argsort(of_run, kind="stable")
    columns = (
        offsets,
        of_run,
        np.append(starts, operators.num_edges),
        operators.targets,
        fan_in[place],
        np.searchsorted(of_run[order], np.arange(operators.num_operators + 1)),
        operators.sources[starts][order],
        order,
    )
    runs = CsrSegments(*(np.ascontiguousarray(column.astype(np.int32)) for column in columns))
    targets, sources = (column.astype(np.uint32) for column in (runs.targets, runs.sources))
    return runs._replace(targets=targets, sources=sources)


@dataclass(frozen=True, eq=False)
class Features:
    """What rules say, question by question; the arrays are the walker's own, good until it walks again."""

    entries: Entries
    ends: Ids  # (question,) where its stretches of entries end

    def __len__(self) -> int:
        return len(self.ends)

    @property
    def starts(self) -> Ids:
        """Where each question's stretches begin."""
        return np.concatenate([[0], self.ends[:-1]]).astype(np.int64)

    def told(self, question: int) -> tuple[Unsigned, Small, Evidence, Evidence]:
        """Return one question's entries: entities, rules, how likely the walk there, and back."""
        entries, start, end = self.entries, self.starts[question], self.ends[question]
        bounds = entries.bounds[start : end + 1]
        own = slice(bounds[0], bounds[-1])
        rules = np.repeat(entries.rules[start:end], np.diff(bounds))
        return entries.entities[own], rules, entries.forward[own], entries.backward[own]


class FeatureWalker:
    """Walks trees of bodies over the facts; one for each thread, as it holds the space it works in.

    Takes 24 bytes x entities x (longest body + 1), 12 bytes for each entry, and 12 for each stretch.
    """

    def __init__(
        self, runs: CsrSegments, num_operators: int, max_length: int, max_entries: int = MAX_ENTRIES
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
            np.full(size, -1, np.int32),
            np.empty(num_entities + 1, np.int32),
            np.empty(num_entities + 1, np.int32),
            np.zeros(num_operators, np.bool_),
            np.zeros(num_entities, np.int32),
            np.empty(num_entities, np.int32),
            np.zeros(num_entities, np.int8),
        )

    def gather(
        self,
        tree: Trie,
        clues: Clues | None,
        query: int,
        sources: Ids,
        answers: Ids | None = None,
        *,
        mask_pair: bool | Flags = False,
        excluded: bool = False,
    ) -> Features:
        """Return the evidence for as many of the questions as there is room for, at least one.

        The facts that link a source to its answer are hidden: the one asked, or the `whole_pair`'s. A
        source that is `barred` is no answer.
        """
        hidden = np.full(len(sources), -1) if answers is None else answers
        ends = np.zeros(len(sources), dtype=np.int64)
        asked = sources, query, hidden, np.broadcast_to(mask_pair, len(sources)).copy(), excluded
        while True:
            done = gather(self.runs, tree, clues, self.scratch, *asked, self.entries, ends)
            if done or not len(sources):
                return Features(self.entries, ends[:done])
            self.entries = _room_for(2 * len(self.entries.entities))


def _room_for(num: int) -> Entries:
    """Return entries yet to be written, and as many stretches: pages never written to take no memory."""
    forward, backward = (np.empty(num, np.float32) for _ in range(2))
    bounds = np.zeros(num + 1, np.int64)
    return Entries(np.empty(num, np.uint32), forward, backward, np.empty(num, np.int32), bounds)

"""Questions (source, query, answer) in both directions, and the answers known for them."""

from dataclasses import dataclass

import numpy as np

from .arrays import Flags, Ids, concatenate_ranges, distinct
from .operators import Operators
from .vocabulary import inverse_operator


@dataclass(frozen=True, eq=False)
class Questions:
    """Sources, queries and right answers, one row for each question."""

    sources: Ids
    queries: Ids
    answers: Ids

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: "Ids | slice") -> "Questions":
        return Questions(self.sources[rows], self.queries[rows], self.answers[rows])


def ask_both_ways(triples: Ids, num_relations: int) -> Questions:
    """Return two questions for each triple: row 2i asks for the tail, row 2i + 1 for the head."""
    head, relation, tail = triples.T
    return Questions(
        sources=_interleave(head, tail),
        queries=_interleave(relation, inverse_operator(relation, num_relations)),
        answers=_interleave(tail, head),
    )


def _interleave(even: Ids, odd: Ids) -> Ids:
    return np.stack([even, odd], axis=1).reshape(-1)


def excludes_source(reflexive: Flags, queries: "Ids | int") -> Flags:
    """Return whether the source is no candidate answer of a query: no fact of its relation is reflexive.

    `reflexive` are flags of relations; an operator and its inverse have the same one.

    >>> excludes_source(np.array([True, False]), np.array([0, 1, 2, 3]))
    array([False,  True, False,  True])
    """
    return np.logical_not(reflexive[queries % len(reflexive)])


class KnownAnswers:
    """The distinct known answers to each (source, query), from triples asked in both directions."""

    def __init__(self, triples: Ids, num_relations: int) -> None:
        self.num_operators = 2 * num_relations
        questions = ask_both_ways(distinct(triples), num_relations)
        keys = questions.sources * self.num_operators + questions.queries
        order = np.argsort(keys, kind="stable")
        self._keys, self._answers = keys[order], questions.answers[order]

    def pairs(self, sources: Ids, queries: Ids) -> tuple[Ids, Ids]:
        """Return all known answers as (row, entity) pairs; rows ascend and number the given questions."""
        keys = sources * self.num_operators + queries
        starts, stops = (np.searchsorted(self._keys, keys, side) for side in ("left", "right"))
        rows = np.repeat(np.arange(len(keys)), stops - starts)
        return rows, self._answers[concatenate_ranges(starts, stops)]


class KnownFacts(KnownAnswers):
    """The known answers to each (source, query), read from the sorted edges of a graph."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def pairs(self, sources: Ids, queries: Ids) -> tuple[Ids, Ids]:
        """Return all known answers as (row, entity) pairs; rows ascend and number the given questions."""
        starts, stops = self.operators.spans(sources, queries)
        rows = np.repeat(np.arange(len(sources)), stops - starts)
        return rows, self.operators.targets_at(concatenate_ranges(starts, stops))

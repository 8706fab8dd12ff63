"""The rules that a question asks for: algorithm 1 over a question's attention, weighted by node degrees."""

from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Body, Floats
from ..graph.operators import Operators
from ..rules.extraction import Confidences, extract_all

#: Partial bodies kept after each step; the least confident ones are dropped.
BEAM = 64

#: The least cosine of the mean degrees of entities of one kind.
MIN_ALIKE = 0.8


class DegreeStatistics:
    """Mean numbers of edges of each operator that leave an entity, given another operator it has.

    Memories are divided by their sums, so attention on an operator without edges costs nothing and training
    does not remove it: for a question about an actor some attention may stay on release_year. Rules read from
    attention alone would include it. Where an entity lacks an operator that similar entities have (a film
    without a language in the facts), the mean takes its place: the rule is right and has no answer.
    """

    def __init__(self, operators: Operators) -> None:
        size = operators.num_operators
        self._counts = np.zeros((operators.num_entities, size), dtype=np.float32)
        np.add.at(self._counts, (operators.sources, operators.operators), 1.0)
        #: (k, l): mean number of edges of l that leave the target of an edge of k
        self.after = np.zeros((size, size))
        #: (k, l): mean number of edges of l that leave an entity with an edge of k
        self.beside = np.zeros((size, size))
        for k in np.unique(operators.operators):
            self.after[k] = self._counts[operators.targets[operators.operators == k]].mean(axis=0)
            self.beside[k] = self._counts[self._counts[:, k] > 0].mean(axis=0)

    def counts(self, entity: int) -> Floats:
        """Return the number of edges of each operator that leave an entity."""
        counts: Floats = self._counts[entity].astype(np.float64)
        return counts

    def reach_alike(self, one: int, other: int) -> bool:
        """Return whether two operators lead to entities of the same kind: with nearly the same operators."""
        first, second = self.after[one], self.after[other]
        return float(first @ second) >= MIN_ALIKE * float(np.linalg.norm(first) * np.linalg.norm(second))

    def of(self, entity: int) -> Floats:
        """Return the number of edges of each operator that leave an entity, or the mean where it has none."""
        counts = self.counts(entity)
        usual = self.beside[counts > 0].max(axis=0, initial=0.0)
        expected: Floats = np.where(counts > 0, counts, usual)
        return expected


@dataclass(frozen=True, eq=False)
class DegreeExtension:
    """One step of algorithm 1, in which a body's confidence is also multiplied by the next step's degree.

    `first` holds the degrees of the source, `after` (operator, operator) those after an operator. With
    `normalize`, bodies are divided by their sum as memories are. Only the `BEAM` best are kept.
    """

    first: Floats
    after: Floats
    normalize: bool

    def __call__(self, read: Confidences, attention: Floats) -> Confidences:
        """Return the most confident extensions of the bodies read."""
        bodies = list(read)
        degrees = np.array([self.after[body[-1]] if body else self.first for body in bodies])
        values = np.array([read[body] for body in bodies])[:, None] * attention * degrees
        if self.normalize:
            values /= values.sum() or 1.0
        return {(*bodies[n], k): float(values[n, k]) for n, k in _largest(values)}


def _largest(values: Floats) -> list[tuple[int, int]]:
    """Return the positions of the `BEAM` largest values above 0."""
    flat = np.argsort(-values, axis=None, kind="stable")[:BEAM]
    rows, columns = np.unravel_index(flat[values.reshape(-1)[flat] > 0], values.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def extract_by_degree(
    operator: Floats, memory: Floats, extension: DegreeExtension
) -> list[tuple[Body, float]]:
    """Return the bodies of a question with their shares of all confidence, the most confident first.

    The empty body is left out: a question does not ask for its own entity.
    """
    found = extract_all(operator, memory, extension)
    found.pop((), None)
    total = sum(found.values()) or 1.0
    return sorted(((body, c / total) for body, c in found.items() if c > 0), key=lambda each: -each[1])

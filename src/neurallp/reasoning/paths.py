"""Paths of a neural model: those that contribute most to a score, and the norms of its memories."""

import heapq
from collections.abc import Iterator
from itertools import count

import numpy as np

from ..engines.reference import SMALLEST_SUM
from ..graph.arrays import Body, Floats, Ids
from ..graph.operators import Operators
from ..rules.extraction import completion_bounds, extend, start


def memory_norms(operators: Operators, operator: Floats, memory: Floats, source: int) -> Floats:
    """Return the sums of the memories u_1 … u_T before normalisation, for one source and one controller."""
    memories = np.zeros((len(memory), operators.num_entities))
    memories[0, source] = 1.0
    norms = np.ones(len(operator))
    for t, a in enumerate(operator):
        reached = hop(operators, a, memory[t, : t + 1] @ memories[: t + 1])
        norms[t] = max(reached.sum(), SMALLEST_SUM)
        memories[t + 1] = reached / norms[t]
    return norms


def hop(operators: Operators, a: Floats, memory: Floats) -> Floats:
    """Return sum_k a^k M_k u for one memory u; only edges out of its nonzero entities are used."""
    edges = operators.edges_out_of(np.flatnonzero(memory))
    products = memory[operators.sources[edges]] * a[operators.operators[edges]]
    reached = np.bincount(operators.targets[edges], products, minlength=operators.num_entities)
    return reached.astype(np.float64, copy=False)


class PathSearch:
    """Finds the paths from a source to an answer, those with the largest contribution first.

    Best-first over path prefixes, with the bounds of rule extraction, along edges from which the answer is
    still reachable in the steps left.
    """

    def __init__(self, operators: Operators, operator: Floats, memory: Floats) -> None:
        self.operators, self.operator, self.memory = operators, operator, memory
        self.bound = completion_bounds(operator, memory)

    def paths(self, source: int, answer: int) -> Iterator[tuple[Body, tuple[int, ...], float]]:
        """Yield (body, path of entities, contribution to the score), the largest first."""
        distance = self._distances(answer)
        finish = self.memory[:, -1]
        order = count()
        heap: list[tuple[float, int, Body, tuple[int, ...], Floats | None]] = []
        heapq.heappush(heap, (-np.inf, next(order), (), (source,), start(self.memory)))
        while heap:
            negative, _, body, path, reach = heapq.heappop(heap)
            if reach is None:
                yield body, path, -negative
                continue
            value = float((reach * finish).sum())
            if path[-1] == answer and value > 0:
                heapq.heappush(heap, (-value, next(order), body, path, None))
            children = extend(reach, self.operator, self.memory)
            bounds = np.einsum("krs,rs->k", children, self.bound)
            for k, target in self._onward(path[-1], distance, self._num_steps - len(body) - 1):
                if bounds[k] > 0:
                    heapq.heappush(
                        heap, (-float(bounds[k]), next(order), (*body, k), (*path, target), children[k])
                    )

    @property
    def _num_steps(self) -> int:
        return len(self.operator[0])

    def _distances(self, answer: int) -> Ids:
        """Return the number of steps from each entity to `answer`; T where it is more than T - 1."""
        distance = np.full(self.operators.num_entities, self._num_steps, dtype=np.int64)
        distance[answer] = 0
        front = np.array([answer])
        for steps in range(1, self._num_steps):
            reached = np.unique(self.operators.targets[self.operators.edges_out_of(front)])
            front = reached[distance[reached] > steps]
            distance[front] = steps
        return distance

    def _onward(self, entity: int, distance: Ids, steps_left: int) -> Iterator[tuple[int, int]]:
        if steps_left < 0:
            return
        edges = slice(self.operators.offsets[entity], self.operators.offsets[entity + 1])
        targets = self.operators.targets[edges]
        near = distance[targets] <= steps_left
        yield from zip(self.operators.operators[edges][near].tolist(), targets[near].tolist(), strict=True)

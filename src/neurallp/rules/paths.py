"""Paths along a rule's body between two entities: enumerated, or the one with the highest score first."""

import heapq
from collections.abc import Callable, Collection, Iterator
from itertools import count

import numpy as np

from ..graph.arrays import Body, Floats, Ids, concatenate_ranges
from ..graph.operators import Operators

Path = tuple[int, ...]  # entities, from the source to the answer


def follow(operators: Operators, entities: Ids, k: int) -> Ids:
    """Return the entities that operator `k` leads to from any of `entities`, ascending."""
    return np.unique(operators.targets_at(concatenate_ranges(*operators.spans(entities, k))))


def reachable_sets(operators: Operators, body: Body, source: int) -> list[Ids]:
    """Return the entities that the first 0, 1, … all operators of `body` reach from `source`."""
    reached = [np.array([source])]
    for k in body:
        reached.append(follow(operators, reached[-1], k))
    return reached


def reachable_sets_to(operators: Operators, body: Body, answer: int) -> list[Ids]:
    """Return the entities from which all, all but the first, … none of the operators reach `answer`."""
    return reachable_sets(operators, tuple(map(operators.inverse, reversed(body))), answer)[::-1]


def count_edges(operators: Operators, here: Ids, k: int, there: Ids) -> int:
    """Return the number of edges by which operator `k` leads from any of `here` to any of `there`."""
    return len(_edges_between(operators, here, k, there)[0])


def find_paths(operators: Operators, body: Body, source: int, answer: int) -> Iterator[Path]:
    """Yield every path along `body` from `source` to `answer`; only completable prefixes are extended."""
    completable = reachable_sets_to(operators, body, answer)

    def extend(path: Path) -> Iterator[Path]:
        length = len(path) - 1
        if length == len(body):
            yield path
            return
        targets = follow(operators, np.array(path[-1:]), body[length])
        for target in np.intersect1d(targets, completable[length + 1], assume_unique=True).tolist():
            yield from extend((*path, target))

    return extend((source,)) if source in completable[0] else iter(())


class PathLattice:
    """All paths along a body from a source to an answer: the reachable nodes at each position, and the steps.

    `excluded` are (position, entity) pairs that no path may contain. The score of a path is the product of
    `score(position, entities)` over all its positions but the last. Paths are not listed, so their number
    does not matter.
    """

    def __init__(
        self,
        operators: Operators,
        body: Body,
        ends: tuple[int, int],
        excluded: Collection[tuple[int, int]],
        score: Callable[[int, Ids], Floats],
    ) -> None:
        self.nodes = [np.array(ends[:1])]  # the entities at each position, ascending
        self.steps: list[tuple[Ids, Ids]] = []  # from which node to which, as indices into `nodes`
        for k, completable in zip(body, _completable(operators, body, ends[1], excluded), strict=True):
            here = self.nodes[-1]
            sources, targets = _edges_between(operators, here, k, completable)
            there, arrivals = np.unique(targets, return_inverse=True)
            self.nodes.append(there)
            self.steps.append((np.searchsorted(here, sources), arrivals))
        self.scores = [score(position, here) for position, here in enumerate(self.nodes[:-1])]

    @property
    def total(self) -> float:
        """The sum of the scores of all paths."""
        prefix_scores = np.ones(1)
        for (before, after), scores, there in zip(self.steps, self.scores, self.nodes[1:], strict=True):
            products = (prefix_scores * scores)[before]
            prefix_scores = np.bincount(after, products, len(there)).astype(np.float64)
        return float(prefix_scores.sum())

    def paths(self) -> Iterator[tuple[Path, float]]:
        """Yield each path with its score, the highest first; later paths are searched only on demand.

        Best-first over prefixes, each ranked by its best suffix. The next best step of a prefix enters the
        heap when the one before it leaves, so that the many steps of a hub are not all visited.
        """
        suffixes = self._suffix_scores()
        onward = [_sorted_steps(*step, suffix) for step, suffix in zip(self.steps, suffixes[1:], strict=True)]
        order = count()  # breaks ties without comparing paths
        heap: list[tuple[float, int, int, Path, int]] = []

        def push(score: float, path: Path, number: int) -> None:
            """Add a prefix that continues by its `number`-th best step; of equals the longer comes first."""
            heapq.heappush(heap, (-score, -len(path), next(order), path, number))

        if len(self.nodes[-1]):
            push(float(suffixes[0][0]), (0,), 0)
        while heap:
            negative, _, _, path, number = heapq.heappop(heap)
            position = len(path) - 1
            if position == len(self.steps):
                yield tuple(int(nodes[i]) for nodes, i in zip(self.nodes, path, strict=True)), -negative
                continue
            starts, targets = onward[position]
            here = starts[path[-1]] + number
            push(-negative, (*path, int(targets[here])), 0)
            if here + 1 < starts[path[-1] + 1]:
                # Multiplied by a ratio, so that equal scores stay equal to the last digit.
                suffix = suffixes[position + 1]
                push(-negative * float(suffix[targets[here + 1]] / suffix[targets[here]]), path, number + 1)

    def _suffix_scores(self) -> list[Floats]:
        """Return for each node at each position the score of the best suffix from there to the answer."""
        suffixes: list[Floats] = [np.ones(len(self.nodes[-1]))]
        for (before, after), scores in zip(reversed(self.steps), reversed(self.scores), strict=True):
            best = np.zeros(len(scores))
            np.maximum.at(best, before, suffixes[0][after])
            suffixes.insert(0, best * scores)
        return suffixes


def _completable(
    operators: Operators, body: Body, answer: int, excluded: Collection[tuple[int, int]]
) -> list[Ids]:
    """Return the entities at each position after the first from which the rest of `body` reaches `answer`."""
    sets = [np.array([answer])]
    for position in reversed(range(1, len(body) + 1)):
        not_here = [entity for where, entity in excluded if where == position]
        sets[0] = sets[0][~np.isin(sets[0], not_here)]
        sets.insert(0, follow(operators, sets[0], operators.inverse(body[position - 1])))
    return sets[1:]


def _edges_between(operators: Operators, here: Ids, k: int, there: Ids) -> tuple[Ids, Ids]:
    """Return sources and targets of the edges by which operator `k` leads from `here` to any of `there`."""
    edges = concatenate_ranges(*operators.spans(here, k))
    targets = operators.targets_at(edges)
    place = np.searchsorted(there, targets)  # np.isin would sort both
    kept = np.append(there, -1)[place] == targets
    return operators.sources_at(edges[kept]), targets[kept]


def _sorted_steps(before: Ids, after: Ids, suffix: Floats) -> tuple[Ids, Ids]:
    """Return where the steps of each node begin, and their targets, the best suffix first."""
    order = np.lexsort((after, -suffix[after], before))
    return np.searchsorted(before[order], np.arange(before.max(initial=-1) + 2)), after[order]

"""The paths along a rule's body between two entities: listed, or the largest first."""

import heapq
from collections.abc import Callable, Collection, Iterator
from itertools import count

import numpy as np

from ..graph.arrays import Body, Floats, Ids, concatenate_ranges
from ..graph.operators import Operators

Path = tuple[int, ...]  # entities, from the source to the answer


def follow(operators: Operators, entities: Ids, k: int) -> Ids:
    """Return where operator `k` leads from any of `entities`, ascending."""
    return np.unique(operators.targets[concatenate_ranges(*operators.spans(entities, k))])


def stages(operators: Operators, body: Body, source: int) -> list[Ids]:
    """Return where the first 0, 1, … all operators of `body` lead from `source`."""
    reached = [np.array([source])]
    for k in body:
        reached.append(follow(operators, reached[-1], k))
    return reached


def stages_back(operators: Operators, body: Body, answer: int) -> list[Ids]:
    """Return from where all, all but the first, … none of the operators of `body` lead to `answer`."""
    return stages(operators, tuple(map(operators.inverse, reversed(body))), answer)[::-1]


def find_paths(operators: Operators, body: Body, source: int, answer: int) -> Iterator[Path]:
    """Yield every path along `body` from `source` to `answer`, stepping only where the rest leads on."""
    leads_on = stages_back(operators, body, answer)

    def onward(path: Path) -> Iterator[Path]:
        done = len(path) - 1
        if done == len(body):
            yield path
            return
        targets = follow(operators, np.array(path[-1:]), body[done])
        for target in np.intersect1d(targets, leads_on[done + 1], assume_unique=True).tolist():
            yield from onward((*path, target))

    return onward((source,)) if source in leads_on[0] else iter(())


class PathLattice:
    """All paths along a body from a source to an answer, not listed: who may stand where, and who comes next.

    Nobody stands at a place that is `barred` to them, (place, entity). A path is worth the product over its
    places, but the last, of what `worth` says of a place and those who stand there.
    """

    def __init__(
        self,
        operators: Operators,
        body: Body,
        ends: tuple[int, int],
        excluded: Collection[tuple[int, int]],
        worth: Callable[[int, Ids], Floats],
    ) -> None:
        self.places = [np.array(ends[:1])]
        self.steps: list[tuple[Ids, Ids]] = []  # from whom to whom, as they are numbered at their places
        for k, onward in zip(body, _leading_on(operators, body, ends[1], excluded), strict=True):
            here = self.places[-1]
            sources, targets = _edges_between(operators, here, k, onward)
            there, arrivals = np.unique(targets, return_inverse=True)
            self.places.append(there)
            self.steps.append((np.searchsorted(here, sources), arrivals))
        self.values = [worth(place, here) for place, here in enumerate(self.places[:-1])]

    @property
    def total(self) -> float:
        """What all paths are worth together."""
        amounts = np.ones(1)
        for (before, after), values, there in zip(self.steps, self.values, self.places[1:], strict=True):
            amounts = np.bincount(after, (amounts * values)[before], len(there)).astype(np.float64)
        return float(amounts.sum())

    def paths(self) -> Iterator[tuple[Path, float]]:
        """Yield each path with what it is worth, the worthiest first, found only as they are wanted.

        Best-first over beginnings, each of which knows its worthiest rest. Whoever is next is put on the heap
        when the one before is taken, so that a hub's many ways on are not all looked at.
        """
        rests = self._best_rests()
        onward = [_sorted_steps(*step, rest) for step, rest in zip(self.steps, rests[1:], strict=True)]
        order = count()
        heap: list[tuple[float, int, int, Path, int]] = []

        def push(worth: float, path: Path, number: int) -> None:
            """Add a beginning that goes on to its `number`-th best; of equals the longer comes first."""
            heapq.heappush(heap, (-worth, -len(path), next(order), path, number))

        if len(self.places[-1]):
            push(float(rests[0][0]), (0,), 0)
        while heap:
            negative, _, _, path, number = heapq.heappop(heap)
            place = len(path) - 1
            if place == len(self.steps):
                yield tuple(int(who[i]) for who, i in zip(self.places, path, strict=True)), -negative
                continue
            starts, options = onward[place]
            here = starts[path[-1]] + number
            push(-negative, (*path, int(options[here])), 0)
            if here + 1 < starts[path[-1] + 1]:
                # By their ratio, so that equals stay equal to the last digit.
                less = float(rests[place + 1][options[here + 1]] / rests[place + 1][options[here]])
                push(-negative * less, path, number + 1)

    def _best_rests(self) -> list[Floats]:
        """Return what the worthiest way on to the answer is worth, for everyone at every place."""
        rests: list[Floats] = [np.ones(len(self.places[-1]))]
        for (before, after), values in zip(reversed(self.steps), reversed(self.values), strict=True):
            best = np.zeros(len(values))
            np.maximum.at(best, before, rests[0][after])
            rests.insert(0, best * values)
        return rests


def _leading_on(
    operators: Operators, body: Body, answer: int, excluded: Collection[tuple[int, int]]
) -> list[Ids]:
    """Return who may stand at each place after the first, the rest of `body` leading on to `answer`."""
    stages = [np.array([answer])]
    for place in reversed(range(1, len(body) + 1)):
        for who in (entity for where, entity in excluded if where == place):
            stages[0] = stages[0][stages[0] != who]
        stages.insert(0, follow(operators, stages[0], operators.inverse(body[place - 1])))
    return stages[1:]


def _edges_between(operators: Operators, here: Ids, k: int, onward: Ids) -> tuple[Ids, Ids]:
    """Return the ends of the edges by which operator `k` leads from `here` to any of `onward`."""
    edges = concatenate_ranges(*operators.spans(here, k))
    place = np.searchsorted(onward, operators.targets[edges])  # numpy's isin would sort both
    edges = edges[np.append(onward, -1)[place] == operators.targets[edges]]
    return operators.sources[edges], operators.targets[edges]


def _sorted_steps(before: Ids, after: Ids, rest: Floats) -> tuple[Ids, Ids]:
    """Return where the steps of each begin, and to whom they lead, the worthiest rest first."""
    order = np.lexsort((after, -rest[after], before))
    return np.searchsorted(before[order], np.arange(before.max(initial=-1) + 2)), after[order]

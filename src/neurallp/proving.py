"""What stands behind an answer: a model or given rules, bound to facts, and the paths they take to it."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import count
from typing import Protocol

import numpy as np
import torch

from .attention import Attention
from .engine import Engine, Operators, Scores, Walks
from .engine.counting import count_paths
from .engine.reference import SMALLEST_SUM
from .hygiene import mirror
from .knowledge import Ids, Relations
from .model import NeuralLP
from .rules import Body, Floats, Rule, body_confidence, completion_bounds, extend, spell_out, start

Path = tuple[int, ...]  # entities, from the source to the answer


class Evidence(Protocol):
    """What a reasoner asks: scores, the rules behind them, and what each adds along each path."""

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, in double precision: the sums of all their parts."""
        ...

    def reached(self, sources: Ids, queries: Ids) -> Scores:
        """Return the same, but only of what rules lead to from each source."""
        ...

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the most confident first."""
        ...

    def parts(self, source: int, query: int, answer: int) -> Iterator[tuple[Rule, Path, float]]:
        """Yield each rule and path to an answer with what it adds to the score, the largest first."""
        ...


class LearnedEvidence:
    """A model's: rules and their confidences are read off its attention, which is kept once looked up."""

    def __init__(self, model: NeuralLP, operators: Operators, engine: Engine) -> None:
        self.model, self.operators, self.engine = model, operators, engine
        self._kept: dict[int, Attention] = {}

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.model.scores(self.engine, sources, queries, self._attend)

    reached = scores

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules that the attention of one query stands for."""
        return spell_out(self.model, query)

    def parts(self, source: int, query: int, answer: int) -> Iterator[tuple[Rule, Path, float]]:
        """Yield what each rule adds along each path."""
        name = self.model.relations.operator_name
        excludes = bool(self.model.excludes_source(np.array([query]))[0])
        operator, memory = (each[:, 0].cpu().numpy() for each in self._attend(np.array([query])).pair)
        search = PathSearch(self.operators, operator / self._norms(operator, memory, source), memory)
        for body, path, amount in search.paths(source, answer):
            confidence = body_confidence(body, operator, memory)
            yield Rule(name(query), tuple(map(name, body)), confidence, distinct_ends=excludes), path, amount

    @torch.no_grad()
    def _attend(self, queries: Ids) -> Attention:
        """Return attention in double precision, so that parts and scores are sums of the same numbers."""
        if len(queries) > 1:
            return self.model.attend(queries).double()
        if queries[0] not in self._kept:
            self._kept[int(queries[0])] = self.model.attend(queries).double()
        return self._kept[int(queries[0])]

    def _norms(self, operator: Floats, memory: Floats, source: int) -> Floats:
        """Return what each memory is divided by, to be divided into the operators that fill it instead."""
        if not self.model.config.normalize:
            return np.ones(1)
        ranks = zip(operator, memory, strict=True)
        return np.array([memory_norms(self.operators, a, b, source) for a, b in ranks])[:, :, None]


class GivenEvidence:
    """Rules written by hand or imported: score(y | x) = sum of confidence x number of paths.

    A query that no rule is written for is answered by the rules of its inverse, taken the other way round.
    """

    def __init__(
        self, rules: Iterable[Rule], relations: Relations, operators: Operators, engine: Engine
    ) -> None:
        self.relations, self.operators, self.engine = relations, operators, engine
        self._rules: defaultdict[int, list[Rule]] = defaultdict(list)
        concluding = (rule for rule in rules if rule.concludes)
        for rule in sorted(concluding, key=lambda rule: -rule.confidence):
            self._rules[relations.operator_id(rule.target)].append(rule)
        for query in list(self._rules):
            inverse = relations.inverse(query)
            self._rules[inverse] = self._rules[inverse] or list(map(mirror, self._rules[query]))

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query."""
        yield from self._rules.get(query, ())

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, one query at a time: each has rules of its own."""
        order = np.argsort(queries, kind="stable")
        distinct, first = np.unique(queries[order], return_index=True)
        groups = zip(distinct.tolist(), np.split(sources[order], first[1:]), strict=True)
        return Scores.stacked([self._scores(query, group) for query, group in groups])[np.argsort(order)]

    reached = scores

    def _scores(self, query: int, sources: Ids) -> Scores:
        rules = list(self.rules(query))
        reflexive = [rule for rule in rules if not rule.distinct_ends]
        scores = self._add_up(rules, sources)
        if len(reflexive) == len(rules):
            return scores
        rows = np.arange(len(sources))
        own = self._add_up(reflexive, sources).at(rows, sources) if reflexive else -np.inf
        return scores.replaced(rows, sources, own)

    def _add_up(self, rules: Sequence[Rule], sources: Ids) -> Scores:
        """Return the sum over rules; only X != Y is left to do, as it concerns an answer and not a path."""
        walked = self._walk([rule for rule in rules if not rule.apart], sources)
        return Scores.added([walked, *(self._count(rule, sources) for rule in rules if rule.apart)])

    def _count(self, rule: Rule, sources: Ids) -> Scores:
        """Return what a rule adds that wants different entities on its way, which no memory can tell."""
        body = body_ids(rule, self.relations)
        return count_paths(self.operators, body, rule.unequal, sources).times(rule.confidence)

    def _walk(self, rules: Sequence[Rule], sources: Ids) -> Scores:
        if not rules:
            return Scores.none(len(sources), self.operators.num_entities)
        walks = Walks.free(sources, np.zeros(len(sources), dtype=np.int64))
        return self.engine.scores(attention_of(rules, self.relations), walks, normalize=False)

    def parts(self, source: int, query: int, answer: int) -> Iterator[tuple[Rule, Path, float]]:
        """Yield every rule with every path along its body."""
        for rule in self.rules(query):
            for path in find_paths(self.operators, body_ids(rule, self.relations), source, answer):
                if rule.admits(path):
                    yield rule, path, rule.confidence


def attention_of(rules: Sequence[Rule], relations: Relations) -> Attention:
    """Return attention that walks each rule in a rank of its own, one row for all.

    Step t reads the memory before it and takes the body's operator t; the last read weighs what the whole
    body leads to by the rule's confidence.
    """
    num_steps = max(1, *(len(rule.body) for rule in rules))
    operator = torch.zeros(len(rules), 1, num_steps, relations.num_operators, dtype=torch.float64)
    memory = torch.zeros(len(rules), 1, num_steps + 1, num_steps + 1, dtype=torch.float64)
    for rank, rule in enumerate(rules):
        for t, k in enumerate(body_ids(rule, relations)):
            operator[rank, 0, t, k] = 1.0
            memory[rank, 0, t, t] = 1.0
        memory[rank, 0, -1, len(rule.body)] = rule.confidence
    return Attention(operator, memory)


def body_ids(rule: Rule, relations: Relations) -> Body:
    """Return the operators of a rule's body."""
    return tuple(map(relations.operator_id, rule.body))


# Walking a few entities in numpy


def edges_out_of(operators: Operators, entities: Ids) -> Ids:
    """Return the numbers of all edges that leave any of `entities`."""
    start, stop = operators.offsets[entities], operators.offsets[entities + 1]
    length = stop - start
    return np.repeat(start - np.cumsum(length) + length, length) + np.arange(length.sum())


def follow(operators: Operators, entities: Ids, k: int) -> Ids:
    """Return where operator `k` leads from any of `entities`, ascending."""
    edges = edges_out_of(operators, entities)
    return np.unique(operators.targets[edges[operators.operators[edges] == k]])


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


def count_edges(operators: Operators, entities: Ids, k: int) -> Ids:
    """Return how many edges of operator `k` leave each of distinct `entities`."""
    edges = edges_out_of(operators, entities)
    owners = np.searchsorted(entities, operators.sources[edges[operators.operators[edges] == k]])
    return np.bincount(owners, minlength=len(entities))


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
        barred: Collection[tuple[int, int]],
        worth: Callable[[int, Ids], Floats],
    ) -> None:
        self.places = [np.array(ends[:1])]
        self.steps: list[tuple[Ids, Ids]] = []  # from whom to whom, as they are numbered at their places
        for k, onward in zip(body, _leading_on(operators, body, ends[1], barred), strict=True):
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
        rests = [np.ones(len(self.places[-1]))]
        for (before, after), values in zip(reversed(self.steps), reversed(self.values), strict=True):
            best = np.zeros(len(values))
            np.maximum.at(best, before, rests[0][after])
            rests.insert(0, best * values)
        return rests


def _leading_on(
    operators: Operators, body: Body, answer: int, barred: Collection[tuple[int, int]]
) -> list[Ids]:
    """Return who may stand at each place after the first, the rest of `body` leading on to `answer`."""
    stages = [np.array([answer])]
    for place in reversed(range(1, len(body) + 1)):
        for who in (entity for where, entity in barred if where == place):
            stages[0] = stages[0][stages[0] != who]
        stages.insert(0, follow(operators, stages[0], operators.inverse(body[place - 1])))
    return stages[1:]


def _edges_between(operators: Operators, here: Ids, k: int, onward: Ids) -> tuple[Ids, Ids]:
    """Return the ends of the edges by which operator `k` leads from `here` to any of `onward`."""
    edges = edges_out_of(operators, here)
    edges = edges[operators.operators[edges] == k]
    edges = edges[np.isin(operators.targets[edges], onward)]
    return operators.sources[edges], operators.targets[edges]


def _sorted_steps(before: Ids, after: Ids, rest: Floats) -> tuple[Ids, Ids]:
    """Return where the steps of each begin, and to whom they lead, the worthiest rest first."""
    order = np.lexsort((after, -rest[after], before))
    return np.searchsorted(before[order], np.arange(before.max(initial=-1) + 2)), after[order]


def memory_norms(operators: Operators, operator: Floats, memory: Floats, source: int) -> Floats:
    """Return the sum of each memory u_1 … u_T before it is divided by it, for one source and rank."""
    memories = np.zeros((len(memory), operators.num_entities))
    memories[0, source] = 1.0
    norms = np.ones(len(operator))
    for t, a in enumerate(operator):
        reached = hop(operators, a, memory[t, : t + 1] @ memories[: t + 1])
        norms[t] = max(reached.sum(), SMALLEST_SUM)
        memories[t + 1] = reached / norms[t]
    return norms


def hop(operators: Operators, a: Floats, memory: Floats) -> Floats:
    """Return sum_k a^k M_k u for one memory, walking only from where it is not 0."""
    edges = edges_out_of(operators, np.flatnonzero(memory))
    amounts = memory[operators.sources[edges]] * a[operators.operators[edges]]
    reached = np.bincount(operators.targets[edges], amounts, minlength=operators.num_entities)
    return reached.astype(np.float64, copy=False)


class PathSearch:
    """Finds the paths from a source to an answer, those that add most to the score first.

    Best-first over path prefixes, as rules are recovered, but only along edges from which the answer
    can still be reached.
    """

    def __init__(self, operators: Operators, operator: Floats, memory: Floats) -> None:
        self.operators, self.operator, self.memory = operators, operator, memory
        self.bound = completion_bounds(operator, memory)

    def paths(self, source: int, answer: int) -> Iterator[tuple[Body, tuple[int, ...], float]]:
        """Yield (body, path of entities, what it adds to the score), the largest first."""
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
        """Return how many steps each entity is from `answer`; past T - 1 they count as T."""
        distance = np.full(self.operators.num_entities, self._num_steps, dtype=np.int64)
        distance[answer] = 0
        front = np.array([answer])
        for steps in range(1, self._num_steps):
            reached = np.unique(self.operators.targets[edges_out_of(self.operators, front)])
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

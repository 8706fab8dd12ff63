"""Answers and reasons: any model on any knowledge base with its relations."""

import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice

import numpy as np
from numpy.typing import NDArray

from .engine import Engine, Operators, Scores, make_engine
from .engine.reference import SMALLEST_SUM
from .errors import ConfigError, DataError
from .knowledge import Ids, KnowledgeBase, KnownAnswers
from .model import NeuralLP
from .rules import Body, Floats, Rule, atom, body_confidence, completion_bounds, extend, start


@dataclass(frozen=True)
class Answer:
    """One answer to a question; `rank` counts ties as realistic ranks do, known facts included."""

    source: str
    query: str
    entity: str
    score: float
    rank: float
    num_candidates: int
    is_known: bool

    def __str__(self) -> str:
        return atom(self.query, self.source, self.entity)


@dataclass(frozen=True)
class Part:
    """What one rule adds to a score along one path of facts."""

    rule: Rule
    path: tuple[str, ...]
    amount: float

    def __str__(self) -> str:
        links = zip(self.rule.body, self.path, self.path[1:], strict=False)
        return " and ".join(atom(*link) for link in links) or f"{self.path[0]} = {self.path[-1]}"


@dataclass(frozen=True)
class Proof:
    """Why an answer has its score: parts, the largest first, and what the parts not shown add up to."""

    answer: Answer
    parts: tuple[Part, ...]

    @property
    def remainder(self) -> float:
        """The score less the parts shown."""
        return self.answer.score - sum(part.amount for part in self.parts)

    def __str__(self) -> str:
        if not self.parts:
            return f"{self.answer} has no proof."
        lines = [f"{self.answer} because {self.parts[0]}"]
        return "\n".join([*lines, *(f"  and because {part}" for part in self.parts[1:])])

    def as_dict(self) -> dict[str, object]:
        """Return the proof as one JSON object."""
        return {
            **vars(self.answer),
            "parts": [
                {"rule": str(part.rule), "path": part.path, "amount": part.amount, "because": str(part)}
                for part in self.parts
            ],
            "remainder": self.remainder,
        }


class Reasoner:
    """Asks a model about a knowledge base, which need not be the one it learned from."""

    def __init__(self, kb: KnowledgeBase, model: NeuralLP, engine: str = "auto") -> None:
        require_relations(kb, model)
        self.kb = kb.with_relations(model.relations)
        self.model = model
        self.operators = Operators.of(self.kb)
        self._engine_name = engine

    @cached_property
    def engine(self) -> Engine:
        """The engine that walks for the model."""
        return make_engine(self._engine_name, self.operators)

    @cached_property
    def _known(self) -> KnownAnswers:
        return KnownAnswers(self.kb.facts, len(self.kb.relations))

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.model.scores(self.engine, sources, queries)

    def ask(
        self, *, head: str | None = None, tail: str | None = None, relation: str, k: int = 10
    ) -> list[Answer]:
        """Return the `k` best answers to (head, relation, ?) or (?, relation, tail); only scores above 0."""
        source, query = self._question(head, relation, tail)
        return list(islice(self._answers(source, query), k))

    def explain(self, head: str, relation: str, tail: str, k: int = 3) -> Proof:
        """Return why (head, relation, tail) scores what it does, with the `k` largest parts."""
        source, query = self._question(head, relation, None)
        answer = self.kb.entities.id(tail)
        found = self._answer(source, query, answer)
        parts = islice(self._parts(source, query, answer), k) if found.score > 0 else ()
        return Proof(found, tuple(parts))

    def _question(self, head: str | None, relation: str, tail: str | None) -> tuple[int, int]:
        if (head is None) == (tail is None):
            raise ConfigError("Give the head or the tail of the question, not both and not neither.")
        query = self.model.relations.operator_id(relation)
        if head is not None:
            return self.kb.entities.id(head), query
        return self.kb.entities.id(str(tail)), self.model.relations.inverse(query)

    def _answers(self, source: int, query: int) -> Iterator[Answer]:
        entities, values = self.scores(np.array([source]), np.array([query])).row(0)
        positive = values > 0
        for place in np.argsort(-values[positive], kind="stable"):
            yield self._describe(source, query, int(entities[positive][place]), entities, values)

    def _answer(self, source: int, query: int, entity: int) -> Answer:
        entities, values = self.scores(np.array([source]), np.array([query])).row(0)
        return self._describe(source, query, entity, entities, values)

    def _describe(
        self, source: int, query: int, entity: int, entities: Ids, values: NDArray[np.floating]
    ) -> Answer:
        # Compared as the engine gave it, told as 0: an entity that is no candidate has no evidence either.
        score = float(values[entities == entity].sum())
        num_unlisted = len(self.kb.entities) - len(values)
        ties = np.count_nonzero(values == score) + num_unlisted * (score == 0)
        better = np.count_nonzero(values > score) + num_unlisted * (score < 0)
        names = self.kb.entities
        return Answer(
            source=names[source],
            query=self.model.relations.operator_name(query),
            entity=names[entity],
            score=max(score, 0.0),
            rank=float(better + (ties + 1) / 2),
            num_candidates=len(names) - int(np.isneginf(values).sum()),
            is_known=entity in self._known.pairs(np.array([source]), np.array([query]))[1],
        )

    def _parts(self, source: int, query: int, answer: int) -> Iterator[Part]:
        names = self.model.relations.operator_name
        excludes = bool(self.model.excludes_source(np.array([query]))[0])
        attention = self.model.attend(np.array([query]))
        operator, memory = (each[:, 0].detach().double().cpu().numpy() for each in attention.pair)
        search = PathSearch(self.operators, operator / self._norms(operator, memory, source), memory)
        for body, path, amount in search.paths(source, answer):
            confidence = body_confidence(body, operator, memory)
            rule = Rule(names(query), tuple(map(names, body)), confidence, distinct_ends=excludes)
            yield Part(rule, tuple(self.kb.entities[e] for e in path), amount)

    def _norms(self, operator: Floats, memory: Floats, source: int) -> Floats:
        """Return what each memory is divided by, to be divided into the operators that fill it instead."""
        if not self.model.config.normalize:
            return np.ones(1)
        ranks = zip(operator, memory, strict=True)
        return np.array([memory_norms(self.operators, a, b, source) for a, b in ranks])[:, :, None]


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
    reached = np.zeros(operators.num_entities)
    np.add.at(reached, operators.targets[edges], amounts)
    return reached


def edges_out_of(operators: Operators, entities: Ids) -> Ids:
    """Return the numbers of all edges that leave any of `entities`."""
    start, stop = operators.offsets[entities], operators.offsets[entities + 1]
    length = stop - start
    return np.repeat(start - np.cumsum(length) + length, length) + np.arange(length.sum())


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


def require_relations(kb: KnowledgeBase, model: NeuralLP) -> list[str]:
    """Return the relations of `kb` that `model` does not know; raise when they share none."""
    shared = [name for name in kb.relations if name in model.relations]
    if not shared:
        wanted = ", ".join(map(repr, model.relations[:5]))
        raise DataError(f"The knowledge base and the model share no relation. The model knows {wanted} ….")
    return [name for name in kb.relations if name not in model.relations]

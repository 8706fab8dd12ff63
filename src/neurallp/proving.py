"""What stands behind an answer: a model or given rules, bound to facts, and the paths they take to it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

import numpy as np
import torch

from .attention import Attention
from .engine import Engine, Operators, Scores, Walks
from .engine.counting import count_paths
from .hygiene import mirror
from .knowledge import Body, Floats, Ids, Relations
from .model import NeuralLP
from .paths import Path, PathSearch, find_paths, memory_norms
from .rules import Rule, body_confidence, spell_out


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

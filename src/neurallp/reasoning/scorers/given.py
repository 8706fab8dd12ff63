"""Scores of rules that were written by hand or imported."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import torch

from ...controller.attention import Attention
from ...engines.base import Engine, QueryBatch
from ...graph.arrays import Body, Ids
from ...graph.operators import Operators
from ...graph.scores import Scores
from ...graph.vocabulary import Relations
from ...rules.paths import find_paths
from ...rules.rule import Rule
from ...rules.simplify import invert_rule
from ...rules.support import count_paths
from . import PathTerm


class GivenScorer:
    """Rules written by hand or imported: score(y | x) = sum of confidence x number of paths.

    A query that no rule is written for is answered by the rules of its inverse, taken the other way round.
    """

    def __init__(
        self, rules: Iterable[Rule], relations: Relations, operators: Operators, engine: Engine
    ) -> None:
        self.relations, self.operators, self.engine = relations, operators, engine
        self._rules: defaultdict[int, list[Rule]] = defaultdict(list)
        concluding = (rule for rule in rules if rule.is_deductive)
        for rule in sorted(concluding, key=lambda rule: -rule.confidence):
            self._rules[relations.operator_id(rule.target)].append(rule)
        for query in list(self._rules):
            inverse = relations.inverse(query)
            self._rules[inverse] = self._rules[inverse] or list(map(invert_rule, self._rules[query]))

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
        walked = self._walk([rule for rule in rules if not rule.inequalities], sources)
        return Scores.added([walked, *(self._count(rule, sources) for rule in rules if rule.inequalities)])

    def _count(self, rule: Rule, sources: Ids) -> Scores:
        """Return what a rule adds that wants different entities on its way, which no memory can tell."""
        body = body_ids(rule, self.relations)
        return count_paths(self.operators, body, rule.all_inequalities, sources).times(rule.confidence)

    def _walk(self, rules: Sequence[Rule], sources: Ids) -> Scores:
        if not rules:
            return Scores.none(len(sources), self.operators.num_entities)
        walks = QueryBatch.unmasked(sources, np.zeros(len(sources), dtype=np.int64))
        return self.engine.scores(attention_of(rules, self.relations), walks, normalize=False)

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield every rule with every path along its body."""
        for rule in self.rules(query):
            for path in find_paths(self.operators, body_ids(rule, self.relations), source, answer):
                if rule.satisfies_inequalities(path):
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

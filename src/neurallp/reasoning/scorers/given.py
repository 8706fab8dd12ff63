"""Scores of rules that were written by hand or imported."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import ClassVar

import numpy as np

from ...graph.arrays import Ids
from ...graph.knowledge_base import KnowledgeBase
from ...graph.operators import Operators
from ...graph.scores import Scores
from ...rules.rule import Rule
from ...rules.simplify import invert_rule
from ...rules.support import PathCounter, body_ids, count_paths, predict_pairs, predicting_paths
from . import PathTerm, RuleShare, group_terms


class GivenScorer:
    """Rules written by hand or imported: score(y | x) = sum of confidence x number of paths from x to y.

    A rule that names its answer y or its source x counts once, however many paths it has. A query without
    rules of some kind is answered by those that the rules of its inverse become when they are inverted.
    """

    has_logarithmic_scores: ClassVar[bool] = False

    def __init__(
        self, rules: Iterable[Rule], kb: KnowledgeBase, operators: Operators, engine: str = "auto"
    ) -> None:
        """Bind rules to facts. No engine is used: paths are counted."""
        self.kb, self.relations, self.operators = kb, kb.relations, operators
        self._rules: defaultdict[int, list[Rule]] = defaultdict(list)
        usable = (rule for rule in rules if rule.is_deductive or _names_entities(rule))
        for rule in sorted(usable, key=lambda rule: -rule.confidence):
            self._rules[self.relations.operator_id(rule.target)].append(rule)
        given = {query: {rule.kind for rule in own} for query, own in self._rules.items()}
        for query, own in [(query, tuple(own)) for query, own in self._rules.items()]:
            inverse = self.relations.inverse(query)
            inverted = (invert_rule(rule) for rule in own if not rule.ends_anywhere)
            self._rules[inverse] += [rule for rule in inverted if rule.kind not in given.get(inverse, ())]
            self._rules[inverse].sort(key=lambda rule: -rule.confidence)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the most confident first."""
        yield from self._rules.get(query, ())

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question; the questions of each query are scored together."""
        if not len(sources):
            return Scores.none(0, self.operators.num_entities)
        order = np.argsort(queries, kind="stable")
        distinct, first = np.unique(queries[order], return_index=True)
        groups = zip(distinct.tolist(), np.split(sources[order], first[1:]), strict=True)
        return Scores.stacked([self._scores(query, group) for query, group in groups])[np.argsort(order)]

    reached = scores

    def _scores(self, query: int, sources: Ids) -> Scores:
        rules = list(self.rules(query))
        none = Scores.none(len(sources), self.operators.num_entities)
        scores = Scores.added([none, *self._rule_scores(rules, sources)])
        if not rules or not all(rule.distinct_ends for rule in rules):
            return scores
        return scores.replaced(np.arange(len(sources)), sources, -np.inf)

    def _rule_scores(self, rules: list[Rule], sources: Ids) -> Iterator[Scores]:
        """Yield for each rule its confidence times its paths; bodies in order share what begins alike."""
        counter = PathCounter(self.operators, sources)
        for rule in sorted(rules, key=lambda rule: body_ids(rule, self.relations)):
            body = body_ids(rule, self.relations)
            if rule.names_entities:
                counts = self._once(rule, sources)
            elif rule.inequalities:
                counts = count_paths(self.operators, body, rule.all_inequalities, sources)
            else:
                counts = counter.count(body)
                if rule.distinct_ends:
                    counts = counts.replaced(np.arange(len(sources)), sources, 0.0)
            yield counts.times(rule.confidence)

    def _once(self, rule: Rule, sources: Ids) -> Scores:
        """Return 1 for each answer of a rule that names its answer or its source."""
        rows, answers = predict_pairs(rule, self.kb, self.operators, sources)
        offsets = np.searchsorted(rows, np.arange(len(sources) + 1))
        return Scores(self.operators.num_entities, offsets, answers, np.ones(len(answers)))

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield every rule with every path along its body; one path where the rule names an entity."""
        for rule in self.rules(query):
            paths = predicting_paths(rule, self.kb, self.operators, source, answer)
            if rule.names_entities:
                paths = islice(paths, 0 if rule.distinct_ends and source == answer else 1)
            yield from ((rule, path, rule.confidence) for path in paths)

    def shares(self, source: int, query: int, answer: int) -> list[RuleShare]:
        """Return what each rule adds to the score of an answer."""
        return group_terms(self.terms(source, query, answer))


def _names_entities(rule: Rule) -> bool:
    return rule.names_entities and not rule.is_against

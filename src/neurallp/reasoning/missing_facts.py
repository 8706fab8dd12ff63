"""Facts that would let a rule reach an answer: one link of its body that is no fact yet."""

from collections.abc import Iterable, Iterator
from itertools import islice, product

import numpy as np

from ..graph.arrays import Body, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..rules.paths import count_edges, find_paths, reachable_sets, reachable_sets_to
from ..rules.rule import Rule
from ..rules.support import body_ids
from .answers import MissingFact

#: Rules of a query that are examined: the first that one fact could let reach the answer.
RULES_EXAMINED = 200

#: Pairs of entities that are tried as the ends of a missing fact.
ENDS_TRIED = 50

#: A question and an answer of it, as ids: source, query and answer.
Asked = tuple[int, int, int]


class MissingFacts:
    """Finds, for rules that do not reach an answer, the one fact that each lacks."""

    def __init__(self, kb: KnowledgeBase, operators: Operators) -> None:
        self.kb, self.operators = kb, operators

    def find(self, rules: Iterable[Rule], asked: Asked) -> Iterator[MissingFact]:
        """Yield a missing fact for each of the rules that one fact would let reach the answer."""
        for rule, ends in islice(self._usable(rules, asked), RULES_EXAMINED):
            yield from self._of_rule(rule, asked, ends)

    def _usable(self, rules: Iterable[Rule], asked: Asked) -> Iterator[tuple[Rule, tuple[int, int]]]:
        """Yield the rules that could conclude the answer, with where their body must start and end."""
        source, _, answer = asked
        for rule in rules:
            ends = self._ends_of(rule, source, answer)
            is_usable = rule.body and min(ends) >= 0 and not rule.is_vacuous
            if is_usable and not (rule.distinct_ends and source == answer):
                yield rule, ends

    def _ends_of(self, rule: Rule, source: int, answer: int) -> tuple[int, int]:
        """Return where the body of a rule must start and end to conclude an answer.

        -1 where no one fact does that.
        """
        find = self.kb.entities.find
        if rule.is_deductive:
            return source, answer
        if rule.body_end is not None and not rule.is_against and find(str(rule.answer)) == answer:
            return source, find(rule.body_end)
        if rule.body_start is not None and not rule.is_against and find(str(rule.source)) == source:
            return find(rule.body_start), answer
        return -1, -1

    def _of_rule(self, rule: Rule, asked: Asked, ends: tuple[int, int]) -> Iterator[MissingFact]:
        """Yield the missing link of a rule, whose body joins `ends`, that the fewest facts could fill.

        A link that is a fact already is none that is missing, though the path along it may be one that the
        rule's inequalities exclude.
        """
        body, (source, end) = body_ids(rule, self.kb.relations), ends
        starts = reachable_sets(self.operators, body, source)
        stops = reachable_sets_to(self.operators, body, end)[1:]
        num_ways = self._count_ways(body, starts, stops)
        for position in sorted(np.flatnonzero(num_ways).tolist(), key=lambda i: (num_ways[i], -i)):
            for ends in islice(product(starts[position].tolist(), stops[position].tolist()), ENDS_TRIED):
                is_asked = self._is_asked(body[position], ends, asked)
                if is_asked or self.operators.has_edge(ends[0], body[position], ends[1]):
                    continue
                before = next(find_paths(self.operators, body[:position], source, ends[0]))
                after = next(find_paths(self.operators, body[position + 1 :], ends[1], end))
                if rule.satisfies_inequalities((*before, *after)):
                    path = tuple(self.kb.entities[entity] for entity in (*before, *after))
                    yield MissingFact(rule, path, position, num_ways[position])
                    return

    def _count_ways(self, body: Body, starts: list[Ids], stops: list[Ids]) -> list[int]:
        """Return for each link of a body how many pairs of entities would complete a path by it."""
        return [
            len(here) * len(there) - count_edges(self.operators, here, k, there)
            for here, k, there in zip(starts, body, stops, strict=False)
        ]

    def _is_asked(self, k: int, ends: tuple[int, int], asked: Asked) -> bool:
        """Return whether a link is the fact in question, in either direction: no reason for itself."""
        source, query, answer = asked
        return (ends[0], k, ends[1]) in {asked, (answer, self.kb.relations.inverse(query), source)}

"""Weighed rules: what a user asks and proves with after weighing. A score is a sum over rules."""

import heapq
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import get_args

import numpy as np

from .engine import Operators, Scores
from .engine.clue_kernels import SMOOTHING, Clues
from .engine.evidence import Clue, EvidenceWalker, Gathered, group_edges, grow_tree, list_clues
from .engine.evidence_kernels import Runs, Tree
from .engine.operators import num_cores
from .engine.weighing_kernels import add_scores
from .knowledge import Body, Flags, Floats, Ids, KnowledgeBase, Relations
from .paths import Path, PathLattice, follow
from .rules import Kind, Rule, RuleFilter, RuleSet, measure

#: A rule, its path, and what it adds to a score along it.
Part = tuple[Rule, Path, float]

#: In the place of a rule's number.
PRIOR = -1

#: Questions that a thread takes at a time.
CHUNK = 64


@dataclass(frozen=True, eq=False)
class WeighedQuery:
    """The rules of one query with their weights, (rule, 3): for firing, for the walk there, and back.

    Chains come first, then clues; those have the largest share over all D and the noisy-or for walks.
    A rule's confidence is the share of right answers in what it said on the questions learned from.
    """

    bodies: tuple[Body, ...]
    weights: Floats
    confidences: Floats
    prior: float = 0.0  # of log(1 + how often an entity is an answer)
    clues: tuple[Clue, ...] = ()

    def __len__(self) -> int:
        return len(self.bodies) + len(self.clues)

    @property
    def totals(self) -> Floats:
        """What each rule adds where every walk along it arrives, and comes back."""
        totals: Floats = self.weights.sum(axis=1)
        return totals


@dataclass(frozen=True, eq=False)
class WeighedRules:
    """Rules with weights, which hold on any facts of their relations: only unary ones mention an entity."""

    relations: Relations
    reflexive: Flags  # (relation,) whether the facts have an entity in relation to itself
    queries: Mapping[int, WeighedQuery]

    def __len__(self) -> int:
        return sum(map(len, self.queries.values()))

    @property
    def num_of_kinds(self) -> dict[str, int]:
        """How many rules there are of each kind, priors among them."""
        every = self.queries.values()
        counts = Counter[str](clue.kind for each in every for clue in each.clues)
        counts["chain"] = sum(len(each.bodies) for each in every)
        counts["prior"] = sum(bool(each.prior) for each in every)
        return {kind: counts[kind] for kind in get_args(Kind) if counts[kind]}

    def excludes_source(self, query: int) -> bool:
        """Return whether the source is no candidate answer, as no fact of the relation is reflexive."""
        return not self.reflexive[query % len(self.relations)]

    @property
    def max_length(self) -> int:
        """The length of the longest body."""
        return max((len(body) for query in self.queries.values() for body in query.bodies), default=1)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query, the prior's among them, those of greatest weight first."""
        weighed = self.queries.get(query)
        if weighed is None:
            return
        rules = [self.rule(query, weighed, number) for number in range(len(weighed))]
        if weighed.prior:
            rules.append(self.prior_rule(query, weighed.prior))
        largest = max((abs(rule.weight or 0.0) for rule in rules), default=1.0) or 1.0
        for rule in sorted(rules, key=lambda rule: -abs(rule.weight or 0.0)):
            yield replace(rule, normalized_confidence=abs(rule.weight or 0.0) / largest)

    def rule(self, query: int, weighed: WeighedQuery, number: int) -> Rule:
        """Return a rule by its number: a chain, or a clue."""
        num = len(weighed.bodies)
        rule = (
            self._chain(query, weighed.bodies[number])
            if number < num
            else self._clue(query, weighed.clues[number - num])
        )
        weight, confidence = float(weighed.totals[number]), float(weighed.confidences[number])
        return replace(rule, weight=weight, confidence=confidence)

    def _chain(self, query: int, body: Body) -> Rule:
        name = self.relations.operator_name
        return Rule(name(query), tuple(map(name, body)), 0.0, distinct_ends=self.excludes_source(query))

    def _clue(self, query: int, clue: Clue) -> Rule:
        """Return a clue as a rule; one that is anchored never comes back to the source."""
        if clue.kind == "unary":
            return replace(self._chain(query, (clue.operator,)), kind="unary", answer=clue.answer)
        there_and_back = clue.operator, self.relations.inverse(clue.operator)
        anchored = clue.kind == "anchored"
        rule = self._chain(query, (*there_and_back, query) if anchored else (query, *there_and_back))
        apart = ((0, 1), (0, 2), *(() if anchored else ((1, 3),)))
        return replace(rule, kind=clue.kind, apart=apart, distinct_ends=True)

    def prior_rule(self, query: int, weight: float) -> Rule:
        """Return the rule that says: who is often an answer is one again."""
        name = self.relations.operator_name(query)
        return Rule(name, (name,), confidence=0.0, weight=weight, kind="prior")


def as_candidate(rule: Rule, relations: Relations) -> Body | Clue:
    """Return what a rule looks for, as it is weighed: a chain's body, or a clue."""
    body = tuple(map(relations.operator_id, rule.body))
    if rule.kind == "unary":
        return Clue("unary", body[0], str(rule.answer))
    if rule.kind == "anchored" or rule.kind == "mirrored":
        return Clue(rule.kind, body[0 if rule.kind == "anchored" else 1])
    return body


def select_rules(
    weighed: WeighedRules, queries: list[int], wanted: RuleFilter, *, limit: int, kb: KnowledgeBase | None
) -> RuleSet:
    """Return the `limit` weightiest rules of each query among those that `wanted` keeps, measured on `kb`."""
    found = [rule for query in queries for rule in list(filter(wanted.keeps, weighed.rules(query)))[:limit]]
    return RuleSet(found) if kb is None else measure(found, kb.with_relations(weighed.relations))


def log_frequencies(facts: Ids, query: int, num_relations: int, num_entities: int) -> Floats:
    """Return log(1 + the number of facts that have each entity as an answer of `query`)."""
    of_query = facts[facts[:, 1] == query % num_relations]
    answers = of_query[:, 2] if query < num_relations else of_query[:, 0]
    return np.log1p(np.bincount(answers, minlength=num_entities).astype(np.float64))


class WeighedEvidence:
    """Weighed rules bound to the facts of a knowledge base that has their relations."""

    def __init__(self, weighed: WeighedRules, kb: KnowledgeBase, operators: Operators) -> None:
        self.weighed, self.kb, self.operators = weighed, kb, operators
        self._spare: list[EvidenceWalker] = []
        self._kept: dict[int, tuple[Tree, Clues | None, Floats]] = {}

    @cached_property
    def _runs(self) -> Runs:
        return group_edges(self.operators)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query."""
        return self.weighed.rules(query)

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, walked on all cores."""
        return self._in_chunks(self._score, sources, queries)

    def reached(self, sources: Ids, queries: Ids) -> Scores:
        """Return the scores of answers that rules speak for; a prior says the same of every source."""
        return self._in_chunks(self._reach, sources, queries)

    def _in_chunks(self, score: Callable[[Ids, int], Scores], sources: Ids, queries: Ids) -> Scores:
        order = np.argsort(queries, kind="stable")
        bounds = np.flatnonzero(np.diff(queries[order], prepend=-1))
        chunks = [
            group[start : start + CHUNK]
            for group in np.split(order, bounds[1:])
            for start in range(0, len(group), CHUNK)
        ]
        if len(chunks) == 1:
            return score(sources[order], int(queries[0]))[np.argsort(order)]
        with ThreadPoolExecutor(num_cores()) as pool:
            parts = list(pool.map(lambda rows: score(sources[rows], int(queries[rows[0]])), chunks))
        return Scores.stacked(parts)[np.argsort(order)]

    def _score(self, sources: Ids, query: int) -> Scores:
        rows = np.repeat(self._plan(query)[2][None], len(sources), axis=0)
        for start, found in self._gather(query, sources):
            for row, first, end in zip(rows[start:], found.starts, found.ends, strict=False):
                weights = self.weighed.queries[query].weights[:, :, None]
                add_scores(found.entries, first, end, weights, row[None])
        if self.weighed.excludes_source(query):
            rows[np.arange(len(sources)), sources] = -np.inf
        return Scores.of_dense(rows)

    def _reach(self, sources: Ids, query: int) -> Scores:
        """Return the scores of those alone of whom rules speak, and well, so not of all who have a prior."""
        priors, excludes = self._plan(query)[2], self.weighed.excludes_source(query)
        row, found_by = priors.copy(), []
        for start, found in self._gather(query, sources):
            weights = self.weighed.queries[query].weights[:, :, None]
            for source, first, end in zip(sources[start:], found.starts, found.ends, strict=False):
                add_scores(found.entries, first, end, weights, row[None])
                own = slice(*found.entries.bounds[[first, end]])
                touched = np.unique(found.entries.entities[own]).astype(np.int64)
                scores = row[touched]
                row[touched] = priors[touched]
                kept = (scores > priors[touched]) & ~(excludes & (touched == source))
                found_by.append((touched[kept], scores[kept]))
        return Scores.listed(len(priors), found_by or [(sources[:0], priors[:0])] * len(sources))

    def _gather(self, query: int, sources: Ids) -> Iterator[tuple[int, Gathered]]:
        """Yield the evidence of sources, as many at a time as there is room for, and which comes first."""
        # Threads need no lock: popping and appending are atomic.
        walker, (tree, clues, _) = self._take_walker(), self._plan(query)
        start = 0 if len(self.weighed.queries.get(query, ())) else len(sources)
        while start < len(sources):
            found = walker.gather(tree, clues, query, sources[start:])
            yield start, found
            start += len(found)
        self._spare.append(walker)

    def _take_walker(self) -> EvidenceWalker:
        """Return a spare walker, or a new one."""
        try:
            return self._spare.pop()
        except IndexError:
            return EvidenceWalker(self._runs, self.operators.num_operators, self.weighed.max_length)

    def _plan(self, query: int) -> tuple[Tree, Clues | None, Floats]:
        """Return a query's bodies, its clues, and what the prior gives to each entity; kept once made."""
        if query not in self._kept:
            weighed = self.weighed.queries.get(query, WeighedQuery((), np.zeros((0, 3)), np.zeros(0)))
            shape = len(self.weighed.relations), self.operators.num_entities
            priors = weighed.prior * log_frequencies(self.kb.facts, query, *shape)
            bodies, num_operators = weighed.bodies, self.operators.num_operators
            clues = list_clues(weighed.clues, len(bodies), num_operators, self.kb.entities)
            self._kept[query] = grow_tree(bodies), clues, priors
        return self._kept[query]

    def parts(self, source: int, query: int, answer: int) -> Iterator[Part]:
        """Yield what each rule adds along each path, the largest first, those against the answer among them.

        A rule's part is divided among its paths as the walk is. The prior's path is one fact of the answer.
        """
        if source == answer and self.weighed.excludes_source(query):
            return
        order = count()  # breaks ties without comparing rules
        heap: list[tuple[float, int, Part | None, Iterator[Part]]] = []
        for number, amount in self._amounts(source, query, answer):
            paths = self._paths(number, query, (source, answer), amount)
            heapq.heappush(heap, (-abs(amount), next(order), None, paths))
        while heap:
            _, _, part, paths = heapq.heappop(heap)
            if part is not None:
                yield part
            if (following := next(paths, None)) is not None:
                heapq.heappush(heap, (-abs(following[-1]), next(order), following, paths))

    def _amounts(self, source: int, query: int, answer: int) -> Iterator[tuple[int, float]]:
        """Yield what each rule, by its number, says of one answer; -1 is the prior."""
        priors = self._plan(query)[2]
        weighed = self.weighed.queries.get(query)
        if weighed is None:
            return
        if priors[answer]:
            yield PRIOR, float(priors[answer])
        for _, found in self._gather(query, np.array([source])):
            entities, *told = found.told(0)
            rules, forward, backward = (column[entities == answer] for column in told)
            evidence = np.stack([np.ones(len(rules)), forward, backward], axis=1)
            amounts = (weighed.weights[rules] * evidence).sum(axis=1)
            yield from zip(rules.tolist(), amounts.tolist(), strict=True)

    def _paths(self, number: int, query: int, ends: tuple[int, int], amount: float) -> Iterator[Part]:
        """Yield a rule's paths with what each adds, the largest first: its share of all walks that arrive."""
        weighed, (source, answer) = self.weighed.queries[query], ends
        if number == PRIOR:
            givers = follow(self.operators, np.array([answer]), self.weighed.relations.inverse(query))
            # Another than the source, where there is one: its own fact would prove itself.
            giver = int(givers[np.argmax(givers != source)])
            yield self.weighed.prior_rule(query, weighed.prior), (giver, answer), amount
            return
        rule = self.weighed.rule(query, weighed, number)
        if rule.kind == "unary":
            has = follow(self.operators, np.array([source]), self.weighed.relations.operator_id(rule.body[0]))
            yield rule, (source, int(has[0])), amount
            return
        lattice = self._lattice(rule, ends)
        total = lattice.total
        for path, worth in lattice.paths():
            yield rule, path, amount * worth / total

    def _lattice(self, rule: Rule, ends: tuple[int, int]) -> PathLattice:
        """Return the paths of a rule, each worth how likely a walk takes it; a clue's how few have its D."""
        body = tuple(map(self.weighed.relations.operator_id, rule.body))
        shared = {"anchored": 1, "mirrored": 2}.get(rule.kind)

        def worth(place: int, entities: Ids) -> Floats:
            if shared not in (None, place):
                return np.ones(len(entities))
            begin, end = self.operators.spans(entities, body[place])
            return 1 / (end - begin if shared is None else end - begin - 1 + SMOOTHING)

        # Of any two places that differ one is an end, so that who may not stand at the other is known.
        barred = {(j, ends[0]) if i == 0 else (i, ends[1]) for i, j in rule.unequal}
        return PathLattice(self.operators, body, ends, barred, worth)

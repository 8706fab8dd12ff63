"""Scores of weighted rules: sums of weights times features, and the paths behind them."""

import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import count
from typing import ClassVar

import numpy as np

from ...graph.arrays import Floats, Ids
from ...graph.knowledge_base import KnowledgeBase
from ...graph.operators import Operators
from ...graph.parallel import num_cores
from ...graph.scores import Scores
from ...rules.paths import PathLattice, follow
from ...rules.rule import Rule
from ...weighting.clue_kernels import SMOOTHING, Clues
from ...weighting.features import Features, FeatureWalker, build_trie, csr_segments, list_clues
from ...weighting.features_kernels import CsrSegments, Trie
from ...weighting.fitting_kernels import add_scores
from ...weighting.weighted_rules import WeightedQuery, WeightedRules, log_frequencies
from . import PathTerm

#: In the place of a rule's number.
PRIOR = -1


#: Questions that a thread takes at a time.
CHUNK = 64


class WeightedScorer:
    """Weighted rules bound to the facts of a knowledge base that has their relations."""

    has_logarithmic_scores: ClassVar[bool] = True

    def __init__(
        self, weighted: WeightedRules, kb: KnowledgeBase, operators: Operators, engine: str = "auto"
    ) -> None:
        """Bind rules to facts. No engine is used: features are walked."""
        self.weighted, self.kb, self.operators = weighted, kb, operators
        self._spare: list[FeatureWalker] = []
        self._kept: dict[int, tuple[Trie, Clues | None, Floats]] = {}

    @cached_property
    def _runs(self) -> CsrSegments:
        return csr_segments(self.operators)

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query."""
        return self.weighted.rules(query)

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
                weights = self.weighted.queries[query].weights[:, :, None]
                add_scores(found.entries, first, end, weights, row[None])
        if self.weighted.excludes_source(query):
            rows[np.arange(len(sources)), sources] = -np.inf
        return Scores.of_dense(rows)

    def _reach(self, sources: Ids, query: int) -> Scores:
        """Return the scores of those alone of whom rules speak, and well, so not of all who have a prior."""
        priors, excludes = self._plan(query)[2], self.weighted.excludes_source(query)
        row, found_by = priors.copy(), []
        for start, found in self._gather(query, sources):
            weights = self.weighted.queries[query].weights[:, :, None]
            for source, first, end in zip(sources[start:], found.starts, found.ends, strict=False):
                add_scores(found.entries, first, end, weights, row[None])
                own = slice(*found.entries.bounds[[first, end]])
                touched = np.unique(found.entries.entities[own]).astype(np.int64)
                scores = row[touched]
                row[touched] = priors[touched]
                kept = (scores > priors[touched]) & ~(excludes & (touched == source))
                found_by.append((touched[kept], scores[kept]))
        return Scores.listed(len(priors), found_by or [(sources[:0], priors[:0])] * len(sources))

    def _gather(self, query: int, sources: Ids) -> Iterator[tuple[int, Features]]:
        """Yield the evidence of sources, as many at a time as there is room for, and which comes first."""
        # Threads need no lock: popping and appending are atomic.
        walker, (tree, clues, _) = self._take_walker(), self._plan(query)
        start = 0 if len(self.weighted.queries.get(query, ())) else len(sources)
        while start < len(sources):
            found = walker.gather(tree, clues, query, sources[start:])
            yield start, found
            start += len(found)
        self._spare.append(walker)

    def _take_walker(self) -> FeatureWalker:
        """Return a spare walker, or a new one."""
        try:
            return self._spare.pop()
        except IndexError:
            return FeatureWalker(self._runs, self.operators.num_operators, self.weighted.max_length)

    def _plan(self, query: int) -> tuple[Trie, Clues | None, Floats]:
        """Return a query's bodies, its clues, and what the prior gives to each entity; kept once made."""
        if query not in self._kept:
            weighted = self.weighted.queries.get(query, WeightedQuery((), np.zeros((0, 3)), np.zeros(0)))
            shape = len(self.weighted.relations), self.operators.num_entities
            priors = weighted.prior * log_frequencies(self.kb.facts, query, *shape)
            bodies, num_operators = weighted.bodies, self.operators.num_operators
            clues = list_clues(weighted.clues, len(bodies), num_operators, self.kb.entities)
            self._kept[query] = build_trie(bodies), clues, priors
        return self._kept[query]

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield what each rule adds along each path, the largest first, those against the answer among them.

        A rule's part is divided among its paths as the walk is. The prior's path is one fact of the answer.
        """
        if source == answer and self.weighted.excludes_source(query):
            return
        order = count()  # breaks ties without comparing rules
        heap: list[tuple[float, int, PathTerm | None, Iterator[PathTerm]]] = []
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
        weighted = self.weighted.queries.get(query)
        if weighted is None:
            return
        if priors[answer]:
            yield PRIOR, float(priors[answer])
        for _, found in self._gather(query, np.array([source])):
            entities, *told = found.told(0)
            rules, forward, backward = (column[entities == answer] for column in told)
            evidence = np.stack([np.ones(len(rules)), forward, backward], axis=1)
            amounts = (weighted.weights[rules] * evidence).sum(axis=1)
            yield from zip(rules.tolist(), amounts.tolist(), strict=True)

    def _paths(self, number: int, query: int, ends: tuple[int, int], amount: float) -> Iterator[PathTerm]:
        """Yield a rule's paths with what each adds, the largest first: its share of all walks that arrive."""
        weighted, (source, answer) = self.weighted.queries[query], ends
        if number == PRIOR:
            givers = follow(self.operators, np.array([answer]), self.weighted.relations.inverse(query))
            # Another than the source, where there is one: its own fact would prove itself.
            giver = int(givers[np.argmax(givers != source)])
            yield self.weighted.prior_rule(query, weighted.prior), (giver, answer), amount
            return
        rule = self.weighted.rule(query, weighted, number)
        if rule.kind == "unary":
            has = follow(
                self.operators, np.array([source]), self.weighted.relations.operator_id(rule.body[0])
            )
            yield rule, (source, int(has[0])), amount
            return
        lattice = self._lattice(rule, ends)
        total = lattice.total
        for path, worth in lattice.paths():
            yield rule, path, amount * worth / total

    def _lattice(self, rule: Rule, ends: tuple[int, int]) -> PathLattice:
        """Return the paths of a rule, each worth how likely a walk takes it; a clue's how few have its D."""
        body = tuple(map(self.weighted.relations.operator_id, rule.body))
        shared = {"anchored": 1, "mirrored": 2}.get(rule.kind)

        def worth(place: int, entities: Ids) -> Floats:
            if shared not in (None, place):
                return np.ones(len(entities))
            begin, end = self.operators.spans(entities, body[place])
            return 1 / (end - begin if shared is None else end - begin - 1 + SMOOTHING)

        # Of any two places that differ one is an end, so that who may not stand at the other is known.
        excluded = {(j, ends[0]) if i == 0 else (i, ends[1]) for i, j in rule.all_inequalities}
        return PathLattice(self.operators, body, ends, excluded, worth)

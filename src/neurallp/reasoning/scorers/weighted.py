"""Scores of weighted rules: sums of weights times features, and the paths behind them."""

import heapq
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import ClassVar

import numpy as np

from ...config import KINDS
from ...graph.arrays import Flags, Floats, Ids
from ...graph.compilation import num_cores
from ...graph.knowledge_base import KnowledgeBase
from ...graph.operators import Operators
from ...graph.scores import Scores
from ...graph.vocabulary import relation_of
from ...rules.paths import Path
from ...rules.rule import Rule
from ...weighting.features import Features, FeatureWalker, ask
from ...weighting.graph_index import GraphIndex
from ...weighting.kinds import CompiledRules, can_use_numpy, compile_rules, gather_in_numpy, get_kind
from ...weighting.weighted_rules import ExcludedCandidates, WeightedRules
from . import PathTerm, RuleShare

#: Questions that a thread takes at a time.
CHUNK = 64

#: Rules whose predictions from a source overlap at least this much (Jaccard) are one reason of a proof.
MIN_OVERLAP = 0.8

#: The first single questions are answered in numpy: so many take less time than loading the compiled loops,
FEW_QUESTIONS = 10

#: on graphs of up to so many edges.
FEW_EDGES = 1_000_000


class WeightedScorer:
    """Weighted rules applied to the facts of a knowledge base that has their relations."""

    has_logarithmic_scores: ClassVar[bool] = True

    #: Whether any scorer has loaded the compiled loops; then they are faster for single questions, too.
    loops_are_loaded: ClassVar[bool] = False

    def __init__(
        self, weighted: WeightedRules, kb: KnowledgeBase, operators: Operators, engine: str = "auto"
    ) -> None:
        """Bind rules to facts. No engine is used: scores are sums over features."""
        self.weighted, self.index = weighted, GraphIndex(kb, operators)
        self.excluded = ExcludedCandidates(weighted, operators)
        self._idle: list[FeatureWalker] = []
        self._num_single = 0
        self._compiled: dict[int, tuple[CompiledRules, Floats]] = {}

    def rules(self, query: int) -> Iterator[Rule]:
        """Yield the rules of a query."""
        return self.weighted.rules(query)

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question, computed on all cores."""
        return self._in_chunks(self._score, sources, queries)

    def reached(self, sources: Ids, queries: Ids) -> Scores:
        """Return the scores of answers that rules predict; rules that only order predict nothing."""
        return self._in_chunks(self._reach, sources, queries)

    def _in_chunks(self, score: Callable[[Ids, int], Scores], sources: Ids, queries: Ids) -> Scores:
        if not len(sources):
            return Scores.none(0, self.index.operators.num_entities)
        if len(sources) == 1:
            return score(sources, int(queries[0]))
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
        rows = np.repeat(self._compile(query)[1][None], len(sources), axis=0)
        for start, found in self._gather(query, sources):
            for number, row in enumerate(rows[start : start + len(found)]):
                found.add_scores(number, self.weighted.queries[query].weights, row)
        rows[self.excluded.pairs(sources, query)] = -np.inf
        return Scores.of_dense(rows)

    def _reach(self, sources: Ids, query: int) -> Scores:
        """Return the scores of entities that rules predict and raise above the dense term."""
        dense, predicts = self._compile(query)[1], self._predicting(query)
        row, found_by = dense.copy(), []
        for start, found in self._gather(query, sources):
            for number, source in enumerate(sources[start : start + len(found)]):
                found.add_scores(number, self.weighted.queries[query].weights, row)
                entities, rules, *_ = found.rows(number)
                predicted = np.unique(entities[predicts[rules]]).astype(np.int64)
                scores = row[predicted]
                row[entities] = dense[entities]
                excluded = self.excluded.pairs(np.array([source]), query)[1]
                kept = (scores > dense[predicted]) & ~np.isin(predicted, excluded)
                found_by.append((predicted[kept], scores[kept]))
        return Scores.listed(len(dense), found_by or [(sources[:0], dense[:0])] * len(sources))

    def _predicting(self, query: int) -> Flags:
        """Return which rules of a query predict alone."""
        weighted = self.weighted.queries.get(query)
        rules = weighted.rules if weighted else ()
        return np.array([not KINDS[rule.kind].only_orders for rule in rules], dtype=bool)

    def masked_rows(self, sources: Ids, query: int, answers: Ids) -> Iterator[tuple[Ids, Floats]]:
        """Yield for each known fact its question's scores without that fact.

        They are the entities whose scores differ from those that a question has where no rule applies,
        `default_scores`, and the answer. An entity may be listed twice. The array of scores has one for every
        entity, and is overwritten at the next step.
        """
        compiled, dense = self._compile(query)
        weighted = self.weighted.queries.get(query)
        weights = np.zeros((0, 3)) if weighted is None else weighted.weights
        own = dense[answers]
        if compiled.dense.number >= 0:
            own = weights[compiled.dense.number, 0] * compiled.dense.masked_values[answers]
        row, done = dense.copy(), 0
        for _, found in self._gather(query, sources, answers):
            for number in range(len(found)):
                answer = answers[done]
                row[answer] = own[done]
                found.add_scores(number, weights, row)
                touched = np.append(found.entities(number), answer)
                yield touched, row
                row[touched] = dense[touched]
                done += 1
        for answer, score in zip(answers[done:], own[done:], strict=True):  # of a query without rules
            row[answer] = score
            yield np.array([answer]), row
            row[answer] = dense[answer]

    def default_scores(self, query: int) -> Floats:
        """Return the score of each entity where no rule but a dense one applies."""
        return self._compile(query)[1]

    def _gather(self, query: int, sources: Ids, masked: Ids | None = None) -> Iterator[tuple[int, Features]]:
        """Yield features of the sources, as many at a time as there is room for, and the first one's row.

        `masked` has an answer of each source whose known fact is masked; without it nothing is.
        """
        if masked is None and self._use_numpy(query, len(sources)):
            yield 0, gather_in_numpy(self.index, query, self.weighted.queries[query].rules, int(sources[0]))
            return
        # Threads need no lock: popping and appending are atomic.
        walker, (compiled, _) = self._take_walker(), self._compile(query)
        start = 0 if compiled.plans else len(sources)
        while start < len(sources):
            answers = None if masked is None else masked[start:]
            found = walker.gather(compiled.plans, ask(query, sources[start:], answers))
            yield start, found
            start += len(found)
        self._idle.append(walker)

    def _use_numpy(self, query: int, num_questions: int) -> bool:
        """Return whether this is one of the first few questions: loading compiled loops would take longer."""
        weighted = self.weighted.queries.get(query)
        is_warm = self.loops_are_loaded or self._num_single >= FEW_QUESTIONS
        if num_questions != 1 or weighted is None or is_warm:
            return False
        self._num_single += 1
        return self.index.operators.num_edges <= FEW_EDGES and can_use_numpy(weighted.rules)

    def _take_walker(self) -> FeatureWalker:
        """Return an idle walker, or a new one."""
        WeightedScorer.loops_are_loaded = True
        try:
            return self._idle.pop()
        except IndexError:
            return FeatureWalker(self.index, self.weighted.max_depth, precision=np.float64)

    def _compile(self, query: int) -> tuple[CompiledRules, Floats]:
        """Return a query's rules, compiled, and the dense term of each entity's score; kept once made."""
        if query not in self._compiled:
            weighted = self.weighted.queries.get(query)
            compiled = compile_rules(self.index, query, weighted.rules if weighted else ())
            number = compiled.dense.number
            weight = weighted.weights[number, 0] if weighted and number >= 0 else 0.0
            self._compiled[query] = compiled, weight * compiled.dense.values
        return self._compiled[query]

    def terms(self, source: int, query: int, answer: int) -> Iterator[PathTerm]:
        """Yield the contribution of each rule along each path, largest first, with those against the answer.

        A rule's contribution is divided among its paths by its kind.
        """
        if self.excluded.has(source, query, answer):
            return
        order = count()  # breaks ties without comparing rules
        heap: list[tuple[float, int, PathTerm | None, Iterator[PathTerm]]] = []
        for number, contribution in self._contributions(source, query, answer):
            terms = self._terms(query, number, (source, answer), contribution)
            heapq.heappush(heap, (-abs(contribution), next(order), None, terms))
        while heap:
            _, _, term, terms = heapq.heappop(heap)
            if term is not None:
                yield term
            if (following := next(terms, None)) is not None:
                heapq.heappush(heap, (-abs(following[-1]), next(order), following, terms))

    def shares(self, source: int, query: int, answer: int) -> list[RuleShare]:
        """Return the contributions to a score; rules that predict nearly the same from the source are one.

        Rules that name an entity stay apart: each rests on a fact of its own, and those that name their
        answer always predict the same. Rules that name no relation predict nothing alone and are like no
        other rule.
        """
        if self.excluded.has(source, query, answer):
            return []
        predicted = self._predicted(source, query)
        groups: list[tuple[set[int], list[tuple[int, float]]]] = []
        for each in sorted(self._contributions(source, query, answer), key=lambda each: -abs(each[1])):
            rule = self.weighted.queries[query].rules[each[0]]
            is_alone = rule.constant is not None or KINDS[rule.kind].names_no_relation
            entities = set() if is_alone else predicted.get(each[0], set())
            for leader, members in groups:
                same_side = (members[0][1] < 0) == (each[1] < 0)
                if same_side and entities and len(entities & leader) >= MIN_OVERLAP * len(entities | leader):
                    members.append(each)
                    break
            else:
                groups.append((entities, [each]))
        shares = [self._share(query, members, (source, answer)) for _, members in groups]
        return sorted(shares, key=lambda share: -abs(share.contribution))

    def _share(self, query: int, members: list[tuple[int, float]], ends: tuple[int, int]) -> RuleShare:
        """Return the share of rules given by number and contribution; the clearest of them comes first."""
        rules = tuple(sorted((self.weighted.rule(query, number) for number, _ in members), key=_clearest))
        kind, contribution = get_kind(rules[0].kind), sum(amount for _, amount in members)
        paths: Iterator[Path] = (path for path, _ in kind.paths(self.index, rules[0], ends))
        if rules[0].names_no_relation:
            path = next(paths)
            rules, paths = (kind.along(self.index, rules[0], path),), iter([path])
        return RuleShare(rules, contribution, paths)

    def _predicted(self, source: int, query: int) -> dict[int, set[int]]:
        """Return the entities that each rule predicts from a source, by the rule's number."""
        predicted: dict[int, set[int]] = {}
        for _, found in self._gather(query, np.array([source])):
            entities, rules, *_ = found.rows(0)
            order = np.argsort(rules, kind="stable")
            numbers, starts = np.unique(rules[order], return_index=True)
            parts = np.split(entities[order], starts[1:])
            # Without entries there are no numbers, but still one part, which is empty.
            predicted |= {int(n): set(part.tolist()) for n, part in zip(numbers, parts, strict=False)}
        return predicted

    def _contributions(self, source: int, query: int, answer: int) -> Iterator[tuple[int, float]]:
        """Yield the contribution of each rule, by its number, to the score of one answer."""
        compiled, dense = self._compile(query)
        if dense[answer]:
            yield compiled.dense.number, float(dense[answer])
        for _, found in self._gather(query, np.array([source])):
            entities, *columns = found.rows(0)
            rules, forward, backward = (column[entities == answer] for column in columns)
            features = np.stack([np.ones(len(rules)), forward, backward], axis=1)
            amounts = (self.weighted.queries[query].weights[rules] * features).sum(axis=1)
            yield from zip(rules.tolist(), amounts.tolist(), strict=True)

    def _terms(
        self, query: int, number: int, ends: tuple[int, int], contribution: float
    ) -> Iterator[PathTerm]:
        """Yield a rule's paths with the share of its contribution that each has, largest first."""
        rule = self.weighted.rule(query, number)
        kind = get_kind(rule.kind)
        for path, share in kind.paths(self.index, rule, ends):
            yield kind.along(self.index, rule, path), path, contribution * share


def _clearest(rule: Rule) -> tuple[bool, bool, int, float]:
    """Return a key that puts chains first, those without their own relation, short and confident ones."""
    recursive = relation_of(rule.target) in map(relation_of, rule.body)
    return rule.kind != "chain", recursive, len(rule.body), -rule.confidence

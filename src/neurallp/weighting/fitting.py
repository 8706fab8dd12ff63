"""Rule weighting: candidates are found and weighted query by query, by cross-entropy over all entities.

The score of an answer is a sum over rules. A rule of most kinds has three features for an answer: an
indicator that it predicts it, and a forward and a backward value (for chains, random walk probabilities on a
logarithmic scale). A query has a weight for each of them.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import numpy as np

from ..config import WeightingConfig
from ..errors import DataError
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split
from ..graph.parallel import num_cores
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from .features import FeatureWalker
from .fitting_kernels import Buffer
from .graph_index import GraphIndex
from .kinds import get_kind, get_kinds
from .kinds.base import Candidate, Kind
from .masking import EdgeMasking
from .query_fit import FitResult, QueryFit
from .weighted_rules import WeightedQuery, WeightedRules

#: Validation questions from which on a query chooses its own penalty.
ENOUGH_TO_CHOOSE = 20

#: Rules that are given to be weighted, for each query.
Candidates = Mapping[int, Sequence[Candidate]]


class Weighting:
    """Finds candidates, weights them query by query on all cores, and chooses penalties on validation."""

    def __init__(
        self,
        split: Split,
        config: WeightingConfig,
        given: Candidates | None = None,
        num_threads: int | None = None,
    ) -> None:
        if not len(split.known.facts):
            raise DataError("There is nothing to learn from: no facts are known.")
        self.config, self.given = config, given or {}
        self.index = GraphIndex.of(split.known)
        self.num_relations = len(split.relations)
        self.kinds = get_kinds(config.kinds)
        self.edge_masking = EdgeMasking(split, config.masking)
        self.questions = _by_query(split.known.facts, self.num_relations)
        self.known = KnownAnswers(split.known.facts, self.num_relations)
        self.valid = _by_query(split.valid, self.num_relations)
        # The test part must not influence what is learned, so it is not filtered out of validation ranks.
        known_or_valid = np.concatenate([split.known.facts, split.valid])
        self.validation_answers = KnownAnswers(known_or_valid, self.num_relations)
        self.num_threads = num_threads or num_cores()
        self._idle: list[Worker] = []

    @property
    def queries(self) -> list[int]:
        """The queries that have facts, those with most facts first, as they take longest."""
        return sorted(self.questions, key=lambda query: -len(self.questions[query]))

    def given_of(self, query: int, kind: Kind) -> list[Candidate]:
        """Return the rules of one kind that are given for a query."""
        return [
            each for each in self.given.get(query, ()) if each.kind == kind.name and kind.accepts(query, each)
        ]

    @cached_property
    def given_kinds(self) -> set[str]:
        """The kinds of all rules that are given."""
        return {each.kind for rules in self.given.values() for each in rules}

    @property
    def max_depth(self) -> int:
        """The number of frontiers that the features of any rule need at once."""
        every = (each for rules in self.given.values() for each in rules)
        return max(*self.config.lengths, 1, *(get_kind(each.kind).max_depth(each) for each in every))

    def run(self, on_done: Callable[[int], None] = lambda num: None) -> WeightedRules:
        """Return the weighted rules; `on_done` is called with the number of facts of each finished query."""
        pool = ThreadPoolExecutor(self.num_threads)
        try:
            fitted = dict(zip(self.queries, self._fit_all(pool, on_done), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C only queries that have begun are waited for
        kb = self.index.kb
        return WeightedRules(kb.relations, kb.reflexive_relations, choose_best(fitted))

    def _fit_all(self, pool: Executor, on_done: Callable[[int], None]) -> Iterable[Sequence[FitResult]]:
        """Return the weights of each query in turn, for each of the lengths."""

        def weigh(query: int) -> list[FitResult]:
            with self._worker() as worker:
                fitted = [worker.fit(query, rules) for rules in worker.candidates(query)]
            on_done(len(self.questions[query]))
            return fitted

        return pool.map(weigh, self.queries)

    @contextmanager
    def _worker(self) -> "Iterator[Worker]":
        """Yield an idle worker, or a new one."""
        # No lock is needed: popping is atomic, while testing whether one is left first would not be.
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = Worker(self)
        yield worker
        self._idle.append(worker)


def choose_best(fitted: Mapping[int, Sequence[FitResult]]) -> dict[int, WeightedQuery]:
    """Return each query's weights for the length and penalty with the best validation MRR.

    A query with few validation questions takes the setting that is best for all queries together.
    """
    # (question, length x penalty)
    ranks = {query: np.hstack([each.reciprocal_ranks for each in fits]) for query, fits in fitted.items()}
    together = np.concatenate([*ranks.values()])
    num_penalties = next(iter(fitted.values()))[0].num_penalties
    # Without any validation, the first length and the penalty in the middle.
    common = int(together.mean(axis=0).argmax()) if len(together) else num_penalties // 2
    chosen = {}
    for query, fits in fitted.items():
        own = len(ranks[query]) >= ENOUGH_TO_CHOOSE
        setting = int(ranks[query].mean(axis=0).argmax()) if own else common
        length, penalty = divmod(setting, num_penalties)
        best = fits[length]
        chosen[query] = WeightedQuery(best.rules, best.weights[:, :, penalty].copy(), best.confidences)
    return chosen


class Worker:
    """What one thread finds candidates and fits weights with: its working memory, and the settings."""

    def __init__(self, weighting: Weighting) -> None:
        self.weighting, self.config, self.index = weighting, weighting.config, weighting.index
        self.walker = FeatureWalker(self.index, weighting.max_depth)
        self.buffer = Buffer.of(len(self.config.penalties), self.index.num_entities)
        self.workspace: dict[Any, Any] = {}

    # Candidates

    @property
    def mask_pair_choices(self) -> Sequence[bool]:
        """Whether training questions mask their whole pair: every value that occurs."""
        return self.weighting.edge_masking.choices

    def questions(self, query: int) -> Questions:
        """Return the questions that the known facts of a query answer."""
        return self.weighting.questions[query]

    def sample(self, query: int, num: int) -> Questions:
        """Return some of them, fixed by the seed."""
        questions = self.questions(query)
        order = np.random.default_rng((self.config.seed, query)).permutation(len(questions))
        return questions[order[:num]]

    def count(self, query: int, rules: Sequence[Candidate], questions: Questions) -> Ids:
        """Return for each rule how many answers it predicts, and how many of them are right; (rule, 2)."""
        return QueryFit(self, query, tuple(rules)).count(questions)

    def candidates(self, query: int) -> list[tuple[Candidate, ...]]:
        """Return the rules to be weighted for a query, of all kinds that are wanted, for each length."""
        fixed = {
            kind.name: self._candidates(query, kind, 0)
            for kind in self.weighting.kinds
            if not kind.depends_on_length
        }
        return [
            tuple(
                rule
                for kind in self.weighting.kinds
                for rule in (
                    fixed[kind.name] if kind.name in fixed else self._candidates(query, kind, length)
                )
            )
            for length in self.config.lengths
        ]

    def _candidates(self, query: int, kind: Kind, max_length: int) -> list[Candidate]:
        """Return the rules of one kind: those given, and those found where the kind finds any besides."""
        given = self.weighting.given_of(query, kind)
        if kind.name in self.weighting.given_kinds and not kind.adds_to_given:
            return given
        found = [each for each in kind.find(self, query, max_length) if kind.accepts(query, each)]
        return list(dict.fromkeys([*given, *found]))

    # Weights

    def fit(self, query: int, rules: Sequence[Candidate]) -> FitResult:
        """Return the weights of a query's rules; where they are too many, of the most important ones."""
        fit = self._start(query, tuple(rules))
        fit.learn(self.sample(query, self.config.max_questions))
        limit = self.config.max_rules
        if limit is None or fit.num_rules <= limit:
            return fit.validated()
        kept = np.sort(np.argsort(-fit.importance, kind="stable")[:limit])
        return self.fit(query, [fit.rules[number] for number in kept] + list(fit.dense_rule))

    def _start(self, query: int, rules: tuple[Candidate, ...]) -> QueryFit:
        return QueryFit(self, query, rules)


def _by_query(triples: Ids, num_relations: int) -> dict[int, Questions]:
    """Return the questions that triples answer, grouped by query."""
    questions = ask_both_ways(triples, num_relations)
    order = np.argsort(questions.queries, kind="stable")
    queries, starts = np.unique(questions.queries[order], return_index=True)
    groups = np.split(order, starts[1:])  # without questions this is one empty group, and no queries
    return {int(query): questions[rows] for query, rows in zip(queries, groups, strict=False)}

"""Rule weighting: candidates are found and weighted query by query, by cross-entropy over all entities.

The score of an answer is a sum over rules. A rule of most kinds has three features for an answer: an
indicator that it predicts it, and a forward and a backward value (for chains, random walk probabilities on a
logarithmic scale). A query has a weight for each of them.
"""

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from copy import copy
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from ..config import WeightingConfig
from ..errors import DataError
from ..graph.arrays import Ids
from ..graph.compilation import num_cores
from ..graph.knowledge_base import Split
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from .choice import Choice, Trial, choose_level, choose_refined, choose_settings
from .graph_index import GraphIndex
from .kinds import get_kind, get_kinds
from .kinds.base import Candidate, Kind
from .masking import EdgeMasking
from .query_fit import FitResult
from .thread_worker import StoppedError, Worker
from .weighted_rules import WeightedQuery, WeightedRules

T = TypeVar("T")

#: Called with a query once a stage is done with it.
OnQuery = Callable[[int], None]

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
        self.split = split
        self.edge_masking = EdgeMasking(split, config.masking, config.linked)
        self.questions = _by_query(split.known.facts, self.num_relations)
        self.known = KnownAnswers(split.known.facts, self.num_relations)
        self.valid = _by_query(split.valid, self.num_relations)
        # The test part must not influence what is learned, so it is not filtered out of validation ranks.
        known_or_valid = np.concatenate([split.known.facts, split.valid])
        self.validation_answers = KnownAnswers(known_or_valid, self.num_relations)
        self.num_threads = num_threads or num_cores()
        self.should_stop: Callable[[], bool] = lambda: False
        #: The number of queries whose rules a stopped run would have thinned out.
        self.num_unthinned = 0
        #: Called with a query and its fits as each stage finds them: for each length, or for one.
        self.on_fit: Callable[[int, Sequence[FitResult]], None] = lambda query, fits: None
        self._idle: list[Worker] = []
        self._found: dict[Any, list[Candidate]] = {}  # by query, kind, length and settings

    def check_stop(self) -> None:
        """Raise where the run is to stop."""
        if self.should_stop():
            raise StoppedError

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

    def optional_kinds(self, kinds: Collection[str], *, rare: bool) -> list[str]:
        """Return those of some kinds that a query may leave out, and that predict rarely or do not.

        Given rules are never left out.
        """
        found = get_kinds(set(kinds) - self.given_kinds)
        return [kind.name for kind in found if kind.is_optional and kind.predicts_rarely == rare]

    @property
    def max_depth(self) -> int:
        """The number of frontiers that the features of any rule need at once."""
        given = (each for rules in self.given.values() for each in rules)
        every = (*given, *(Candidate(kind.name, ()) for kind in self.kinds))
        return max(*self.config.lengths, 1, *(get_kind(each.kind).max_depth(each) for each in every))

    def run(
        self,
        on_done: Callable[[int], None] = lambda num: None,
        should_stop: Callable[[], bool] = lambda: False,
        validator: "Weighting | None" = None,
    ) -> WeightedRules:
        """Return the weighted rules.

        Every query first gets a cheap fit on few questions, which chooses its settings; then queries are
        refined, those with most facts first, and thinned out. `on_done` is called with a number of facts, in
        all twice the number of facts of the graph. Once `should_stop` returns True, the rules so far are
        returned: queries without a fit have their prior alone, and `unrefined` lists those not refined. Where
        there is no validation part, a `validator` with a part of the facts held out makes the choices.
        """
        self.should_stop = should_stop
        first = validator or self
        first.should_stop, first.on_fit = should_stop, self.on_fit
        sizes = {query: len(questions) for query, questions in self.questions.items()}
        stages = share_progress(sizes, on_done, 3 if first is self else 4)
        on_pilot, on_refined, on_thinned, *on_chosen = stages
        pool = ThreadPoolExecutor(self.num_threads)
        try:
            choices = choose_settings(first._pilot_all(self.queries, pool, on_pilot))
            if first is not self:
                choices |= choose_refined(choices, first._refine_rare(choices, pool, *on_chosen))
            refined = choose_refined(choices, self._refine_all(choices, pool, on_refined))
            thinned = self._thin_all(refined, pool, on_thinned)
        finally:
            pool.shutdown(cancel_futures=True)  # after Ctrl-C only queries that have begun are waited for
        return self._assemble(choices, refined, thinned)

    def trial(
        self, queries: Sequence[int], config: WeightingConfig | None = None, *, refined: bool = False
    ) -> Trial:
        """Return what cheap fits of some queries, or refined ones, validate to; with other settings if given.

        No rules are thinned out.
        """
        other = self if config is None else self.with_config(config)
        with ThreadPoolExecutor(self.num_threads) as pool:
            pilots = other._pilot_all(queries, pool, lambda query: None)
            choices = choose_settings(pilots) if refined else {}
            chosen = choose_refined(choices, other._refine_all(choices, pool, lambda query: None))
        # Cheap fits are those of the middle setting: a choice of each query on so few questions would favour
        # settings with more to choose from.
        cheap = {query: fits[0].middle_ranks for query, fits in pilots.items()}
        ranks = {query: each.reciprocal_ranks for query, each in chosen.items()} if refined else cheap
        entries = {query: fits[0].entries_per_question for query, fits in pilots.items()}
        return Trial(ranks, entries, {query: other.num_questions(query) for query in pilots})

    def with_config(self, config: WeightingConfig) -> "Weighting":
        """Return a weighting of the same facts with other settings; the same search is not made again."""
        other = copy(self)
        other.__dict__.pop("given_kinds", None)
        other.config, other.kinds, other._idle = config, get_kinds(config.kinds), []
        other.edge_masking = EdgeMasking(self.split, config.masking, config.linked)
        return other

    def num_questions(self, query: int) -> int:
        """Return how many questions the weights of a query are fitted on and validated on."""
        sources = np.unique(self.questions[query].sources, return_counts=True)[1]
        num = int(np.minimum(sources, self.config.max_per_source).sum())
        return min(num, self.config.max_questions) + len(self.valid.get(query, ()))

    def _assemble(
        self,
        choices: Mapping[int, Choice],
        refined: Mapping[int, Choice],
        thinned: Mapping[int, FitResult],
    ) -> WeightedRules:
        """Return the rules of all queries at the level of thinning that is best for all together."""
        level = choose_level([each.reciprocal_ranks for each in thinned.values()])
        found: dict[int, WeightedQuery] = {}
        for query in self.queries:
            chosen = refined.get(query, choices.get(query))
            if query in thinned:
                found[query] = thinned[query].weighted(level)
            else:
                found[query] = self._prior_only(query) if chosen is None else chosen.weighted
        kb, unrefined = self.index.kb, tuple(query for query in self.queries if query not in refined)
        excludes_linked = self.edge_masking.excludes_linked
        return WeightedRules(kb.relations, kb.reflexive_relations, found, excludes_linked, unrefined)

    def _prior_only(self, query: int) -> WeightedQuery:
        rules = (Candidate("prior", (query,)),) if "prior" in self.config.kinds else ()
        weights = np.tile([1.0, 0.0, 0.0], (len(rules), 1))
        return WeightedQuery(rules, weights, np.zeros(len(rules)))

    # Stages, query by query

    def _pilot_all(
        self, queries: Sequence[int], pool: Executor, on_done: OnQuery
    ) -> dict[int, list[FitResult]]:
        """Return the cheap fits of queries, for each of the lengths; of as many as there is time for."""
        found = self._map(Worker.first_fits, [(query,) for query in queries], pool)
        return self._collect(queries, found, on_done)

    def _refine_all(
        self, choices: Mapping[int, Choice], pool: Executor, on_done: OnQuery
    ) -> dict[int, FitResult]:
        """Return the refined weights of queries; of as many as there is time for."""
        found = self._map(Worker.refine, [*choices.items()], pool)
        return self._collect([*choices], found, on_done)

    def _refine_rare(
        self, choices: Mapping[int, Choice], pool: Executor, on_done: OnQuery
    ) -> dict[int, FitResult]:
        """Return the refined weights of queries with rules that predict rarely, with and without these."""
        wanted = self._select(choices, lambda each: self.optional_kinds(each.fit.kinds, rare=True), on_done)
        return self._refine_all(wanted, pool, on_done)

    def _thin_all(
        self, choices: Mapping[int, Choice], pool: Executor, on_done: OnQuery
    ) -> dict[int, FitResult]:
        """Return the weights of queries with fewer rules; of as many as there is time and need for."""
        limit = self.config.max_rules or (0 if self.config.thinning else math.inf)
        wanted = self._select(choices, lambda choice: choice.num_rules > limit, on_done)
        found = self._collect([*wanted], self._map(Worker.thin, [*wanted.items()], pool), on_done)
        self.num_unthinned = len(wanted) - len(found)
        return found

    def _select(
        self,
        choices: Mapping[int, Choice],
        is_wanted: Callable[[Choice], Any],
        on_done: OnQuery,
    ) -> dict[int, Choice]:
        """Return the choices that are wanted; with the others a stage is done already."""
        wanted = {query: choice for query, choice in choices.items() if is_wanted(choice)}
        for query in choices.keys() - wanted.keys():
            on_done(query)
        return wanted

    def _map(
        self, work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], pool: Executor
    ) -> Iterator[T | None]:
        """Yield what a method of workers returns for each task, in order; None for what was stopped."""

        def run(task: tuple[Any, ...]) -> T | None:
            with self._worker() as worker:
                return worker.attempt(lambda: work(worker, *task))

        return pool.map(run, tasks)

    def _collect(self, queries: Iterable[int], found: Iterable[Any], on_done: OnQuery) -> dict[int, Any]:
        """Return what was found, by query, without what was stopped."""
        collected = {}
        for query, each in zip(queries, found, strict=True):
            on_done(query)
            if each is not None:
                collected[query] = each
                self.on_fit(query, each if isinstance(each, list) else [each])
        return collected

    @contextmanager
    def _worker(self) -> Iterator[Worker]:
        """Yield an idle worker, or a new one."""
        # No lock is needed: popping is atomic, while testing whether one is left first would not be.
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = Worker(self)
        yield worker
        self._idle.append(worker)


def share_progress(
    sizes: Mapping[int, int], on_done: Callable[[int], None], num_stages: int
) -> list[OnQuery]:
    """Return a callback for each stage; all stages together tell `on_done` of the size of each query.

    >>> seen = []
    >>> for on_stage in share_progress({7: 10}, seen.append, 4):
    ...     on_stage(7)
    >>> seen
    [2, 3, 2, 3]
    """

    def tell(stage: int, query: int) -> None:
        on_done((stage + 1) * sizes[query] // num_stages - stage * sizes[query] // num_stages)

    return [partial(tell, stage) for stage in range(num_stages)]


def _by_query(triples: Ids, num_relations: int) -> dict[int, Questions]:
    """Return the questions that triples answer, grouped by query."""
    questions = ask_both_ways(triples, num_relations)
    order = np.argsort(questions.queries, kind="stable")
    queries, starts = np.unique(questions.queries[order], return_index=True)
    groups = np.split(order, starts[1:])  # without questions this is one empty group, and no queries
    return {int(query): questions[rows] for query, rows in zip(queries, groups, strict=False)}

"""Weights for rules, by cross-entropy over all entities: an answer's score is a sum over rules.

Each rule gives three pieces of evidence for an answer: that it fires, how likely a random walk along its
body is to arrive there, and how likely one is to come back; the latter two saturated by a logarithm. A
query has one weight for each, and one for the prior: log(1 + how often the entity is an answer). Rules that
are no chains, the clues, have evidence of their own in the place of the walks.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from time import monotonic
from typing import Any, Literal, get_args

import numpy as np

from ..config import WeightingConfig
from ..errors import DataError
from ..graph.arrays import Body, Flags, Floats, Ids
from ..graph.knowledge_base import Split
from ..graph.operators import Operators
from ..graph.parallel import num_cores
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from .features import Clue, ClueKind, FeatureWalker, build_trie, csr_segments, list_clues
from .fitting_kernels import Buffer, Lessons, Parameters, batch_gradient, count_right, rank_settings
from .masking import EdgeMasking, Filters
from .mining import Miner, find_unary
from .weighted_rules import WeightedQuery, WeightedRules, log_frequencies

#: Validation questions of a query from which on it chooses its own penalty.
ENOUGH_TO_CHOOSE = 20


#: What is given to be weighted for each query: bodies of chains, and clues.
Candidates = Mapping[int, Sequence[Body | Clue]]


class Weighting:
    """Finds candidates, weighs them query by query on all cores, and chooses penalties on validation."""

    def __init__(
        self,
        split: Split,
        config: WeightingConfig,
        given: Candidates | None = None,
        num_threads: int | None = None,
    ) -> None:
        if not len(split.known.facts):
            raise DataError("There is nothing to learn from: no facts are known.")
        self.split, self.config, self.given = split, config, given or {}
        self.kb = split.known
        self.operators = Operators.of(self.kb)
        self.runs = csr_segments(self.operators)
        self.num_relations = len(split.relations)
        self.edge_masking = EdgeMasking(split, config.masking)
        self.questions = _by_query(self.kb.facts, self.num_relations)
        self.known = KnownAnswers(self.kb.facts, self.num_relations)
        self.valid = _by_query(split.valid, self.num_relations)
        self.true = KnownAnswers(split.true_triples, self.num_relations)
        self.num_threads = num_threads or num_cores()
        self.mining_seconds_left = config.mining_seconds
        self._spare: list[Worker] = []

    @property
    def queries(self) -> list[int]:
        """The queries that have facts, those with most first: they take longest."""
        return sorted(self.questions, key=lambda query: -len(self.questions[query]))

    def given_bodies(self, query: int) -> list[Body]:
        """Return the chains that are given for a query."""
        return [each for each in self.given.get(query, ()) if not isinstance(each, Clue)]

    def given_clues(self, query: int, kind: str) -> list[Clue]:
        """Return the clues of one kind that are given for a query."""
        return [each for each in self.given.get(query, ()) if isinstance(each, Clue) and each.kind == kind]

    @cached_property
    def given_kinds(self) -> set[str]:
        """The kinds of clues that are given: no more of them are looked for."""
        return {each.kind for given in self.given.values() for each in given if isinstance(each, Clue)}

    def run(self, on_done: Callable[[int], None] = lambda num: None) -> WeightedRules:
        """Return the weighted rules; `on_done` is told how many facts each query has that is done."""
        self.mining_seconds_left = self.config.mining_seconds
        pool = ThreadPoolExecutor(self.num_threads)
        try:
            fitted = dict(zip(self.queries, self._fit_all(pool, on_done), strict=True))
        finally:
            pool.shutdown(cancel_futures=True)  # Ctrl-C waits for what is under way, and for no more
        return WeightedRules(self.kb.relations, self.kb.reflexive_relations, choose_best(fitted))

    def _fit_all(self, pool: Executor, on_done: Callable[[int], None]) -> "Iterable[Sequence[FitResult]]":
        """Return the weights of each query in turn, for each of the lengths."""

        def weigh(query: int) -> list[FitResult]:
            with self._bench() as bench:
                fitted = [bench.fit(query, *rules) for rules in bench.candidates(query)]
            on_done(len(self.questions[query]))
            return fitted

        return pool.map(weigh, self.queries)

    @contextmanager
    def _bench(self) -> "Iterator[Worker]":
        """Lend a bench that is spare, or a new one."""
        # No lock is needed: popping is atomic, but asking first whether one is left is not.
        try:
            bench = self._spare.pop()
        except IndexError:
            bench = Worker(self)
        yield bench
        self._spare.append(bench)


@dataclass(frozen=True, eq=False)
class FitResult:
    """Weights of one query under every penalty, and the reciprocal ranks of validation under each."""

    bodies: tuple[Body, ...]
    clues: tuple[Clue, ...]
    weights: Floats  # (rule, 3, penalty)
    priors: Floats  # (penalty,)
    confidences: Floats  # (rule,)
    reciprocal_ranks: Floats  # (question, penalty)


def choose_best(fitted: Mapping[int, Sequence[FitResult]]) -> dict[int, WeightedQuery]:
    """Return each query's weights for the length and penalty that validate best.

    A query with few validation questions takes what is best for all queries together.
    """
    # (question, length x penalty)
    ranks = {query: np.hstack([each.reciprocal_ranks for each in fits]) for query, fits in fitted.items()}
    together = np.concatenate([*ranks.values()])
    num_penalties = len(next(iter(fitted.values()))[0].priors)
    # Without any validation, the first length and the penalty in the middle.
    common = int(together.mean(axis=0).argmax()) if len(together) else num_penalties // 2
    chosen = {}
    for query, fits in fitted.items():
        own = len(ranks[query]) >= ENOUGH_TO_CHOOSE
        setting = int(ranks[query].mean(axis=0).argmax()) if own else common
        length, penalty = divmod(setting, num_penalties)
        each = fits[length]
        weights, prior = each.weights[:, :, penalty].copy(), float(each.priors[penalty])
        chosen[query] = WeightedQuery(each.bodies, weights, each.confidences, prior, each.clues)
    return chosen


class Worker:
    """One thread's place of work."""

    def __init__(self, weighting: Weighting) -> None:
        self.weighting, self.config = weighting, weighting.config
        operators = weighting.operators
        given = (body for query in weighting.given for body in weighting.given_bodies(query))
        length = max(*self.config.lengths, *map(len, given), 1)
        self.walker = FeatureWalker(weighting.runs, operators.num_operators, length)
        self.miners = [
            Miner(weighting.runs, operators.num_operators, length) for length in self.config.lengths
        ]
        self.sheet = Buffer.of(len(self.config.penalties), operators.num_entities)

    def candidates(self, query: int) -> list[tuple[list[Body], list[Clue]]]:
        """Return the rules to be weighted for a query, of all kinds that are wanted, for each length."""
        kinds = self.config.kinds
        wanted = [kind for kind in get_args(ClueKind) if kind in kinds]
        clues = [clue for kind in wanted for clue in self._clues(query, kind)]
        return [(self._bodies(query, miner) if "chain" in kinds else [], clues) for miner in self.miners]

    def _clues(self, query: int, kind: ClueKind) -> list[Clue]:
        """Return the clues of one kind that are given, or where there are none at all those found."""
        if kind in self.weighting.given_kinds:
            return self.weighting.given_clues(query, kind)
        return self._unary(query) if kind == "unary" else self._shared(query, kind)

    def _bodies(self, query: int, miner: Miner) -> list[Body]:
        """Return the bodies given for a query and those found between its pairs, without repetition."""
        pairs = self._sample(query, self.config.num_pairs if self.config.num_candidates else 0)
        ways, started = self.weighting.edge_masking.ways, monotonic()
        limit = -(-self.config.num_candidates // len(ways))
        deadline = started + self.weighting.mining_seconds_left
        mined = [body for whole in ways for body in miner.mine(pairs, whole, limit, deadline)]
        self.weighting.mining_seconds_left -= monotonic() - started
        given = self.weighting.given_bodies(query)
        found = dict.fromkeys([*given, *mined[: self.config.num_candidates]])
        return [body for body in found if body and body != (query,)]

    def _unary(self, query: int) -> list[Clue]:
        weighting, entities = self.weighting, self.weighting.kb.entities
        pairs, mask_pair = weighting.questions[query], all(weighting.edge_masking.ways)
        found = find_unary(weighting.runs, pairs, mask_pair, self.config.num_unary)
        return [Clue("unary", operator, entities[answer]) for operator, answer in found]

    def _shared(self, query: int, kind: Literal["anchored", "mirrored"]) -> list[Clue]:
        """Return the clues by the operators that say known answers most often, and most of them right."""
        every = tuple(Clue(kind, k) for k in range(self.weighting.operators.num_operators))
        said, right = QueryFit(self, query, (), every).count(self._sample(query, self.config.num_pairs)).T
        worth = right**2 / np.maximum(said, 1)
        order = np.argsort(-worth, kind="stable")[: self.config.num_anchored]
        return [every[k] for k in order[worth[order] > 0]]

    def _sample(self, query: int, num: int) -> Questions:
        questions = self.weighting.questions[query]
        order = np.random.default_rng((self.config.seed, query)).permutation(len(questions))
        return questions[order[:num]]

    def fit(self, query: int, bodies: Sequence[Body], clues: Sequence[Clue] = ()) -> "FitResult":
        """Return the weights of a query's rules; where they are too many, of those that matter most."""
        fit = self._start(query, tuple(bodies), tuple(clues))
        fit.learn(self._sample(query, self.config.max_questions))
        most, num = self.config.max_rules, len(bodies)
        if most is None or fit.num_rules <= most:
            return fit.judged()
        kept = np.sort(np.argsort(-fit.importance, kind="stable")[:most])
        chains, others = kept[kept < num], kept[kept >= num] - num
        return self.fit(query, [bodies[rule] for rule in chains], [clues[rule] for rule in others])

    def _start(self, query: int, bodies: tuple[Body, ...], clues: tuple[Clue, ...]) -> "QueryFit":
        return QueryFit(self, query, bodies, clues)


class QueryFit:
    """The weights of one query on their way: Adam on batches, under all penalties at once.

    Any stands for arrays and lessons that may lie on another device.
    """

    def __init__(
        self, bench: Worker, query: int, bodies: tuple[Body, ...], clues: tuple[Clue, ...] = ()
    ) -> None:
        self.bench, self.query, self.bodies, self.clues = bench, query, bodies, clues
        weighting, settings = bench.weighting, len(bench.config.penalties)
        operators = weighting.operators
        self.num_rules = len(bodies) + len(clues)
        self.tree = build_trie(bodies)
        listed = list_clues(clues, len(bodies), operators.num_operators, weighting.kb.entities)
        self.walk: Callable[..., Any] = partial(bench.walker.gather, self.tree, listed)
        self.excluded = not weighting.kb.reflexive_relations[query % weighting.num_relations]
        self.priors = log_frequencies(
            weighting.kb.facts, query, weighting.num_relations, operators.num_entities
        ) * ("prior" in bench.config.kinds)
        size = 3 * self.num_rules + 1  # the last is the prior's
        # A direct link is trusted as far as it goes: only what else is said is kept small.
        penalised = np.repeat([*(len(body) > 1 for body in bodies), *(True for _ in clues)], 3)
        self.penalties = np.append(penalised, True)[:, None] * np.array(bench.config.penalties)
        self.values = np.zeros((size, settings))
        self.gradients: Any = np.zeros((size, settings))
        self.first, self.second, self.num_steps = np.zeros_like(self.values), np.zeros_like(self.values), 0
        self.counts = np.zeros((self.num_rules, 2), dtype=np.int64)  # fired, right

    def _weights(self, of: Any) -> Any:
        return of[:-1].reshape(self.num_rules, 3, len(self.bench.config.penalties))

    def _terms(self, of: Floats) -> Parameters:
        return Parameters(self._weights(of), of[-1])

    def learn(self, questions: Questions) -> None:
        """Fit the weights, as many questions at a time as there is room for."""
        config = self.bench.config
        num_batches = -(-len(questions) // config.batch_size)
        num_passes = max(2, min(30, -(-config.min_steps // num_batches)))
        rng = np.random.default_rng((config.seed, self.query))
        mask_pair = self.bench.weighting.edge_masking.mask_pair(questions)
        for lessons in self._lessons(questions, self.bench.weighting.known, mask_pair):
            self._count(lessons)
            if self.bench.weighting.edge_masking.masking == "both" and not self.num_steps:
                self._trust_links()
            for _ in range(num_passes):
                order = self._ids(rng.permutation(len(lessons.answers)))
                for start in range(0, len(order), config.batch_size):
                    self._gradient(lessons, order[start : start + config.batch_size])
                    self._descend(num_batches * num_passes)

    def _trust_links(self) -> None:
        """Begin with direct links at the log of their odds among all entities: they go before the rest.

        A pair that is hidden does not count for its link, so odds are told low rather than high.
        """
        said, right = self.counts[: len(self.bodies)].T
        direct = np.flatnonzero([len(body) == 1 for body in self.bodies])
        odds = right / (said - right + 5.0)
        self.values[3 * direct] = self._like_values(np.log1p(len(self.priors) * odds[direct])[:, None])

    def count(self, questions: Questions) -> Ids:
        """Return how many answers each rule says, and how many of them are right."""
        mask_pair = self.bench.weighting.edge_masking.mask_pair(questions)
        for lessons in self._lessons(questions, self.bench.weighting.known, mask_pair):
            self._count(lessons)
        return self.counts

    @property
    def importance(self) -> Floats:
        """How much each rule says in all: its weights, times how often it fires on right answers."""
        importance: Floats = np.abs(self._weights(self.values)).sum(axis=(1, 2)) * np.sqrt(self.counts[:, 1])
        return importance

    def _lessons(
        self, questions: Questions, known: KnownAnswers, mask_pair: Flags | None = None
    ) -> Iterator[Any]:
        """Yield questions with what the rules say, as many at a time as there is room for.

        Beside its answer, what is known of a question is left out. In learning its fact is hidden, or its
        `whole_pair`.
        """
        while len(questions):
            told = self._gather(questions, mask_pair)
            now, questions = questions[: len(told)], questions[len(told) :]
            flags = None if mask_pair is None else mask_pair[: len(told)]
            mask_pair = None if mask_pair is None else mask_pair[len(told) :]
            yield self._prepare(told, now, self.bench.weighting.edge_masking.filters_of(known, now, flags))

    def _gather(self, questions: Questions, mask_pair: Flags | None) -> Any:
        return self.walk(
            self.query,
            questions.sources,
            None if mask_pair is None else questions.answers,
            mask_pair=False if mask_pair is None else mask_pair,
            excluded=self.excluded,
        )

    def _prepare(self, told: Any, now: Questions, aside: Filters) -> Any:
        """Return all that is needed to learn from questions, or to rank their answers."""
        return Lessons(told.entries, told.starts, told.ends, now.sources, now.answers, *aside, self.excluded)

    def _like_values(self, array: Floats) -> Any:
        """Return an array as weights are kept."""
        return array

    def _ids(self, order: Ids) -> Any:
        """Return the order of a pass as `_gradient` wants its batches."""
        return order

    def _count(self, lessons: Any) -> None:
        """Count how often each rule says an entity, and how often that is right."""
        count_right(lessons, self.bench.sheet.marks, self.counts)

    def _gradient(self, lessons: Any, batch: Any) -> None:
        """Set the slopes to those of a batch's mean loss."""
        terms, gradients = self._terms(self.values), self._terms(self.gradients)
        batch_gradient(lessons, batch, terms, self.priors, self.bench.sheet, gradients)

    def _descend(self, total: int) -> None:
        """Take one step of Adam, whose size falls to a tenth on the way."""
        config = self.bench.config
        self.num_steps += 1
        self.gradients += self.penalties * self.values
        self.first += 0.1 * (self.gradients - self.first)
        self.second += 0.001 * (self.gradients**2 - self.second)
        rate = config.learning_rate * max(0.1, 1 - 0.9 * self.num_steps / total)
        mean = self.first / (1 - 0.9**self.num_steps)
        spread = self.second / (1 - 0.999**self.num_steps)
        self.values -= rate * mean / (spread**0.5 + 1e-8)

    def judged(self) -> "FitResult":
        """Return the weights with how well they rank validation."""
        weighting, weights = self.bench.weighting, self._terms(self.values)
        ranks: list[Floats] = [np.zeros((0, len(weights.prior)))]
        if self.query in weighting.valid:
            asked = self._lessons(weighting.valid[self.query], weighting.true)
            ranks += [self._rank(lessons) for lessons in asked]
        confidences = self.counts[:, 1] / np.maximum(self.counts[:, 0], 1)
        return FitResult(self.bodies, self.clues, *weights, confidences, 1.0 / np.concatenate(ranks))

    def _rank(self, lessons: Any) -> Floats:
        """Return the realistic ranks of answers, (question, setting)."""
        ranks = np.zeros((len(lessons.answers), self.values.shape[1]))
        rank_settings(lessons, self._terms(self.values), self.priors, self.bench.sheet, ranks)
        return ranks


def _by_query(triples: Ids, num_relations: int) -> dict[int, Questions]:
    """Return the questions that triples answer, grouped by query."""
    questions = ask_both_ways(triples, num_relations)
    order = np.argsort(questions.queries, kind="stable")
    queries, starts = np.unique(questions.queries[order], return_index=True)
    groups = np.split(order, starts[1:])  # of nothing there is one part all the same
    return {int(query): questions[rows] for query, rows in zip(queries, groups, strict=False)}

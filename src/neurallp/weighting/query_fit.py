"""The weights of one query, fitted by Adam on batches of questions, under several settings at once."""

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.questions import KnownAnswers, Questions, excludes_source
from .adam_kernels import AdamState, Schedule, fit_batches
from .example_kernels import Buffer, DenseValues, list_entities
from .features import ask
from .features_kernels import QuestionBatch
from .fitting_kernels import Parameters, add_removal_losses, count_right, rank_settings
from .kinds import compile_rules, get_kind, is_dense
from .kinds.base import Candidate
from .masking import Filters
from .mining import within_budget
from .weighted_rules import WeightedQuery

if TYPE_CHECKING:
    from .thread_worker import Worker

#: Batches between two looks at whether the run is to stop, and between two weights of a mean.
BATCHES_AT_ONCE = 10

#: Passes over the questions, at most: few questions take fewer steps.
MAX_PASSES = 60

#: The share of the steps, the last ones, over which weights are averaged: single steps follow single batches.
AVERAGED = 0.5

#: Added to the wrong predictions of a direct link, so that its odds stay finite.
ODDS_SMOOTHING = 5.0


class Setting(NamedTuple):
    """What a fit is tried with: a penalty on squared weights, and kinds of rules that are left out."""

    penalty: float
    left_out: frozenset[str] = frozenset()


@dataclass(frozen=True, eq=False)
class FitResult:
    """Weights of one query under every setting, and the reciprocal ranks of validation under each."""

    settings: tuple[Setting, ...]
    rules: tuple[Candidate, ...]
    weights: Floats  # (rule, 3, setting)
    confidences: Floats  # (rule,)
    reciprocal_ranks: Floats  # (question, setting)
    importance: Floats  # (rule,)
    num_predicted: Floats  # (rule,) entities that it predicts for a question, on average
    entries_per_question: float = 0.0

    @property
    def middle(self) -> int:
        """The column of the penalty in the middle, with all kinds."""
        return sum(not setting.left_out for setting in self.settings) // 2

    @property
    def middle_ranks(self) -> Floats:
        """The reciprocal ranks under that setting."""
        ranks: Floats = self.reciprocal_ranks[:, self.middle]
        return ranks

    @property
    def kinds(self) -> set[str]:
        """The kinds of the rules."""
        return {rule.kind for rule in self.rules}

    def used(self, setting: int) -> Ids:
        """Return the numbers of the rules with a weight other than 0 under one setting."""
        return np.flatnonzero(self.weights[:, :, setting].any(axis=1))

    def weighted(self, setting: int) -> WeightedQuery:
        """Return the rules with their weights under one setting, without those whose weights are all 0."""
        used = self.used(setting)
        rules = tuple(self.rules[rule] for rule in used)
        return WeightedQuery(rules, self.weights[used, :, setting], self.confidences[used])

    def best_rules(
        self, budget: float, given: Collection[Candidate] = (), left_out: Collection[str] = ()
    ) -> tuple[Candidate, ...]:
        """Return the best rules with a weight that predict at most `budget` entities for a question.

        A rule that predicts four times as many entities must be twice as important. Those given, and those
        that predict rarely, are taken besides: they do not count towards the budget. The latter need no
        weight. Kinds that are left out have none.
        """
        rare = np.array([get_kind(rule.kind).predicts_rarely for rule in self.rules], dtype=np.bool_)
        found = np.array([rule not in given for rule in self.rules], dtype=np.bool_)
        wanted = np.array([rule.kind not in left_out for rule in self.rules], dtype=np.bool_)
        costs = self.num_predicted * found * ~rare
        used = np.flatnonzero(((self.importance != 0) | rare) & wanted)
        used = used[np.argsort(-self.importance[used] / np.sqrt(1 + costs[used]), kind="stable")]
        kept = used[within_budget(costs[used], budget)]
        return tuple(self.rules[rule] for rule in np.sort(kept))


class QueryFit:
    """The fit of one query on the CPU. A subclass computes the same on another device.

    Rules with sparse features come first, then the one with a dense feature, if any. `Any` stands for arrays
    and examples that may be on another device.
    """

    def __init__(
        self,
        worker: "Worker",
        query: int,
        rules: tuple[Candidate, ...],
        settings: Sequence[Setting],
        dropout: float = 0.0,
    ) -> None:
        self.worker, self.query, self.config, self.settings = worker, query, worker.config, tuple(settings)
        self.dropout = dropout
        weighting = worker.weighting
        self.rules = tuple(rule for rule in rules if not is_dense(rule))
        self.dense_rule = tuple(rule for rule in rules if is_dense(rule))
        self.plans, dense = compile_rules(weighting.index, query, self.rules + self.dense_rule)
        self.dense = DenseValues(dense.values, dense.masked_values)
        self.exclude_source = bool(excludes_source(weighting.index.kb.reflexive_relations, query))
        self.penalties = self._penalty_factors()[:, None] * np.array([each.penalty for each in self.settings])
        self.lower, self.upper = self._bounds()
        self.values: Any = np.zeros_like(self.lower)
        self.gradients: Any = np.zeros_like(self.lower)
        self.fitted = np.ones(self.num_rules, dtype=np.bool_)  # whether the weights are not fixed at 0
        self.counts = np.zeros((self.num_rules, 2), dtype=np.int64)  # predicted, right
        self.is_warm, self._kept = False, None
        self._num_entries, self._num_gathered, self._num_counted = 0, 0, 0
        self._restart()

    def _restart(self) -> None:
        self.first, self.second, self.num_steps = 0.0 * self.values, 0.0 * self.values, 0
        self._sum, self._num_summed = 0.0 * self.values, 0

    @property
    def num_rules(self) -> int:
        """The number of rules with sparse features."""
        return len(self.rules)

    @property
    def direct_links(self) -> Flags:
        """Which rules are one edge from source to answer."""
        return np.array([get_kind(rule.kind).is_direct_link(rule) for rule in self.rules], dtype=np.bool_)

    def _penalty_factors(self) -> Floats:
        """Return how many times the penalty each weight has; those of direct links have none."""
        times = np.array([get_kind(rule.kind).penalty for rule in self.rules], dtype=np.float64)
        return np.append(np.repeat(times * ~self.direct_links, 3), 1.0)

    def _bounds(self) -> tuple[Floats, Floats]:
        """Return the least and the largest value of each weight; the last is the dense term's.

        Weights of features that a rule's kind does not have, and of rules that a setting does not use, are 0.
        """
        kinds = [get_kind(rule.kind) for rule in self.rules]
        signs = np.array([kind.sign for kind in kinds], dtype=np.int64)[:, None, None]
        absent = np.arange(3) >= np.array([kind.num_features for kind in kinds], dtype=np.int64)[:, None]
        left_out = [kind.name in each.left_out for kind in kinds for each in self.settings]
        unused = np.array(left_out, dtype=np.bool_).reshape(len(kinds), 1, len(self.settings))
        zero, free = absent[:, :, None] | unused, self.config.signs == "any"
        lower = np.where(zero | (~np.bool_(free) & (signs > 0)), 0.0, -np.inf)
        upper = np.where(zero | (~np.bool_(free) & (signs < 0)), 0.0, np.inf)
        num = len(self.settings)
        dense = np.full((1, num), np.inf if self.dense_rule else 0.0)
        both = np.broadcast_to(lower, (len(kinds), 3, num)), np.broadcast_to(upper, (len(kinds), 3, num))
        return np.vstack([both[0].reshape(-1, num), -dense]), np.vstack([both[1].reshape(-1, num), dense])

    def start_from(self, rules: Sequence[Candidate], weights: Floats) -> None:
        """Begin with the weights, (rule, 3), that another fit gave to some rules; within the bounds."""
        known = dict(zip(rules, weights, strict=True))
        start = [known.get(rule, np.zeros(3)) for rule in self.rules]
        dense = [known[rule][0] for rule in self.dense_rule] or [0.0]
        self.values = np.clip(np.concatenate([*start, dense])[:, None], self.lower, self.upper)
        self.is_warm = True

    def with_values(self, values: Floats) -> "QueryFit":
        """Set the weights, (weight, setting), for any number of settings to be validated; return the fit."""
        self.values = values
        return self

    def drop(self, rules: Ids) -> None:
        """Fix the weights of rules at 0."""
        rows = (3 * rules[:, None] + np.arange(3)).ravel()
        self.lower[rows] = self.upper[rows] = self.values[rows] = 0.0
        self.fitted[rules] = False

    def _rule_weights(self, values: Any) -> Any:
        return values[:-1].reshape(self.num_rules, 3, values.shape[1])

    def _parameters(self, values: Floats) -> Parameters:
        return Parameters(self._rule_weights(values), values[-1])

    # Learning

    def learn(self, questions: Questions, effort: float = 1.0) -> None:
        """Fit the weights, on as many questions at a time as there is room for; the result is a mean.

        `effort` below 1 takes that share of the passes: weights that were fitted before need fewer.
        """
        config = self.config
        num_batches = -(-len(questions) // config.batch_size)
        num_passes = math.ceil(effort * max(2, min(MAX_PASSES, -(-config.min_steps // num_batches))))
        rng = np.random.default_rng((config.seed, self.query))
        self._restart()
        for examples in self._training_examples(questions):
            if self.worker.weighting.edge_masking.masking == "both" and not self.is_warm:
                self._initialise_direct_links()
            self.is_warm = True
            for _ in range(num_passes):
                self._pass(examples, rng.permutation(len(examples.answers)), num_batches * num_passes)
        self._take_mean()

    def _pass(self, examples: Any, order: Ids, total: int) -> None:
        """Take a step for each batch of questions; the learning rate falls over `total` steps."""
        size = self.config.batch_size * BATCHES_AT_ONCE
        for start in range(0, len(order), size):
            self.worker.weighting.check_stop()
            self._fit_batches(examples, order[start : start + size], total)
            if self.num_steps > (1 - AVERAGED) * total:
                self._sum, self._num_summed = self._sum + self.values, self._num_summed + 1

    def _take_mean(self) -> None:
        """Set the weights to their mean over the last steps; those that ended at 0 stay there."""
        if self._num_summed:
            self.values = (self.values != 0) * self._sum / self._num_summed

    def _training_examples(self, questions: Questions) -> Iterator[Any]:
        """Yield the examples to learn from; those that fit into memory at once are computed once."""
        if self._kept is not None:
            yield self._kept
            return
        is_first = not self.counts.any()
        masking = self.worker.weighting.edge_masking
        for examples in self._examples(questions, self.worker.weighting.known, masking.mask_pair(questions)):
            if is_first:
                self._tally(examples)
            if len(examples.answers) == len(questions):
                self._kept = examples
            yield examples

    def removal_losses(self, questions: Questions) -> tuple[Floats, float]:
        """Return by how much the loss rises without each rule, and how much all of them lower it.

        For fits with one setting, in nats, summed over the questions.
        """
        removal, explained = np.zeros(self.num_rules), 0.0
        for examples in self._training_examples(questions):
            self.worker.weighting.check_stop()
            explained += self._add_removal_losses(examples, removal)
        return removal, explained

    def _initialise_direct_links(self) -> None:
        """Set the weights of direct links to the log of their odds among all entities.

        A masked pair does not count for its link, so the odds are rather too low than too high.
        """
        predicted, right = self.counts.T
        direct = np.flatnonzero(self.direct_links)
        odds = right / (predicted - right + ODDS_SMOOTHING)
        num_entities = self.worker.weighting.index.num_entities
        self.values[3 * direct] = self._like_values(np.log1p(num_entities * odds[direct])[:, None])

    def count(self, questions: Questions) -> Ids:
        """Return how many answers each rule predicts, and how many of them are right; (rule, 2)."""
        weighting = self.worker.weighting
        mask_pair = weighting.edge_masking.mask_pair(questions)
        for examples in self._examples(questions, weighting.known, mask_pair):
            self._tally(examples)
        return self.counts

    def _tally(self, examples: Any) -> None:
        """Count what rules predict, and on how many questions."""
        self._count(examples)
        self._num_counted += len(examples.answers)

    @property
    def importance(self) -> Floats:
        """The importance of each rule: its absolute weights, times the root of its right predictions.

        A rule against has none that are right: it counts as with one.
        """
        weights = np.abs(self._rule_weights(self.values)).sum(axis=(1, 2))
        importance: Floats = weights * np.sqrt(np.maximum(self.counts[:, 1], 1))
        return importance

    # Validation

    def validated(self, max_questions: int | None = None) -> FitResult:
        """Return the weights with the reciprocal ranks of validation questions, at most so many."""
        self._kept, importance = None, self.importance
        weighting, weights = self.worker.weighting, self._parameters(self.values)
        ranks: list[Floats] = [np.zeros((0, len(weights.dense)))]
        if self.query in weighting.valid:
            asked = self.worker.validation_sample(self.query, max_questions)
            ranks += [self._rank(each) for each in self._examples(asked, weighting.validation_answers)]
        confidences = self.counts[:, 1] / np.maximum(self.counts[:, 0], 1)
        dense = np.zeros((len(self.dense_rule), 3, len(weights.dense)))
        dense[:, 0] = weights.dense
        return FitResult(
            self.settings,
            self.rules + self.dense_rule,
            np.concatenate([weights.rules, dense]),
            np.append(confidences, np.zeros(len(dense))),
            1.0 / np.concatenate(ranks),
            np.append(importance, np.full(len(dense), np.inf)),
            np.append(self.counts[:, 0] / max(self._num_counted, 1), np.zeros(len(dense))),
            self._num_entries / max(self._num_gathered, 1),
        )

    # Examples

    def _examples(
        self, questions: Questions, known: KnownAnswers, mask_pair: Flags | None = None
    ) -> Iterator[Any]:
        """Yield questions with their features, as many at a time as there is room for.

        Known answers other than the one asked are filtered out. With `mask_pair` (in learning) the fact of a
        question is masked, or all facts that link its pair.
        """
        masking = self.worker.weighting.edge_masking
        while len(questions):
            answers = None if mask_pair is None else questions.answers
            flags = False if mask_pair is None else mask_pair
            features = self._gather(ask(self.query, questions.sources, answers, flags, self.exclude_source))
            num = len(features)
            self._num_entries += features.num_entries
            self._num_gathered += num
            now, questions = questions[:num], questions[num:]
            own = None if mask_pair is None else mask_pair[:num]
            mask_pair = None if mask_pair is None else mask_pair[num:]
            yield self._prepare(features, now, masking.filters_of(known, now, own))

    # On the CPU

    def _gather(self, batch: QuestionBatch) -> Any:
        """Return the features of questions, as many as there is room for."""
        return self.worker.walker.gather(self.plans, batch)

    def _prepare(self, features: Any, questions: Questions, filters: Filters) -> Any:
        """Return all that is needed to learn from questions, or to rank their answers."""
        return list_entities(
            (features.entries, features.starts, features.ends),
            (questions.sources, questions.answers),
            filters,
            self.exclude_source,
            self._answers_excluded(questions),
            self._buffer,
        )

    def _answers_excluded(self, questions: Questions) -> Flags:
        """Return which answers are no candidates, so that they rank last."""
        loops = questions.sources == questions.answers
        excluded: Flags = self.worker.weighting.edge_masking.is_linked(questions)
        return excluded | loops if self.exclude_source else excluded

    def _like_values(self, array: Floats) -> Any:
        """Return an array on the device of the weights."""
        return array

    def _count(self, examples: Any) -> None:
        """Count how many entities each rule predicts, and how many of them are right."""
        count_right(examples, self.counts)

    def _fit_batches(self, examples: Any, order: Ids, total: int) -> None:
        """Take a step of Adam for each batch of questions."""
        size = self.config.batch_size
        parameters = self._parameters(self.values), self._parameters(self.gradients)
        state = AdamState(
            self.values, self.gradients, self.first, self.second, self.lower, self.upper, self.penalties
        )
        schedule = Schedule(self.config.learning_rate, self.num_steps, total, self.dropout)
        rest = self.fitted, self.dense, self._buffer
        fit_batches(examples, order, size, parameters, state, schedule, *rest)
        self.num_steps += -(-len(order) // size)

    @property
    def _buffer(self) -> Buffer:
        return self.worker.buffer(self.values.shape[1])

    def _add_removal_losses(self, examples: Any, removal: Floats) -> float:
        """Add by how much the loss rises without each rule; return what all rules explain."""
        weights = self._parameters(self.values)
        loss, dense_loss = add_removal_losses(examples, weights, self.dense, self._buffer, removal)
        return dense_loss - loss

    def _rank(self, examples: Any) -> Floats:
        """Return the realistic ranks of answers, (question, setting)."""
        ranks = np.zeros((len(examples.answers), self.values.shape[1]))
        weights = self._parameters(self.values)
        rank_settings(examples, weights, self.dense.values, self._buffer, ranks)
        return ranks

"""The weights of one query, fitted by Adam on batches of questions, under all penalties at once."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.questions import KnownAnswers, Questions
from .features import ask
from .features_kernels import QuestionBatch
from .fitting_kernels import DenseValues, Examples, Parameters, batch_gradient, count_right, rank_settings
from .kinds import compile_rules, get_kind, is_dense
from .kinds.base import Candidate
from .masking import Filters

if TYPE_CHECKING:
    from .fitting import Worker

#: Added to the wrong predictions of a direct link, so that its odds stay finite.
ODDS_SMOOTHING = 5.0


@dataclass(frozen=True, eq=False)
class FitResult:
    """Weights of one query under every penalty, and the reciprocal ranks of validation under each."""

    rules: tuple[Candidate, ...]
    weights: Floats  # (rule, 3, penalty)
    confidences: Floats  # (rule,)
    reciprocal_ranks: Floats  # (question, penalty)

    @property
    def num_penalties(self) -> int:
        return int(self.weights.shape[2])


class QueryFit:
    """The fit of one query on the CPU. A subclass computes the same on another device.

    Rules with sparse features come first, then the one with a dense feature, if any. `Any` stands for arrays
    and examples that may be on another device.
    """

    def __init__(self, worker: "Worker", query: int, rules: tuple[Candidate, ...]) -> None:
        self.worker, self.query, self.config = worker, query, worker.config
        weighting, num_settings = worker.weighting, len(worker.config.penalties)
        self.rules = tuple(rule for rule in rules if not is_dense(rule))
        self.dense_rule = tuple(rule for rule in rules if is_dense(rule))
        self.plans, dense = compile_rules(weighting.index, query, self.rules + self.dense_rule)
        self.dense = DenseValues(dense.values, dense.masked_values)
        self.exclude_source = not weighting.index.kb.reflexive_relations[query % weighting.num_relations]
        size = 3 * self.num_rules + 1  # the last is the dense term's
        self.penalties = self._penalised()[:, None] * np.array(self.config.penalties)
        self.fixed = self._fixed()
        self.values = np.zeros((size, num_settings))
        self.gradients: Any = np.zeros((size, num_settings))
        self.first, self.second, self.num_steps = np.zeros_like(self.values), np.zeros_like(self.values), 0
        self.counts = np.zeros((self.num_rules, 2), dtype=np.int64)  # predicted, right

    @property
    def num_rules(self) -> int:
        """The number of rules with sparse features."""
        return len(self.rules)

    @property
    def direct_links(self) -> Flags:
        """Which rules are one edge from source to answer."""
        return np.array([get_kind(rule.kind).is_direct_link(rule) for rule in self.rules], dtype=np.bool_)

    def _penalised(self) -> Flags:
        """Return which weights are penalised: all but those of direct links."""
        return np.append(np.repeat(~self.direct_links, 3), True)

    def _fixed(self) -> Ids:
        """Return the weights that stay 0: those of features that a rule's kind does not have."""
        kept = np.array([get_kind(rule.kind).num_features for rule in self.rules], dtype=np.int64)
        return np.flatnonzero(np.arange(3) >= kept[:, None])

    def _rule_weights(self, values: Any) -> Any:
        return values[:-1].reshape(self.num_rules, 3, len(self.config.penalties))

    def _parameters(self, values: Floats) -> Parameters:
        return Parameters(self._rule_weights(values), values[-1])

    # Learning

    def learn(self, questions: Questions) -> None:
        """Fit the weights, on as many questions at a time as there is room for."""
        config, masking = self.config, self.worker.weighting.edge_masking
        num_batches = -(-len(questions) // config.batch_size)
        num_passes = max(2, min(30, -(-config.min_steps // num_batches)))
        rng = np.random.default_rng((config.seed, self.query))
        for examples in self._examples(questions, self.worker.weighting.known, masking.mask_pair(questions)):
            self._count(examples)
            if masking.masking == "both" and not self.num_steps:
                self._initialise_direct_links()
            for _ in range(num_passes):
                order = self._ids(rng.permutation(len(examples.answers)))
                for start in range(0, len(order), config.batch_size):
                    self._gradient(examples, order[start : start + config.batch_size])
                    self._step(num_batches * num_passes)

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
            self._count(examples)
        return self.counts

    @property
    def importance(self) -> Floats:
        """The importance of each rule: its absolute weights, times the root of its right predictions."""
        weights = np.abs(self._rule_weights(self.values)).sum(axis=(1, 2))
        importance: Floats = weights * np.sqrt(self.counts[:, 1])
        return importance

    def _step(self, total: int) -> None:
        """Take one step of Adam; the learning rate falls to a tenth over `total` steps."""
        self.num_steps += 1
        if len(self.fixed):
            self.gradients[self.fixed] = 0.0
        self.gradients += self.penalties * self.values
        self.first += 0.1 * (self.gradients - self.first)
        self.second += 0.001 * (self.gradients**2 - self.second)
        rate = self.config.learning_rate * max(0.1, 1 - 0.9 * self.num_steps / total)
        mean = self.first / (1 - 0.9**self.num_steps)
        variance = self.second / (1 - 0.999**self.num_steps)
        self.values -= rate * mean / (variance**0.5 + 1e-8)

    # Validation

    def validated(self) -> FitResult:
        """Return the weights with the reciprocal ranks of the validation questions."""
        weighting, weights = self.worker.weighting, self._parameters(self.values)
        ranks: list[Floats] = [np.zeros((0, len(weights.dense)))]
        if self.query in weighting.valid:
            examples = self._examples(weighting.valid[self.query], weighting.validation_answers)
            ranks += [self._rank(each) for each in examples]
        confidences = self.counts[:, 1] / np.maximum(self.counts[:, 0], 1)
        dense = np.zeros((len(self.dense_rule), 3, len(weights.dense)))
        dense[:, 0] = weights.dense
        return FitResult(
            self.rules + self.dense_rule,
            np.concatenate([weights.rules, dense]),
            np.append(confidences, np.zeros(len(dense))),
            1.0 / np.concatenate(ranks),
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
        ends = questions.sources, questions.answers
        return Examples(
            features.entries, features.starts, features.ends, *ends, *filters, self.exclude_source
        )

    def _like_values(self, array: Floats) -> Any:
        """Return an array on the device of the weights."""
        return array

    def _ids(self, order: Ids) -> Any:
        """Return the order of a pass on the device of the examples."""
        return order

    def _count(self, examples: Any) -> None:
        """Count how many entities each rule predicts, and how many of them are right."""
        count_right(examples, self.worker.buffer.marks, self.counts)

    def _gradient(self, examples: Any, batch: Any) -> None:
        """Set the gradients to those of a batch's mean loss."""
        weights, gradients = self._parameters(self.values), self._parameters(self.gradients)
        batch_gradient(examples, batch, weights, self.dense, self.worker.buffer, gradients)

    def _rank(self, examples: Any) -> Floats:
        """Return the realistic ranks of answers, (question, setting)."""
        ranks = np.zeros((len(examples.answers), self.values.shape[1]))
        weights = self._parameters(self.values)
        rank_settings(examples, weights, self.dense.values, self.worker.buffer, ranks)
        return ranks

"""Iterative structural gradient (Wang, Mazaitis and Cohen, 2014): add rules with a large gradient, fit again.

A program is a set of weighted chains: score(y | x) = 1 / entities + sum over rules of weight × paths. A rule
outside the program has weight 0, and the loss has a gradient for that weight: where it is negative, adding
the rule lowers the loss. Each round adds the rules with the largest gain and fits all weights again.

Wang et al. try every rule of a few templates. Chains of any length are too many for that, so this search
extends chains step by step: the gradient for the operator of one step, with later steps open, is the gain of
all rules that continue in this way together.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...config import TrainingConfig
from ...controller.attention import Attention
from ...engines import make_engine
from ...engines.base import Engine, QueryBatch
from ...evaluation import evaluate
from ...graph.arrays import Body, Ids
from ...graph.knowledge_base import Split
from ...graph.questions import KnownAnswers, Questions, ask_both_ways
from ...neural.training import TrainingExamples, one_torch_thread
from ...reasoning.reasoner import Reasoner
from ...rules.rule import Rule, RuleSet

NUM_FITTING_STEPS = 150
FITTING_RATE = 0.1
PENALTY = 0.05  # on squared log weights: without it, the weight of a rule without errors diverges


class Chain(NamedTuple):
    """A rule by ids, or during the search the beginning of one."""

    query: int
    body: Body


def fit_isg(
    split: Split,
    seed: int = 0,
    *,
    num_steps: int = 2,
    num_rounds: int = 3,
    rules_per_round: int = 10,
    beam: int = 10,
) -> Reasoner:
    """Return a reasoner with the rules of the round that has the best validation MRR.

    A round adds up to `rules_per_round` rules of at most `num_steps` steps to each query; the search keeps
    `beam` partial chains of each length.
    """
    examples = TrainingExamples.of(split, TrainingConfig(training_masking="train", seed=seed))
    learner = StructuralGradient(examples)
    rounds = [Reasoner(split.known, RuleSet([]))]
    with one_torch_thread():
        for _ in range(num_rounds):
            if not learner.grow(num_steps, rules_per_round, beam):
                break
            learner.refit()
            rounds.append(Reasoner(split.known, learner.rules(split)))
    return max(reversed(rounds[1:] or rounds), key=lambda reasoner: _valid_mrr(reasoner, split))


def _valid_mrr(reasoner: Reasoner, split: Split) -> float:
    num_relations = len(split.relations)
    known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), num_relations)
    return evaluate(reasoner, ask_both_ways(split.valid, num_relations), known).mrr


@dataclass(frozen=True, eq=False)
class PathCounts:
    """Path counts of chains: one entry for each chain with each question of its query."""

    questions: Ids
    chains: Ids
    positives: Tensor  # paths to the answer
    negatives: Tensor  # paths to entities that are not known answers


class StructuralGradient:
    """The rules found so far, their weights, and the search for more."""

    def __init__(self, examples: TrainingExamples) -> None:
        self.operators = examples.operators
        self.known = examples.known
        self.engine: Engine = make_engine("auto", examples.operators)
        self.questions = ask_both_ways(examples.asked, examples.operators.num_relations)
        self.rows_of = _rows_by_query(self.questions)
        self.chains: list[Chain] = []
        self.log_weights = torch.zeros(0, dtype=torch.float64)
        self.counts = self._collect([])

    def grow(self, num_steps: int, rules_per_round: int, beam: int) -> bool:
        """Add to each query the chains with the largest gain; return whether there were any."""
        gains: defaultdict[int, dict[Chain, float]] = defaultdict(dict)
        for length in range(1, num_steps + 1):
            for chain, gain in self._search(length, beam).items():
                gains[chain.query][chain] = gain
        known = set(self.chains)
        new = [chain for found in gains.values() for chain in _best(found, rules_per_round, known)]
        if new:
            self._add(new)
        return bool(new)

    def _search(self, length: int, beam: int) -> dict[Chain, float]:
        """Return chains of one length with a positive gain."""
        gradients = self._score_gradients()
        gains = {Chain(query, ()): 0.0 for query in self.rows_of}
        for _ in range(length):
            gains = self._extend(list(gains), length, gradients, beam)
            if not gains:
                break
        return gains

    def _extend(
        self, chains: Sequence[Chain], length: int, gradients: tuple[Tensor, Tensor], beam: int
    ) -> dict[Chain, float]:
        """Return the best chains of each query that are one step longer; all later steps are open.

        The gain of an open chain counts only paths to answers, since its wrong extensions need not be added.
        """
        step = len(chains[0].body)
        if step < length - 1:
            gradients = gradients[0], torch.zeros_like(gradients[1])
        attention = chain_attention(chains, length, self.operators.num_operators)
        attention.operator.requires_grad_()
        self._gain(chains, attention, gradients).backward()  # type: ignore[no-untyped-call]
        assert attention.operator.grad is not None
        by_operator = attention.operator.grad[0, :, step].numpy()
        found: defaultdict[int, dict[Chain, float]] = defaultdict(dict)
        for row, operator in np.argwhere(by_operator > 0):
            query, body = chains[row]
            found[query][Chain(query, (*body, int(operator)))] = float(by_operator[row, operator])
        return {chain: gains[chain] for gains in found.values() for chain in _best(gains, beam)}

    def _gain(
        self, chains: Sequence[Chain], attention: Attention, gradients: tuple[Tensor, Tensor]
    ) -> Tensor:
        """Return the first-order decrease of the loss for a unit of weight on all chains."""
        found = self._collect(chains, attention)
        positive, negative = (each[torch.from_numpy(found.questions)] for each in gradients)
        return (positive * found.positives - negative * found.negatives).sum()

    def _score_gradients(self) -> tuple[Tensor, Tensor]:
        """Return for each question the gain of a path to its answer, and the cost of a path to a negative."""
        right, negatives = self._scores(self.log_weights)
        return 1 / right - 1 / (right + negatives), 1 / (right + negatives)

    def _add(self, chains: Sequence[Chain]) -> None:
        self.chains += chains
        length = max(len(chain.body) for chain in self.chains)
        attention = chain_attention(self.chains, length, self.operators.num_operators, stop=True)
        with torch.no_grad():
            self.counts = self._collect(self.chains, attention)
        paths = self.counts.positives + self.counts.negatives
        each = torch.zeros(len(self.chains), dtype=torch.float64).index_add(
            0, torch.from_numpy(self.counts.chains), paths
        )
        # A new rule with many paths starts with a small weight.
        start = -torch.log1p(each / len(self.questions))[len(self.log_weights) :]
        self.log_weights = torch.cat([self.log_weights, start])

    def refit(self) -> None:
        """Fit the weights of all rules."""
        weights = self.log_weights.clone().requires_grad_()
        optimizer = torch.optim.Adam([weights], lr=FITTING_RATE)
        for _ in range(NUM_FITTING_STEPS):
            optimizer.zero_grad()
            right, negatives = self._scores(weights)
            loss = PENALTY * weights.square().sum() - (right / (right + negatives)).log().sum()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        self.log_weights = weights.detach()

    def _scores(self, log_weights: Tensor) -> tuple[Tensor, Tensor]:
        """Return the score of each question's answer, and the sum of the scores of its negatives."""
        found, num_entities = self.counts, self.operators.num_entities
        weights = log_weights.exp()[torch.from_numpy(found.chains)]
        questions = torch.from_numpy(found.questions)
        prior = torch.full((len(self.questions),), 1 / num_entities, dtype=torch.float64)
        right = prior.index_add(0, questions, weights * found.positives)
        return right, (1 - prior).index_add(0, questions, weights * found.negatives)

    def _collect(self, chains: Sequence[Chain], attention: Attention | None = None) -> PathCounts:
        """Return the path counts of chains from the sources of their queries; differentiable."""
        none = np.zeros(0, dtype=np.int64)
        rows = [self.rows_of.get(chain.query, none) for chain in chains]
        asked = np.concatenate([none, *rows])
        which = np.repeat(np.arange(len(chains)), [len(each) for each in rows])
        if attention is None or not len(asked):
            nothing = torch.zeros(0, dtype=torch.float64)
            return PathCounts(none, none, nothing, nothing)
        questions = self.questions[asked]
        known_walks, known = self.known.pairs(questions.sources, questions.queries)
        walks = QueryBatch.unmasked(questions.sources, which)
        paths, totals = self.engine.pair_scores(
            attention,
            walks,
            np.concatenate([np.arange(len(asked)), known_walks]),
            np.concatenate([questions.answers, known]),
            normalize=False,
        )
        filtered = totals.new_zeros(len(asked)).index_add(
            0, torch.from_numpy(known_walks), paths[len(asked) :]
        )
        return PathCounts(asked, which, paths[: len(asked)], (totals - filtered).clamp(min=0.0))

    def rules(self, split: Split) -> RuleSet:
        """Return the rules with their weights as confidences, divided by the largest if above 1."""
        name = split.relations.operator_name
        weights = (self.log_weights - self.log_weights.max().clamp(min=0)).exp().tolist()
        largest: defaultdict[int, float] = defaultdict(float)
        for chain, weight in zip(self.chains, weights, strict=True):
            largest[chain.query] = max(largest[chain.query], weight)
        return RuleSet(
            Rule(name(query), tuple(map(name, body)), weight, weight / largest[query])
            for (query, body), weight in zip(self.chains, weights, strict=True)
        )


def chain_attention(
    chains: Sequence[Chain], length: int, num_operators: int, *, stop: bool = False
) -> Attention:
    """Return attention that follows each chain, then every operator equally, up to `length` steps.

    With `stop` it ends with the chain.
    """
    operator = torch.full((1, len(chains), length, num_operators), 1 / num_operators, dtype=torch.float64)
    memory = torch.eye(length + 1, dtype=torch.float64).repeat(1, len(chains), 1, 1)
    for row, chain in enumerate(chains):
        steps = torch.arange(len(chain.body))
        operator[0, row, steps] = 0.0
        operator[0, row, steps, torch.tensor(chain.body, dtype=torch.int64)] = 1.0
        if stop:
            memory[0, row, -1] = memory[0, row, len(chain.body)]
    return Attention(operator, memory)


def _rows_by_query(questions: Questions) -> dict[int, Ids]:
    return {int(query): np.flatnonzero(questions.queries == query) for query in np.unique(questions.queries)}


def _best(gains: dict[Chain, float], num: int, known: Iterable[Chain] = ()) -> list[Chain]:
    """Return the `num` chains with the largest gain that are not known; ties in order of their ids."""
    known = set(known)
    return sorted(gains.keys() - known, key=lambda chain: (-gains[chain], chain))[:num]

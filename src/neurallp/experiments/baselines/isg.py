"""Iterative structural gradient (Wang, Mazaitis and Cohen, 2014): add the rules the loss asks for, refit.

A program is a set of weighted chains: score(y | x) = 1 / entities + sum over rules of weight x paths. A rule
that is not there has weight 0, and the loss has a gradient to that weight all the same: where it is
negative, the loss asks for the rule. Each round adds the rules asked for most and fits all weights anew.

Wang et al. try every rule of a few templates. Chains of any length are too many for that, so ours are
found step by step: the gradient to the operator of one step, the later ones left open, says what all
the rules that go on in this way are worth together.
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
PENALTY = 0.05  # on squared log weights: a rule that is never wrong would grow without end


class Chain(NamedTuple):
    """A rule by ids; as long as it is being searched for, the beginning of one."""

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
    """Return a reasoner over the rules found, of the round that validates best.

    A round adds up to `rules_per_round` rules of at most `num_steps` steps to each query; the search keeps
    `beam` beginnings of each length.
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
class Evidence:
    """What chains say about questions: one entry for each chain with each question of its query."""

    questions: Ids
    chains: Ids
    right: Tensor  # paths to the answer
    negatives: Tensor  # paths to what is not known to be an answer


class StructuralGradient:
    """Rules so far, their weights, and the search for more."""

    def __init__(self, examples: TrainingExamples) -> None:
        self.operators = examples.operators
        self.known = examples.known
        self.engine: Engine = make_engine("auto", examples.operators)
        self.questions = ask_both_ways(examples.asked, examples.operators.num_relations)
        self.rows_of = _rows_by_query(self.questions)
        self.chains: list[Chain] = []
        self.log_weights = torch.zeros(0, dtype=torch.float64)
        self.evidence = self._collect([])

    def grow(self, num_steps: int, rules_per_round: int, beam: int) -> bool:
        """Add to each query the chains asked for most; return whether there were any."""
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
        """Return chains of one length that the loss asks for, with how much."""
        wanted = self._demand()
        gains = {Chain(query, ()): 0.0 for query in self.rows_of}
        for _ in range(length):
            gains = self._take_step(list(gains), length, wanted, beam)
            if not gains:
                break
        return gains

    def _take_step(
        self, chains: Sequence[Chain], length: int, wanted: tuple[Tensor, Tensor], beam: int
    ) -> dict[Chain, float]:
        """Return the best chains of each query that are one step longer; all later steps are open.

        An open chain is judged by the right paths it can still become: those that mislead need not be added.
        """
        step = len(chains[0].body)
        if step < length - 1:
            wanted = wanted[0], torch.zeros_like(wanted[1])
        attention = chain_attention(chains, length, self.operators.num_operators)
        attention.operator.requires_grad_()
        self._worth(chains, attention, wanted).backward()  # type: ignore[no-untyped-call]
        assert attention.operator.grad is not None
        by_operator = attention.operator.grad[0, :, step].numpy()
        found: defaultdict[int, dict[Chain, float]] = defaultdict(dict)
        for row, operator in np.argwhere(by_operator > 0):
            query, body = chains[row]
            found[query][Chain(query, (*body, int(operator)))] = float(by_operator[row, operator])
        return {chain: gains[chain] for gains in found.values() for chain in _best(gains, beam)}

    def _worth(self, chains: Sequence[Chain], attention: Attention, wanted: tuple[Tensor, Tensor]) -> Tensor:
        """Return by how much the loss would fall for a unit of weight on all chains, to first order."""
        found = self._collect(chains, attention)
        to_right, to_rivals = (each[torch.from_numpy(found.questions)] for each in wanted)
        return (to_right * found.right - to_rivals * found.negatives).sum()

    def _demand(self) -> tuple[Tensor, Tensor]:
        """Return what a path to the answer is worth to each question, and what one to a rival costs."""
        right, negatives = self._scores(self.log_weights)
        return 1 / right - 1 / (right + negatives), 1 / (right + negatives)

    def _add(self, chains: Sequence[Chain]) -> None:
        self.chains += chains
        length = max(len(chain.body) for chain in self.chains)
        attention = chain_attention(self.chains, length, self.operators.num_operators, stop=True)
        with torch.no_grad():
            self.evidence = self._collect(self.chains, attention)
        paths = self.evidence.right + self.evidence.negatives
        each = torch.zeros(len(self.chains), dtype=torch.float64).index_add(
            0, torch.from_numpy(self.evidence.chains), paths
        )
        # The more paths a new rule has, the less weight each starts with.
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
        """Return what all rules together give the answer of each question, and all its rivals."""
        found, num_entities = self.evidence, self.operators.num_entities
        weights = log_weights.exp()[torch.from_numpy(found.chains)]
        questions = torch.from_numpy(found.questions)
        prior = torch.full((len(self.questions),), 1 / num_entities, dtype=torch.float64)
        right = prior.index_add(0, questions, weights * found.right)
        return right, (1 - prior).index_add(0, questions, weights * found.negatives)

    def _collect(self, chains: Sequence[Chain], attention: Attention | None = None) -> Evidence:
        """Return where chains lead from the sources of their queries; with gradients to `attention`."""
        none = np.zeros(0, dtype=np.int64)
        rows = [self.rows_of.get(chain.query, none) for chain in chains]
        asked = np.concatenate([none, *rows])
        which = np.repeat(np.arange(len(chains)), [len(each) for each in rows])
        if attention is None or not len(asked):
            nothing = torch.zeros(0, dtype=torch.float64)
            return Evidence(none, none, nothing, nothing)
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
        excused = totals.new_zeros(len(asked)).index_add(
            0, torch.from_numpy(known_walks), paths[len(asked) :]
        )
        return Evidence(asked, which, paths[: len(asked)], (totals - excused).clamp(min=0.0))

    def rules(self, split: Split) -> RuleSet:
        """Return the rules with their weights as confidences."""
        name = split.relations.operator_name
        weights = self.log_weights.exp().tolist()
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
    """Return attention that follows each chain, then takes every operator alike up to `length` steps.

    With `stop` it ends where the chain ends.
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
    """Return the chains asked for most that are not known; ties in order of their ids."""
    known = set(known)
    return sorted(gains.keys() - known, key=lambda chain: (-gains[chain], chain))[:num]

"""Training on long paths of a grid: how it differs from the defaults (figures in docs/results.md).

- The rows of the query embedding are long: rows of length 1 hardly change the controller's gates.
- The operator weights are small, so that attention is nearly uniform at first, and pairs at the edge of the
  map, which distinguish right paths from wrong ones, are seen before a step prefers an operator.
- Queries that one training run does not solve are trained again, without the others and with another seed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..controller.attention import Attention
from ..engines import make_engine
from ..evaluation import Evaluation, Scorer, per_relation, rank_questions
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, ask_both_ways
from ..graph.scores import Scores
from ..neural.loop import TrainingLoop
from ..neural.model import ModelScorer, NeuralLP
from ..pipeline.callbacks import Callbacks
from ..pipeline.learn import learn

SETTINGS: dict[str, Any] = {
    "num_epochs": 20,
    "patience": 20,
    "learning_rate": 0.005,
    "training_masking": "train",
}

#: A batch holds this many questions of each query, so that few queries learn in as many steps as many.
QUESTIONS_PER_QUERY = 6

#: The loss below which a run that ranks all pairs first may stop: each query then has one clear rule.
SETTLED = 0.1

#: The initial length of the rows of the query embedding; the default is 1.
QUERY_NORM = 11.0

#: The factor of the initial operator weights.
OPERATOR_SCALE = 0.1


class Starts:
    """Models of the same queries; each query is answered by the model that validates best on it."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.num = 0
        # Only the facts of the map: the pairs of a query must not be edges.
        operators = Operators.of_facts(split.facts, len(split.entities), len(split.relations))
        self.engine = make_engine("auto", operators)
        self._models: dict[int, NeuralLP] = {}
        self._mrr = dict.fromkeys(np.unique(ask_both_ways(split.train, len(split.relations)).queries), -1.0)

    @property
    def unsolved(self) -> set[int]:
        """The relations with a training pair that is not ranked first, in either direction."""
        return {int(query) % len(self.split.relations) for query, mrr in self._mrr.items() if mrr < 1}

    def add(self, model: NeuralLP, part: Split) -> None:
        """Use `model` for the queries on which it validates better than those before."""
        self.num += 1
        found = evaluate_queries(ModelScorer(model, self.engine), part, part.valid)
        for query, evaluation in found.items():
            if evaluation.mrr > self._mrr[query]:
                self._mrr[query], self._models[query] = evaluation.mrr, model

    def model(self, query: int) -> NeuralLP:
        """Return the model that answers a query."""
        return self._models[query]

    @torch.no_grad()
    def certainty(self, query: int) -> float:
        """Return the confidence of the rule with the largest operator and memory attention at each step."""
        likeliest = [each.max(-1).values.prod(-1) for each in self.attend(np.array([query])).pair]
        return float((likeliest[0] * likeliest[1]).max())

    def attend(self, queries: Ids) -> Attention:
        """Return the attention of distinct queries, each from its model."""
        found = [self._models[query].attend(np.array([query])) for query in queries.tolist()]
        return Attention(
            torch.cat([each.operator for each in found], dim=1),
            torch.cat([each.memory for each in found], dim=1),
        )

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        anyone = next(iter(self._models.values()))
        return anyone.scores(self.engine, sources, queries, self.attend)


def learn_paths(split: Split, num_steps: int, seed: int, max_starts: int, *, plain: bool = False) -> Starts:
    """Return the models after all queries are solved, or after `max_starts` runs."""
    starts = Starts(split)
    for start in range(max_starts):
        if not starts.unsolved:
            break
        part = _about(split, starts.unsolved)
        starts.add(_learn_once(part, num_steps, max_starts * seed + start, plain), part)
    return starts


def _about(split: Split, relations: set[int]) -> Split:
    """Return the split with the pairs of some queries only; the training pairs are validated too."""
    train, valid, test = (
        triples[np.isin(triples[:, 1], list(relations))] for triples in (split.train, split.valid, split.test)
    )
    return replace(split, train=train, valid=np.concatenate([train, valid]), test=test)


class _StopWhenSolved(Callbacks):
    """Initialise the model for long rules unless `plain`, and stop when all pairs are right and settled."""

    def __init__(self, plain: bool) -> None:
        self.plain = plain
        self.solved: NeuralLP | None = None

    def on_training(self, training: TrainingLoop[Any, Any]) -> None:
        if not self.plain:
            initialise_for_long_rules(training.model)

    def on_epoch(self, training: TrainingLoop[Any, Any]) -> None:
        last = training.history[-1]
        if last.valid_mrr == 1.0 and last.loss < SETTLED:
            self.solved = training.model

    def should_stop(self) -> bool:
        return self.solved is not None


def _learn_once(part: Split, num_steps: int, seed: int, plain: bool) -> NeuralLP:
    """Return the model that solved all queries, or the best one on validation."""
    batch_size = QUESTIONS_PER_QUERY * len(np.unique(part.train[:, 1]))
    callbacks = _StopWhenSolved(plain)
    settings = {**SETTINGS, "num_steps": num_steps, "seed": seed, "batch_size": batch_size}
    program = learn(part, weigh=False, callbacks=callbacks, **settings)
    return callbacks.solved or program.model


@torch.no_grad()
def initialise_for_long_rules(model: NeuralLP) -> None:
    """Lengthen the rows of the query embedding, and shrink the operator weights."""
    model.controller.embedding.weight.mul_(QUERY_NORM)
    for controller in model.controller.controllers:
        controller.operator.weight.mul_(OPERATOR_SCALE)  # type: ignore[union-attr, operator]


def evaluate_queries(scorer: Scorer, split: Split, triples: Ids) -> dict[int, Evaluation]:
    """Return the measures of each query; those of inverses are separate."""
    questions = ask_both_ways(triples, len(split.relations))
    known = KnownAnswers(split.true_triples, len(split.relations))
    ranks = rank_questions(scorer, questions, known)
    return per_relation(ranks, questions, split.relations.num_operators)

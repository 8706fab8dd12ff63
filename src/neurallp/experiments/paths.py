"""Learning rules as long as a path on a grid: what it takes beside the defaults (figures in docs/results.md).

- Queries begin far apart: unit rows of the embedding hardly move the controller's gates.
- Operators begin nearly alike at every step, so that pairs at the edge of the map, which tell good paths from
  bad ones, are seen before a step has made up its mind.
- What a start does not solve is begun anew, by itself and with another seed.
"""

from dataclasses import replace
from typing import Any

import numpy as np
import torch

from ..config import configure
from ..controller.attention import Attention
from ..engines import make_engine
from ..evaluation import Evaluation, Scorer, per_relation, rank_questions
from ..graph.arrays import Ids
from ..graph.knowledge_base import Split
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, ask_both_ways
from ..graph.scores import Scores
from ..neural.model import ModelScorer, NeuralLP
from ..pipeline.learn import finish, prepare

SETTINGS: dict[str, Any] = {
    "num_epochs": 20,
    "patience": 20,
    "learning_rate": 0.005,
    "training_masking": "train",
}

#: A batch holds this many questions of each query, so that few queries learn in as many steps as many.
QUESTIONS_PER_QUERY = 6

#: The loss below which a start that gets all pairs right may end: its rules can be read.
SETTLED = 0.1

#: How long the rows of the query embedding begin, where the default is 1.
QUERY_NORM = 11.0

#: What the weights of the operators are multiplied by before learning begins.
OPERATOR_SCALE = 0.1


class Starts:
    """Models of the same queries; each query is answered by the one that knows it best."""

    def __init__(self, split: Split) -> None:
        self.split = split
        self.num = 0
        # The map alone: pairs of a query must not lead to each other.
        operators = Operators.of_facts(split.facts, len(split.entities), len(split.relations))
        self.engine = make_engine("auto", operators)
        self._models: dict[int, NeuralLP] = {}
        self._mrr = dict.fromkeys(np.unique(ask_both_ways(split.train, len(split.relations)).queries), -1.0)

    @property
    def unsolved(self) -> set[int]:
        """The relations that are not right about all pairs to learn from, one way or the other."""
        return {int(query) % len(self.split.relations) for query, mrr in self._mrr.items() if mrr < 1}

    def add(self, model: NeuralLP, part: Split) -> None:
        """Take `model` for the queries that it knows better than those before; test is not looked at."""
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
        """Return the confidence of the rule that takes the likeliest operator and memory at each step."""
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


def learn_paths(split: Split, num_steps: int, seed: int, most_starts: int, *, plain: bool = False) -> Starts:
    """Return what was learned when all queries are solved, or after `most_starts`."""
    starts = Starts(split)
    for start in range(most_starts):
        if not starts.unsolved:
            break
        part = _about(split, starts.unsolved)
        starts.add(_learn_once(part, num_steps, most_starts * seed + start, plain), part)
    return starts


def _about(split: Split, relations: set[int]) -> Split:
    """Return the split with the pairs of some queries only; what is learned from is validated too."""
    train, valid, test = (
        triples[np.isin(triples[:, 1], list(relations))] for triples in (split.train, split.valid, split.test)
    )
    return replace(split, train=train, valid=np.concatenate([train, valid]), test=test)


def _learn_once(part: Split, num_steps: int, seed: int, plain: bool) -> NeuralLP:
    batch_size = QUESTIONS_PER_QUERY * len(np.unique(part.train[:, 1]))
    configs = configure(num_steps=num_steps, seed=seed, batch_size=batch_size, **SETTINGS)
    training = prepare(part, *configs)
    if not plain:
        begin_apart(training.model)
    for epoch in training.epochs():
        if epoch.valid_mrr == 1.0 and epoch.loss < SETTLED:
            return training.model
    return finish(training).model


@torch.no_grad()
def begin_apart(model: NeuralLP) -> None:
    """Move queries apart, and let operators begin alike at all steps."""
    model.controller.embedding.weight.mul_(QUERY_NORM)
    for controller in model.controller.controllers:
        controller.operator.weight.mul_(OPERATOR_SCALE)  # type: ignore[union-attr, operator]


def evaluate_queries(scorer: Scorer, split: Split, triples: Ids) -> dict[int, Evaluation]:
    """Return the measures of each query, and of its inverse apart from it."""
    questions = ask_both_ways(triples, len(split.relations))
    known = KnownAnswers(split.true_triples, len(split.relations))
    ranks = rank_questions(scorer, questions, known)
    return per_relation(ranks, questions, split.relations.num_operators)

"""Node+LinkFeat (Toutanova and Chen, 2015): direct links between two entities, and frequent answers.

p(y | x, q) = softmax of bias(q, y) + the sum of weight(q, k) over the operators k that lead from x to y.
The fact asked for is masked.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from ...graph.arrays import Ids
from ...graph.knowledge_base import Split
from ...graph.operators import Operators
from ...graph.questions import Questions, ask_both_ways
from ...graph.scores import Scores
from ...neural.training import one_torch_thread

#: A batch has at least this many questions, and at least this fraction of all.
MIN_BATCH, MIN_BATCH_FRACTION = 256, 0.01

#: Penalties on squared weights of links and on squared biases. Few questions determine a bias, so it needs
#: the larger penalty.
LINK_PENALTY, BIAS_PENALTY = 1e-3, 1.0

# Totals are clamped before the logarithm: rounding can make them 0.
MIN_TOTAL = 1e-6


class Links(NamedTuple):
    """The edges out of the sources of some questions, sorted by row and target."""

    rows: Ids
    operators: Ids
    targets: Ids


class NodeLink(torch.nn.Module):
    """The log-linear model: a bias for each query and entity, a weight for each query and operator."""

    def __init__(self, operators: Operators) -> None:
        super().__init__()
        self.offsets, self.num_entities = operators.offsets, operators.num_entities
        order = np.lexsort((operators.operators, operators.targets, operators.sources))
        self.edge_operators, self.edge_targets = operators.operators[order], operators.targets[order]
        self.bias = torch.nn.Parameter(torch.zeros(operators.num_operators, operators.num_entities))
        self.weight = torch.nn.Parameter(torch.zeros(operators.num_operators, operators.num_operators))

    @torch.no_grad()
    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        dense = self.bias[torch.from_numpy(queries)].numpy()
        links = self._links(sources)
        weights = self.weight.numpy()[queries[links.rows], links.operators]
        np.add.at(dense, (links.rows, links.targets), weights)
        return Scores.of_dense(dense)

    def penalty(self) -> Tensor:
        """Return the penalty that is added to the loss of all questions."""
        return LINK_PENALTY * self.weight.square().sum() + BIAS_PENALTY * self.bias.square().sum()

    def log_likelihood(self, questions: Questions) -> Tensor:
        """Return log p(answer) of each question, with its own fact masked.

        The sum over all entities is shared by all questions of a query, except for entities that are linked.
        """
        queries, answers = torch.from_numpy(questions.queries), torch.from_numpy(questions.answers)
        rows, entities, linked = self._linked(questions)
        more = self.bias[queries[rows], entities].exp() * linked.expm1()
        distinct, place = np.unique(questions.queries, return_inverse=True)
        total = self.bias[distinct].exp().sum(1)[place].index_add(0, rows, more)
        is_answer = entities == answers[rows]
        right = self.bias[queries, answers].index_add(0, rows[is_answer], linked[is_answer])
        return right - total.clamp(min=MIN_TOTAL).log()

    def _linked(self, questions: Questions) -> tuple[Tensor, Tensor, Tensor]:
        """Return the distinct linked (row, entity) pairs, and the sums of the weights of their links."""
        links = self._links(questions.sources)
        queries, answers = questions.queries[links.rows], questions.answers[links.rows]
        unmasked = (links.operators != queries) | (links.targets != answers)
        keys = links.rows[unmasked] * self.num_entities + links.targets[unmasked]
        is_new = np.diff(keys, prepend=-1) != 0
        weights = self.weight[queries[unmasked], links.operators[unmasked]]
        place = torch.from_numpy(np.cumsum(is_new) - 1)
        sums = weights.new_zeros(int(is_new.sum())).index_add(0, place, weights)
        rows, entities = np.divmod(keys[is_new], self.num_entities)
        return torch.from_numpy(rows), torch.from_numpy(entities), sums

    def _links(self, sources: Ids) -> Links:
        start = self.offsets[sources]
        count = self.offsets[sources + 1] - start
        rows = np.repeat(np.arange(len(sources)), count)
        edges = np.repeat(start - np.cumsum(count) + count, count) + np.arange(len(rows))
        return Links(rows, self.edge_operators[edges], self.edge_targets[edges])


def fit_node_link(
    split: Split, seed: int = 0, *, num_epochs: int = 5, learning_rate: float = 0.05
) -> NodeLink:
    """Return the model fitted to facts and train."""
    asked = ask_both_ways(split.known.facts, len(split.relations))
    model = NodeLink(Operators.of(split.known))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    with one_torch_thread():
        for batch in _batches(asked, num_epochs, np.random.default_rng(seed)):
            optimizer.zero_grad()
            loss = model.penalty() / len(asked) - model.log_likelihood(batch).mean()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model


def _batches(asked: Questions, num_epochs: int, rng: np.random.Generator) -> Iterator[Questions]:
    size = max(MIN_BATCH, round(MIN_BATCH_FRACTION * len(asked)))
    for _ in range(num_epochs):
        order = rng.permutation(len(asked))
        for start in range(0, len(order), size):
            yield asked[order[start : start + size]]

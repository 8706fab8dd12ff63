"""Node+LinkFeat (Toutanova and Chen, 2015): which links there are between two entities, and who answers often.

p(y | x, q) = softmax of bias(q, y) + the sum of weight(q, k) over the operators k that lead from x to y.
The asked fact itself is no link.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..engine import Operators, Scores
from ..knowledge import Ids, Questions, Split, ask_both_ways
from ..training import one_torch_thread

QUESTIONS_AT_ONCE = 256
WEIGHT_PENALTY = 1e-3


class NodeLink(torch.nn.Module):
    """The log-linear model: a bias for each query and entity, a weight for each query and operator."""

    def __init__(self, operators: Operators, asked: Questions) -> None:
        super().__init__()
        self.operators = operators
        counts = np.zeros((operators.num_operators, operators.num_entities), dtype=np.float32)
        np.add.at(counts, (asked.queries, asked.answers), 1)
        # The best bias without any links, up to a constant: one answer more than counted, at a hundredth.
        self.bias = torch.nn.Parameter(torch.from_numpy(np.log(counts + 0.01)))
        self.weight = torch.nn.Parameter(torch.zeros(operators.num_operators, operators.num_operators))

    def links(self, sources: Ids) -> tuple[Ids, Ids]:
        """Return the edges out of each source as (row, edge)."""
        start, stop = self.operators.offsets[sources], self.operators.offsets[sources + 1]
        count = stop - start
        rows = np.repeat(np.arange(len(sources)), count)
        within = np.arange(len(rows)) - np.repeat(np.cumsum(count) - count, count)
        return rows, np.repeat(start, count) + within

    def log_likelihood(self, questions: Questions) -> Tensor:
        """Return log p(answer) of each question, its own fact hidden.

        Few entities are linked to a source: the sum over the others is the same for all questions of a query.
        """
        pairs, links = self._linked(questions)
        queries = torch.from_numpy(questions.queries)
        rows, entities = (torch.from_numpy(ids) for ids in pairs)
        bias = self.bias[queries[rows], entities]
        distinct, place = queries.unique(return_inverse=True)
        unlinked = self.bias[distinct].exp().sum(1)[place]
        more = bias.exp() * links.expm1()
        total = unlinked.index_add(0, rows, more)
        is_answer = entities == torch.from_numpy(questions.answers)[rows]
        right = self.bias[queries, torch.from_numpy(questions.answers)]
        right = right.index_add(0, rows[is_answer], links[is_answer])
        return right - total.clamp(min=1e-6).log()

    def _linked(self, questions: Questions) -> tuple[tuple[Ids, Ids], Tensor]:
        """Return the distinct (row, entity) that are linked, and the sum of their links' weights."""
        rows, edges = self.links(questions.sources)
        kinds, targets = self.operators.operators[edges], self.operators.targets[edges]
        hidden = (kinds == questions.queries[rows]) & (targets == questions.answers[rows])
        rows, kinds, targets = rows[~hidden], kinds[~hidden], targets[~hidden]
        keys, place = np.unique(rows * self.operators.num_entities + targets, return_inverse=True)
        weights = self.weight[torch.from_numpy(questions.queries[rows]), torch.from_numpy(kinds)]
        sums = weights.new_zeros(len(keys)).index_add(0, torch.from_numpy(place), weights)
        return tuple(np.divmod(keys, self.operators.num_entities)), sums  # type: ignore[return-value]

    @torch.no_grad()
    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        dense = self.bias[torch.from_numpy(queries)].numpy()
        rows, edges = self.links(sources)
        kinds, targets = self.operators.operators[edges], self.operators.targets[edges]
        np.add.at(dense, (rows, targets), self.weight.numpy()[queries[rows], kinds])
        return Scores.of_dense(dense)


def fit_node_link(
    split: Split, seed: int = 0, *, num_epochs: int = 20, learning_rate: float = 0.05
) -> NodeLink:
    """Return the model fitted to facts and train."""
    asked = ask_both_ways(split.known.facts, len(split.relations))
    rng = np.random.default_rng(seed)
    with one_torch_thread():
        model = NodeLink(Operators.of(split.known), asked)
        optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
        for batch in _batches(asked, num_epochs, rng):
            optimizer.zero_grad()
            loss = -model.log_likelihood(batch).mean() + WEIGHT_PENALTY * model.weight.square().sum() / len(batch)
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
    return model


def _batches(asked: Questions, num_epochs: int, rng: np.random.Generator) -> Iterator[Questions]:
    for _ in range(num_epochs):
        order = rng.permutation(len(asked))
        for start in range(0, len(order), QUESTIONS_AT_ONCE):
            yield asked[order[start : start + QUESTIONS_AT_ONCE]]

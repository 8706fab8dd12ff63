"""Embeddings of entities, models of PyKEEN: TransE, DistMult and the Neural Tensor Network."""

from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from itertools import count, islice
from typing import Any

import numpy as np
import torch

from ...errors import import_extra
from ...evaluation import evaluate
from ...graph.arrays import Ids
from ...graph.knowledge_base import Split
from ...graph.questions import KnownAnswers, ask_both_ways
from ...graph.scores import Scores
from ...io.triples.graphs import to_pykeen
from ...neural.training import one_torch_thread

#: Questions scored at a time; the tensor network needs memory for each question and entity.
QUESTIONS_AT_ONCE = 64

#: A batch has at least this many triples, and at least this fraction of all.
MIN_BATCH, MIN_BATCH_FRACTION = 64, 0.01

#: Epochs between validations, triples of a validation, validations without progress before fitting stops.
EPOCHS_PER_VALIDATION, NUM_VALIDATED, PATIENCE = 5, 500, 5

#: The score of masked negatives, which contribute nothing to the loss.
MASKED_SCORE = -1e4


@dataclass(frozen=True)
class Recipe:
    """How a model of PyKEEN is fitted, as chosen on the validation of WN18, FB15K-237 and WN18RR."""

    model: str
    settings: Mapping[str, Any]
    learning_rate: float
    num_negatives: int  # entities sampled for each batch, as wrong heads and tails of its triples


# Embeddings of entities are unconstrained; PyKEEN's default is the unit sphere.
TRANSE = Recipe(
    "TransE",
    {"loss": "nssa", "loss_kwargs": {"margin": 9.0}, "entity_constrainer": None},
    learning_rate=0.003,
    num_negatives=64,
)
DISTMULT = Recipe("DistMult", {"loss": "crossentropy", "entity_constrainer": None}, 0.003, num_negatives=1000)
# PyKEEN's default initialisation saturates every unit of the layer. The learning rate matters most: the MRR
# on WN18's validation after 9 epochs is .517, with .003 .114.
NTN = Recipe(
    "NTN",
    {"loss": "crossentropy", "entity_initializer": "normal_norm_", "non_linearity": "leakyrelu"},
    learning_rate=0.01,
    num_negatives=1000,
)


@dataclass(frozen=True, eq=False)
class EmbeddingScorer:
    """A fitted model of PyKEEN; the question (t, ~r) is scored as the heads of (?, r, t)."""

    model: Any
    num_entities: int
    num_relations: int

    @torch.no_grad()
    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        dense = np.empty((len(sources), self.num_entities), dtype=np.float32)
        is_inverse = queries >= self.num_relations
        with one_torch_thread():
            for rows, score in ((~is_inverse, self._score_tails), (is_inverse, self._score_heads)):
                for some in _chunks(np.flatnonzero(rows)):
                    asked = torch.from_numpy(sources[some]), torch.from_numpy(queries[some])
                    dense[some] = score(*asked).cpu().numpy()
        return Scores.of_dense(dense)

    def _score_tails(self, sources: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.model.predict_t(torch.stack([sources, queries], dim=1))
        return found

    def _score_heads(self, sources: torch.Tensor, queries: torch.Tensor) -> torch.Tensor:
        pairs = torch.stack([queries - self.num_relations, sources], dim=1)
        found: torch.Tensor = self.model.predict_h(pairs)
        return found


def _chunks(rows: Ids) -> list[Ids]:
    return [rows[start : start + QUESTIONS_AT_ONCE] for start in range(0, len(rows), QUESTIONS_AT_ONCE)]


def fit_transe(
    split: Split, seed: int = 0, *, dimension: int = 200, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return TransE: the tail is near the head plus the relation."""
    return _fit(TRANSE, split, seed, num_epochs, device, embedding_dim=dimension)


def fit_distmult(
    split: Split, seed: int = 0, *, dimension: int = 200, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return DistMult: the sum over dimensions of head × relation × tail."""
    return _fit(DISTMULT, split, seed, num_epochs, device, embedding_dim=dimension)


def fit_ntn(
    split: Split,
    seed: int = 0,
    *,
    dimension: int = 32,
    num_slices: int = 2,
    num_epochs: int = 40,
    device: str = "cpu",
) -> EmbeddingScorer:
    """Return a Neural Tensor Network: a bilinear layer for each relation."""
    return _fit(NTN, split, seed, num_epochs, device, embedding_dim=dimension, num_slices=num_slices)


def _fit(
    recipe: Recipe, split: Split, seed: int, num_epochs: int, device: str, **sizes: int
) -> EmbeddingScorer:
    """Return a model fitted to facts and train for at most `num_epochs`; the best epoch on validation."""
    make_model = getattr(import_extra("pykeen.models", "baselines"), recipe.model)
    factory = to_pykeen(split.known)
    with one_torch_thread():
        model = make_model(triples_factory=factory, random_seed=seed, **recipe.settings, **sizes).to(device)
        scorer = EmbeddingScorer(model, len(split.entities), len(split.relations))
        epochs = _epochs(model, split.known.facts, recipe, seed)
        _keep_best(model, islice(epochs, num_epochs), _validator(split, scorer))
    return scorer


def _epochs(model: Any, facts: Ids, recipe: Recipe, seed: int) -> Iterator[int]:
    """Train without end, and yield the number of each epoch when it is over."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    size = max(MIN_BATCH, round(MIN_BATCH_FRACTION * len(facts)))
    num_sampled = min(recipe.num_negatives, model.num_entities)
    for number in count(1):
        model.train()
        order = rng.permutation(len(facts))
        for start in range(0, len(order), size):
            batch = facts[order[start : start + size]]
            sampled = rng.choice(model.num_entities, num_sampled, replace=False)
            loss = _loss(model, *(torch.from_numpy(ids).to(model.device) for ids in (batch, sampled)))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            model.post_parameter_update()
        yield number


def _loss(model: Any, triples: torch.Tensor, sampled: torch.Tensor) -> torch.Tensor:
    """Return the loss between positive triples and triples with a sampled head or tail."""
    right = model.score_hrt(triples)
    wrong_heads = model.score_h(triples[:, 1:], heads=sampled)
    wrong_tails = model.score_t(triples[:, :2], tails=sampled)
    total: torch.Tensor = model.collect_regularization_term()
    for end, wrong in ((0, wrong_heads), (2, wrong_tails)):
        others = wrong.masked_fill(sampled == triples[:, [end]], MASKED_SCORE)
        total = total + model.loss.process_slcwa_scores(right, others)
    return total


def _validator(split: Split, scorer: EmbeddingScorer) -> Callable[[], float]:
    """Return a function that computes the MRR of a fixed sample of validation triples (0 if none)."""
    chosen = np.random.default_rng(0).permutation(len(split.valid))[:NUM_VALIDATED]
    questions = ask_both_ways(split.valid[chosen], len(split.relations))
    known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), len(split.relations))
    return lambda: evaluate(scorer, questions, known).mrr if len(questions) else 0.0


def _keep_best(model: Any, epochs: Iterator[int], validate: Callable[[], float]) -> None:
    """Train until the validation MRR stops improving, and load the best (or else last) weights."""
    best, num_worse, weights = 0.0, 0, model.state_dict()
    while num_worse < PATIENCE and [*islice(epochs, EPOCHS_PER_VALIDATION)]:
        if (mrr := validate()) >= best:
            best, num_worse, weights = mrr, 0, deepcopy(model.state_dict())
        else:
            num_worse += 1
    model.load_state_dict(weights)

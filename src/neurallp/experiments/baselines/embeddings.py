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

#: Questions scored at a time: a tensor network holds some numbers for each question and entity.
QUESTIONS_AT_ONCE = 64

#: A batch holds at least this many triples, and no less than this share of all.
FEWEST_TRIPLES, SMALLEST_SHARE = 64, 0.01

#: So many epochs lie between two looks at validation, at so many of its triples; after so many looks
#: without a better one fitting ends.
EPOCHS_AT_ONCE, NUM_JUDGED, PATIENCE = 5, 500, 5

#: The score of what cannot be: it has no share in any loss.
NEVER = -1e4


@dataclass(frozen=True)
class Recipe:
    """How a model of PyKEEN is fitted, as chosen on the validation of WN18, FB15K-237 and WN18RR."""

    model: str
    settings: Mapping[str, Any]
    learning_rate: float
    num_negatives: int  # entities drawn for each batch, to be wrong at either end of its triples


# Entities of both are free, where PyKEEN would keep them on the unit sphere.
TRANSE = Recipe(
    "TransE",
    {"loss": "nssa", "loss_kwargs": {"margin": 9.0}, "entity_constrainer": None},
    learning_rate=0.003,
    num_negatives=64,
)
DISTMULT = Recipe("DistMult", {"loss": "crossentropy", "entity_constrainer": None}, 0.003, num_negatives=1000)
# PyKEEN would start with entities so large that every unit of the layer is saturated. The rate matters most:
# MRR .517 after 9 epochs on the validation of WN18, with .003 .114.
NTN = Recipe(
    "NTN",
    {"loss": "crossentropy", "entity_initializer": "normal_norm_", "non_linearity": "leakyrelu"},
    learning_rate=0.01,
    num_negatives=1000,
)


@dataclass(frozen=True, eq=False)
class EmbeddingScorer:
    """A fitted model of PyKEEN; (?, r, t) is asked as (t, ~r), and answered by its scores of heads."""

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
                for some in _portions(np.flatnonzero(rows)):
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


def _portions(rows: Ids) -> list[Ids]:
    return [rows[start : start + QUESTIONS_AT_ONCE] for start in range(0, len(rows), QUESTIONS_AT_ONCE)]


def fit_transe(
    split: Split, seed: int = 0, *, dimension: int = 200, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return TransE: the tail lies where the relation moves the head."""
    return _fit(TRANSE, split, seed, num_epochs, device, embedding_dim=dimension)


def fit_distmult(
    split: Split, seed: int = 0, *, dimension: int = 200, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return DistMult: the product of head, relation and tail, summed over dimensions."""
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
    """Return a Neural Tensor Network: a layer of bilinear forms for each relation."""
    return _fit(NTN, split, seed, num_epochs, device, embedding_dim=dimension, num_slices=num_slices)


def _fit(
    recipe: Recipe, split: Split, seed: int, num_epochs: int, device: str, **sizes: int
) -> EmbeddingScorer:
    """Return a model fitted to facts and train, the best epoch on validation, `num_epochs` at most."""
    make_model = getattr(import_extra("pykeen.models", "baselines"), recipe.model)
    factory = to_pykeen(split.known)
    with one_torch_thread():
        model = make_model(triples_factory=factory, random_seed=seed, **recipe.settings, **sizes).to(device)
        scorer = EmbeddingScorer(model, len(split.entities), len(split.relations))
        epochs = _epochs(model, split.known.facts, recipe, seed)
        _keep_best(model, islice(epochs, num_epochs), _judge(split, scorer))
    return scorer


def _epochs(model: Any, facts: Ids, recipe: Recipe, seed: int) -> Iterator[int]:
    """Yield after each epoch its number, without end."""
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=recipe.learning_rate, fused=True)
    size = max(FEWEST_TRIPLES, round(SMALLEST_SHARE * len(facts)))
    num_drawn = min(recipe.num_negatives, model.num_entities)
    for number in count(1):
        model.train()
        order = rng.permutation(len(facts))
        for start in range(0, len(order), size):
            batch = facts[order[start : start + size]]
            drawn = rng.choice(model.num_entities, num_drawn, replace=False)
            loss = _loss(model, *(torch.from_numpy(ids).to(model.device) for ids in (batch, drawn)))
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
            model.post_parameter_update()
        yield number


def _loss(model: Any, triples: torch.Tensor, drawn: torch.Tensor) -> torch.Tensor:
    """Return how badly triples are told from those with a drawn entity at one end."""
    right = model.score_hrt(triples)
    wrong_heads = model.score_h(triples[:, 1:], heads=drawn)
    wrong_tails = model.score_t(triples[:, :2], tails=drawn)
    total: torch.Tensor = model.collect_regularization_term()
    for end, wrong in ((0, wrong_heads), (2, wrong_tails)):
        others = wrong.masked_fill(drawn == triples[:, [end]], NEVER)
        total = total + model.loss.process_slcwa_scores(right, others)
    return total


def _judge(split: Split, scorer: EmbeddingScorer) -> Callable[[], float]:
    """Return what gives the MRR of some validation triples, the same each time; 0 where there are none."""
    chosen = np.random.default_rng(0).permutation(len(split.valid))[:NUM_JUDGED]
    questions = ask_both_ways(split.valid[chosen], len(split.relations))
    known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), len(split.relations))
    return lambda: evaluate(scorer, questions, known).mrr if len(questions) else 0.0


def _keep_best(model: Any, epochs: Iterator[int], judge: Callable[[], float]) -> None:
    """Train until validation gets no better, and leave the best weights; without validation the last."""
    best, num_worse, weights = 0.0, 0, model.state_dict()
    while num_worse < PATIENCE and [*islice(epochs, EPOCHS_AT_ONCE)]:
        if (mrr := judge()) >= best:
            best, num_worse, weights = mrr, 0, deepcopy(model.state_dict())
        else:
            num_worse += 1
    model.load_state_dict(weights)

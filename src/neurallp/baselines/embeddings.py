"""Embeddings of entities, fitted by PyKEEN: TransE, DistMult and the Neural Tensor Network."""

import gc
import warnings
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..engine import Scores
from ..errors import import_extra
from ..evaluation import evaluate
from ..formats.graphs import to_pykeen
from ..knowledge import Ids, KnownAnswers, Split, ask_both_ways
from ..training import one_torch_thread

#: Questions scored at a time: a tensor network holds some numbers for each question and entity.
QUESTIONS_AT_ONCE = 64

#: A batch holds at least this many triples, and no less than this share of all.
FEWEST_TRIPLES, SMALLEST_SHARE = 64, 0.01

#: So many epochs lie between two looks at validation, of which so many triples are asked; so many looks
#: without a better one end the fitting.
EPOCHS_AT_ONCE, NUM_JUDGED, PATIENCE = 5, 500, 5


@dataclass(frozen=True)
class Recipe:
    """How a model of PyKEEN is fitted, as chosen on the validation of WN18, FB15K-237 and WN18RR."""

    model: str
    settings: Mapping[str, Any]
    learning_rate: float
    num_negatives: int | None  # wrong triples drawn for each right one; None: all there are, at each end


# PyKEEN would keep entities on the unit sphere: in both models they then rank far worse.
TRANSE = Recipe(
    "TransE",
    {"loss": "nssa", "loss_kwargs": {"margin": 9.0}, "entity_constrainer": None},
    learning_rate=0.003,
    num_negatives=64,
)
DISTMULT = Recipe(
    "DistMult", {"loss": "crossentropy", "entity_constrainer": None}, learning_rate=0.003, num_negatives=None
)
# PyKEEN would start with entities so large that units are saturated; where tanh is, answers tie.
NTN = Recipe(
    "NTN",
    {"loss": "crossentropy", "entity_initializer": "normal_norm_", "non_linearity": "leakyrelu"},
    learning_rate=0.003,
    num_negatives=None,
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
    num_epochs: int = 100,
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
        gc.freeze()  # PyKEEN collects garbage after every epoch: that takes no time without what is older
        _train(_make_loop(model, factory, recipe), factory, num_epochs, _judge(split, scorer))
        gc.unfreeze()
    return scorer


def _make_loop(model: Any, factory: Any, recipe: Recipe) -> Any:
    training = import_extra("pykeen.training", "baselines")
    common = {
        "model": model,
        "triples_factory": factory,
        "optimizer": torch.optim.Adam(model.parameters(), lr=recipe.learning_rate),
        "automatic_memory_optimization": False,
    }
    if recipe.num_negatives is None:
        return training.SymmetricLCWATrainingLoop(**common)
    drawn = {"num_negs_per_pos": recipe.num_negatives}
    return training.SLCWATrainingLoop(**common, negative_sampler_kwargs=drawn)


def _judge(split: Split, scorer: EmbeddingScorer) -> Callable[[], float]:
    """Return what gives the MRR of some validation triples, the same each time; 0 where there are none."""
    chosen = np.random.default_rng(0).permutation(len(split.valid))[:NUM_JUDGED]
    questions = ask_both_ways(split.valid[chosen], len(split.relations))
    known = KnownAnswers(np.concatenate([split.known.facts, split.valid]), len(split.relations))
    return lambda: evaluate(scorer, questions, known).mrr if len(questions) else 0.0


def _train(loop: Any, factory: Any, num_epochs: int, judge: Callable[[], float]) -> None:
    """Train until validation gets no better, and leave the best weights; without validation the last."""
    size = max(FEWEST_TRIPLES, round(SMALLEST_SHARE * factory.num_triples))
    options = {"batch_size": size, "use_tqdm": False, "num_workers": 0}
    best, weights, num_worse = 0.0, loop.model.state_dict(), 0
    for done in range(0, num_epochs, EPOCHS_AT_ONCE):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it calls itself in old ways, and pins memory without a GPU
            loop.train(factory, min(done + EPOCHS_AT_ONCE, num_epochs), continue_training=done > 0, **options)
        if (mrr := judge()) >= best:
            best, weights, num_worse = mrr, deepcopy(loop.model.state_dict()), 0
        else:
            num_worse += 1
        if num_worse == PATIENCE:
            break
    loop.model.load_state_dict(weights)

"""Embeddings of entities, fitted by PyKEEN: TransE, DistMult and the Neural Tensor Network."""

import gc
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..engine import Scores
from ..errors import import_extra
from ..formats.graphs import to_pykeen
from ..knowledge import Ids, Split
from ..training import one_torch_thread

#: Questions scored at a time: a tensor network holds some numbers for each question and entity.
QUESTIONS_AT_ONCE = 64

#: A batch holds at least this many triples, and no less than this share of all.
FEWEST_TRIPLES, SMALLEST_SHARE = 256, 0.01
NUM_NEGATIVES = 8  # wrong triples drawn for each right one


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
    split: Split, seed: int = 0, *, dimension: int = 100, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return TransE: the tail lies where the relation moves the head."""
    settings = {"embedding_dim": dimension, "loss": "marginranking"}
    return _fit(split, seed, "TransE", settings, num_epochs, device)


def fit_distmult(
    split: Split, seed: int = 0, *, dimension: int = 100, num_epochs: int = 100, device: str = "cpu"
) -> EmbeddingScorer:
    """Return DistMult: the product of head, relation and tail, summed over dimensions."""
    settings = {"embedding_dim": dimension, "loss": "marginranking"}
    return _fit(split, seed, "DistMult", settings, num_epochs, device)


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
    settings: dict[str, Any] = {"embedding_dim": dimension, "num_slices": num_slices, "loss": "crossentropy"}
    # PyKEEN would start with entities so large that every unit of the layer is saturated.
    settings["entity_initializer"] = "xavier_normal"
    return _fit(split, seed, "NTN", settings, num_epochs, device, learning_rate=0.03)


def _fit(
    split: Split,
    seed: int,
    name: str,
    settings: Mapping[str, Any],
    num_epochs: int,
    device: str,
    learning_rate: float = 0.01,
) -> EmbeddingScorer:
    """Return a model fitted to facts and train; wrong triples are drawn at random."""
    make_model = getattr(import_extra("pykeen.models", "baselines"), name)
    make_loop = import_extra("pykeen.training", "baselines").SLCWATrainingLoop
    factory = to_pykeen(split.known)
    with one_torch_thread():
        model = make_model(triples_factory=factory, random_seed=seed, **settings).to(device)
        loop = make_loop(
            model=model,
            triples_factory=factory,
            optimizer=torch.optim.Adam(model.parameters(), lr=learning_rate),
            negative_sampler_kwargs={"num_negs_per_pos": NUM_NEGATIVES},
        )
        _train(loop, factory, num_epochs)
    return EmbeddingScorer(model, len(split.entities), len(split.relations))


def _train(loop: Any, factory: Any, num_epochs: int) -> None:
    # PyKEEN collects garbage after every epoch: freed of all that is older, that takes no time.
    gc.freeze()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls itself in old ways, and pins memory without a GPU
        size = max(FEWEST_TRIPLES, round(SMALLEST_SHARE * factory.num_triples))
        sizes = {"batch_size": size, "sub_batch_size": size}  # one that is not given is looked for
        loop.train(factory, num_epochs, **sizes, use_tqdm=False, num_workers=0)
    gc.unfreeze()

"""Graphs to measure on: generated ones of several shapes, or data sets below NEURALLP_DATA."""

import os
from pathlib import Path

import numpy as np

from neurallp.graph.arrays import distinct
from neurallp.graph.knowledge_base import Split, split_triples
from neurallp.graph.operators import Operators
from neurallp.io.triples import load

#: name: (entities, relations, facts, skew of the degrees: 0 is uniform)
SHAPES = {
    "dense-small": (104, 25, 8_500, 0.0),
    "sparse-large": (40_943, 18, 141_442, 0.3),
    "hub-heavy": (14_541, 237, 272_115, 0.8),
    "1M-edges": (200_000, 50, 500_000, 0.3),
    "10M-edges": (2_000_000, 50, 5_000_000, 0.3),
}


def make_facts(
    num_entities: int, num_relations: int, num_facts: int, skew: float, seed: int = 0
) -> np.ndarray:
    """Return distinct random facts; the probability of entity i is proportional to (i + 1) ** -skew."""
    rng = np.random.default_rng(seed)
    weights = np.cumsum((np.arange(num_entities) + 1.0) ** -skew)
    ends = np.searchsorted(weights, rng.random((2, num_facts)) * weights[-1])
    return distinct(np.stack([ends[0], rng.integers(num_relations, size=num_facts), ends[1]], axis=1))


def make_operators(shape: str) -> Operators:
    """Return the operators of a generated graph."""
    num_entities, num_relations, num_facts, skew = SHAPES[shape]
    facts = make_facts(num_entities, num_relations, num_facts, skew)
    return Operators.of_facts(facts, num_entities, num_relations)


def data_folder(given: Path | None, name: str) -> Path:
    """Return the folder given, or `name` under NEURALLP_DATA."""
    return given or Path(os.environ.get("NEURALLP_DATA", "data")) / name


def load_split(folder: Path) -> Split:
    """Return the split of a data folder."""
    data = load(folder)
    return data if isinstance(data, Split) else split_triples(data)

"""The first look at data before learning: counts, branching, and how many steps lead to answers."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ..graph.arrays import Ids
from ..graph.knowledge_base import Split
from ..graph.operators import Operators
from ..weighting.masking import linked_share

#: The longest walks that are counted, and validation pairs whose distance is measured.
MAX_WALK = 5
NUM_PAIRS = 200

#: Steps from each end: pairs are followed up to four steps.
SIDE = 2


@dataclass(frozen=True)
class Survey:
    """What the data looks like. Everything is counted on facts, train and valid."""

    num_facts: int
    num_entities: int
    num_relations: int
    num_valid: int
    held_out: bool  # whether the validation part was taken from train
    linked_share: float  # of validation pairs that a known fact links
    walks: tuple[float, ...]  # the mean number of walks of 1, 2, … steps from the end of a fact
    reached: tuple[float, ...]  # the share of validation pairs within 1, 2, … steps

    def as_dict(self) -> dict[str, Any]:
        """Return one JSON object."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in asdict(self).items()
        }


def survey(split: Split, held_out: bool = False) -> Survey:
    """Return the first look at a split."""
    known = split.known
    operators = Operators.of(known)
    return Survey(
        len(known.facts),
        len(known.entities),
        len(known.relations),
        len(split.valid),
        held_out,
        linked_share(split) if len(split.valid) else 0.0,
        count_walks(operators),
        measure_reach(operators, split.valid[:, [0, 2]]),
    )


def count_walks(operators: Operators) -> tuple[float, ...]:
    """Return the mean number of walks of each length from the ends of facts."""
    walks = np.ones(operators.num_entities)
    degrees = np.bincount(operators.sources, minlength=operators.num_entities)
    means = []
    for _ in range(MAX_WALK):
        walks = np.bincount(operators.sources, walks[operators.targets], len(walks)).astype(np.float64)
        means.append(float(walks @ degrees / max(degrees.sum(), 1)))
    return tuple(means)


def measure_reach(operators: Operators, pairs: Ids) -> tuple[float, ...]:
    """Return the share of pairs, of a fixed sample, that are at most 1, 2, … steps apart."""
    if not len(pairs):
        return ()
    rows = np.random.default_rng(0).permutation(len(pairs))[:NUM_PAIRS]
    distances = np.array([_distance(operators, *pair) for pair in pairs[rows].tolist()])
    return tuple(float((distances <= steps).mean()) for steps in range(1, 2 * SIDE + 1))


def _distance(operators: Operators, source: int, answer: int) -> int:
    """Return how many steps lead from one entity to another; one more than is followed where none do."""
    reached = [np.array([source])], [np.array([answer])]
    for steps in range(1, 2 * SIDE + 1):
        side = reached[(steps + 1) % 2]
        side.append(np.unique(operators.targets[operators.edges_out_of(side[-1])]))
        if np.isin(reached[0][-1], reached[1][-1]).any():
            return steps
    return 2 * SIDE + 1

"""Features of one question in numpy: slower than the compiled loops, but without the time to load them."""

from collections.abc import Sequence

import numpy as np

from ..graph.arrays import Floats
from .features import Features, ask
from .features_kernels import Entries
from .graph_index import GraphIndex, MaskedGraph
from .kinds import get_kind, is_dense
from .kinds.base import Candidate, RuleFeatures


class NumpyFeatures(Features):
    """The features of one question, with arrays of their own."""

    def add_scores(self, question: int, weights: Floats, row: Floats) -> None:
        """Add weights times features to the scores of entities."""
        entities, rules, forward, backward = self.rows(question)
        own = weights[rules]
        row += np.bincount(entities, own[:, 0] + own[:, 1] * forward + own[:, 2] * backward, len(row))


def can_use_numpy(rules: Sequence[Candidate]) -> bool:
    """Return whether every kind among the rules defines its features in numpy."""
    return all(get_kind(name).has_python_features for name in {rule.kind for rule in rules})


def gather_in_numpy(index: GraphIndex, query: int, rules: Sequence[Candidate], source: int) -> NumpyFeatures:
    """Return the features of the rules of a query for one source; a rule's number is its place in `rules`."""
    graph = MaskedGraph(index, ask(query, np.array([source])), 0)
    found = [
        (number, get_kind(rule.kind).features(graph, rule))
        for number, rule in enumerate(rules)
        if not is_dense(rule)
    ]
    return _concatenate([(number, features) for number, features in found if len(features.entities)])


def _concatenate(found: Sequence[tuple[int, RuleFeatures]]) -> NumpyFeatures:
    columns = zip(*(features for _, features in found), strict=True)
    entities, forward, backward = map(np.concatenate, columns) if found else (np.zeros(0, np.int64),) * 3
    numbers = np.array([number for number, _ in found], dtype=np.int32)
    bounds = np.cumsum([0, *(len(features.entities) for _, features in found)])
    entries = Entries(
        entities.astype(np.uint32), forward.astype(np.float64), backward.astype(np.float64), numbers, bounds
    )
    return NumpyFeatures(entries, np.array([len(found)]))

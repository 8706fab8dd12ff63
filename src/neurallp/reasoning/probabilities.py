"""Probabilities of answers on the facts of one knowledge base."""

import numpy as np

from ..evaluation import QUESTIONS_AT_ONCE, Scorer
from ..graph.arrays import Floats, Ids
from ..graph.vocabulary import Relations
from .calibration import Calibration
from .evidence import GraphEvidence


class Probabilities:
    """A calibration bound to the facts that are known."""

    def __init__(self, calibration: Calibration, relations: Relations, evidence: GraphEvidence) -> None:
        self.calibration, self.relations, self.evidence = calibration, relations, evidence

    def of(self, source: int, query: int, answers: Floats, row: tuple[Ids, Floats]) -> Floats:
        """Return how likely answers with these scores are true; `row` has the scores of the question."""
        found = self.evidence.of(source, query, answers, row)
        return self.calibration.probabilities(found, self.relations)

    def of_many(self, scorer: Scorer, sources: Ids, query: int, answers: Floats) -> Floats:
        """Return the probabilities of answers with these scores; `sources` has that of each, ascending."""
        found, asked = np.zeros(len(sources)), np.unique(sources)
        for start in range(0, len(asked), QUESTIONS_AT_ONCE):
            some = asked[start : start + QUESTIONS_AT_ONCE]
            scores = scorer.scores(some, np.full(len(some), query))
            for number, source in enumerate(some.tolist()):
                rows = slice(*np.searchsorted(sources, [source, source + 1]))
                found[rows] = self.of(source, query, answers[rows], scores.row(number))
        return found

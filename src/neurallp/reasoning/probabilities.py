"""Probabilities of answers on the facts of one knowledge base."""

from functools import cached_property

import numpy as np

from ..evaluation import QUESTIONS_AT_ONCE, Scorer
from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.questions import KnownAnswers
from .calibration import Calibration
from .calibration_sample import Row
from .domains import Domains


class Probabilities:
    """A calibration bound to the facts that are known."""

    def __init__(
        self, calibration: Calibration, kb: KnowledgeBase, known: KnownAnswers, logarithmic: bool
    ) -> None:
        self.calibration, self.kb, self.logarithmic, self._known = calibration, kb, logarithmic, known

    @cached_property
    def _domains(self) -> Domains:
        return Domains(self.kb)

    def of(self, source: int, query: int, answers: Floats, row: tuple[Ids, Floats]) -> Floats:
        """Return how likely answers with these scores are true; `row` has the scores of the question."""
        question = np.array([source]), np.array([query])
        domain = float(self._domains.log_odds(question[0], query)[0])
        known = self._known.pairs(*question)[1]
        scores = Row(*row, len(self.kb.entities), self.logarithmic)
        evidence = scores.evidence(query, answers, known, domain)
        return self.calibration.probabilities(evidence, self.kb.relations)

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

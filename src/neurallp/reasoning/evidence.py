"""The evidence on one graph for answers, as it is known or without the one fact that is asked about."""

from functools import cached_property

import numpy as np

from ..graph.arrays import Floats, Ids
from ..graph.operators import Operators
from ..graph.questions import KnownFacts
from .calibration_sample import Evidence, Row
from .domains import Domains


class GraphEvidence:
    """What is known of sources on one graph, from which the probability of a score is computed."""

    def __init__(self, operators: Operators, logarithmic: bool) -> None:
        self.operators, self.logarithmic, self.known = operators, logarithmic, KnownFacts(operators)

    @cached_property
    def domains(self) -> Domains:
        """How likely entities have an answer."""
        return Domains(self.operators)

    def of(self, source: int, query: int, answers: Floats, row: tuple[Ids, Floats]) -> Evidence:
        """Return the evidence for answers with these scores; `row` has the scores of the question."""
        question = np.array([source]), np.array([query])
        domain = float(self.domains.log_odds(question[0], query)[0])
        return self._row(row).evidence(query, answers, self.known.pairs(*question)[1], domain)

    def without(self, fact: tuple[int, int, int], score: float, row: tuple[Ids, Floats]) -> Evidence:
        """Return the evidence for a known fact (source, query, answer) as if it were not known.

        `score` and `row` are the scores of the answer and of the question then.
        """
        source, query, answer = fact
        question = np.array([source]), np.array([query])
        domain = float(self.domains.log_odds_without(question[0], query, np.array([answer]))[0])
        known = self.known.pairs(*question)[1]
        return self._row(row).evidence(query, np.array([score]), known[known != answer], domain)

    def _row(self, row: tuple[Ids, Floats]) -> Row:
        return Row(*row, self.operators.num_entities, self.logarithmic)

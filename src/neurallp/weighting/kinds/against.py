"""Rules against an answer: r(X, Y) is unlikely where one fact b(X, Y) links the pair.

Their weights are at most 0. They express what rules with positive weights cannot: a father is no uncle.
"""

from dataclasses import replace

import numpy as np

from ...graph.vocabulary import Relations
from ...rules.rule import Rule
from ..counting_kernels import CONCLUSIONS, RIGHT
from .base import Candidate, CandidateSearch
from .chain import Chain

#: Conclusions that a rule must have on the counted questions: fewer are no evidence.
MIN_CONCLUSIONS = 10

#: Rules against found for a query, at most.
MAX_RULES = 100


class Against(Chain):
    """One step from the source to the answer, whose indicator lowers the score."""

    name = "against"
    num_features = 1
    depends_on_length = False

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the operators whose targets are answers less often than entities are by chance.

        Where linked entities are no candidates such rules have nothing to exclude.
        """
        if search.excludes_linked:
            return []
        bodies = [(k,) for k in range(search.index.num_operators) if k != query]
        counts, _ = search.count_chains(query, bodies)
        conclusions, right = counts[:, CONCLUSIONS], counts[:, RIGHT]
        chance = search.answer_share(query)
        wanted = (conclusions >= MIN_CONCLUSIONS) & (right < chance * conclusions)
        order = np.argsort(-conclusions, kind="stable")
        return [Candidate(self.name, bodies[i]) for i in order if wanted[i]][:MAX_RULES]

    def is_direct_link(self, candidate: Candidate) -> bool:
        """Return False: weights of rules against are penalised."""
        return False

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return `not query(X, Y) <= operator(X, Y)`."""
        return replace(super().rule(relations, query, candidate, exclude_source), kind=self.name)


KIND = Against()

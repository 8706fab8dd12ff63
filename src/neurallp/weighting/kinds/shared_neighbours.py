"""What the two kinds of shared-neighbour rules have in common.

They compare the source, or the answer, with other entities that have the same neighbour D by one operator b.
"""

from abc import abstractmethod
from collections.abc import Iterator, Mapping

import numpy as np

from ...graph.arrays import Body, Floats, Ids
from ...graph.vocabulary import Relations
from ...rules.rule import Rule
from ..features import FeatureWalker
from ..features_kernels import Entries, QuestionBatch, Small
from ..graph_index import GraphIndex, MaskedGraph
from ..mining import within_budget
from .base import Candidate, CandidateSearch, Kind, RuleFeatures, log_scale
from .shared_neighbours_kernels import SMOOTHING, gather_shared

#: Rules found for a query, at most.
MAX_RULES = 20

#: The share of a question's feature values that the rules of one kind may have.
SHARE_OF_ENTRIES = 0.5

#: The share of the questions counted for other kinds that these are counted on: they predict many entities.
SHARE_COUNTED = 0.25


class SharedNeighbours(Kind):
    """Forward is the largest confidence over all neighbours D, backward their noisy-or.

    The confidence of a D is the share of right answers among the other entities that have this D.
    """

    #: Where in the rule's path the neighbour D stands.
    neighbour_place: int
    inequalities: tuple[tuple[int, int], ...]
    #: Whether D is a neighbour of the answer; otherwise of the source.
    mirrored: bool

    @abstractmethod
    def body(self, query: int, operator: int, inverse: int) -> Body:
        """Return the path of the rule from X to Y."""

    def find(self, search: CandidateSearch, query: int, max_length: int) -> list[Candidate]:
        """Return the operators that predict known answers most often and most precisely.

        All together take a bounded share of a question's feature values.
        """
        every = [Candidate(self.name, (k,)) for k in range(search.index.num_operators)]
        questions = search.sample(query, max(1, int(SHARE_COUNTED * search.config.num_counted)))
        predicted, right = search.count(query, every, questions).T
        scores = right**2 / np.maximum(predicted, 1)
        order = np.argsort(-scores, kind="stable")
        order = order[scores[order] > 0]
        budget = SHARE_OF_ENTRIES * search.config.max_entries
        kept = order[within_budget(predicted[order] / len(questions), budget)]
        return [every[k] for k in kept[:MAX_RULES]]

    @abstractmethod
    def confidences(self, graph: MaskedGraph, operator: int) -> Iterator[tuple[Ids, Floats]]:
        """Yield for each neighbour D the entities that it supports, each once, and their confidences."""

    def features(self, graph: MaskedGraph, candidate: Candidate) -> RuleFeatures:
        """Return the largest confidence and the noisy-or of each entity over all neighbours D."""
        largest, doubt = np.zeros(graph.num_entities), np.ones(graph.num_entities)
        for entities, confidences in self.confidences(graph, candidate.operators[0]):
            largest[entities] = np.maximum(largest[entities], confidences)
            doubt[entities] *= 1 - confidences
        found = np.flatnonzero(largest)
        return RuleFeatures(found, log_scale(largest[found]), log_scale(1 - doubt[found]))

    def compile(self, index: GraphIndex, query: int, rules: Mapping[int, Candidate]) -> Small:
        """Return (rule, 2): operator and number."""
        rows = [(rule.operators[0], number) for number, rule in rules.items()]
        return np.array(rows, dtype=np.int32).reshape(-1, 2)

    def gather(
        self, plan: Small, walker: FeatureWalker, batch: QuestionBatch, entries: Entries, ends: Ids
    ) -> int:
        """Write the features of questions."""
        return gather_shared(walker.edges, plan, walker.scratch, batch, entries, ends, self.mirrored)

    def rule(self, relations: Relations, query: int, candidate: Candidate, exclude_source: bool) -> Rule:
        """Return the rule along the path; the source is neither D nor the other entity nor the answer."""
        (operator,), name = candidate.operators, relations.operator_name
        body = self.body(query, operator, relations.inverse(operator))
        return Rule(
            name(query),
            tuple(map(name, body)),
            0.0,
            distinct_ends=True,
            inequalities=self.inequalities,
            kind=self.name,
        )

    def candidate(self, rule: Rule, relations: Relations) -> Candidate:
        """Return the operator that leads to the neighbour."""
        return Candidate(self.name, (relations.operator_id(rule.body[self.neighbour_place - 1]),))

    def step_weights(self, index: GraphIndex, body: Body, place: int, entities: Ids) -> Floats:
        """Return 1 / (entities that have a D, smoothed) at D's place, and 1 elsewhere."""
        if place != self.neighbour_place:
            return np.ones(len(entities))
        begin, end = index.operators.spans(entities, body[place])
        weights: Floats = 1 / (end - begin - 1 + SMOOTHING)
        return weights

"""A toy kind in one file: r(X, Y) where X and Y have a common target by one operator, written in Python."""

import numpy as np

from neurallp.rules.rule import Rule
from neurallp.weighting.kinds.base import Candidate, Kind, RuleFeatures


class Twin(Kind):
    """Forward is the share of the source's targets that are common, backward the share of the answer's."""

    name = "twin"
    is_optional = False

    def find(self, search, query, max_length):
        """Return one candidate for each operator."""
        return [Candidate(self.name, (k,)) for k in range(search.index.num_operators)]

    def features(self, graph, candidate):
        """Count common targets, entity by entity."""
        (operator,) = candidate.operators
        own = graph.targets(graph.source, operator)
        inverse = graph.operators.inverse(operator)
        others = {other for target in own.tolist() for other in graph.targets(target, inverse).tolist()}
        entities = np.array(sorted(others), dtype=np.int64)
        targets = [graph.targets(other, operator) for other in entities]
        common = np.array([len(np.intersect1d(own, each)) for each in targets], dtype=np.float64)
        sizes = np.array([len(each) for each in targets])
        return RuleFeatures(entities, common / max(len(own), 1), common / np.maximum(sizes, 1))

    def rule(self, relations, query, candidate, exclude_source):
        """Return `query(X, Y) <= operator(X, A), operator(Y, A)`."""
        (operator,), name = candidate.operators, relations.operator_name
        body = name(operator), name(relations.inverse(operator))
        return Rule(name(query), body, 0.0, distinct_ends=exclude_source, kind=self.name)

    def candidate(self, rule, relations):
        """Return the operator of a rule."""
        return Candidate(self.name, (relations.operator_id(rule.body[0]),))


KIND = Twin()

"""The truth: every chain enumerated in plain Python, nothing shared with the package.

An edge is (source, operator, target). A chain is a choice of steps t_1 < … < t_n, of an operator for
each, and of a path of edges through the graph. All engines, algorithm 1 and every proof must equal it.
"""

from collections import defaultdict
from itertools import combinations, product


def enumerate_rules(operator, memory):
    """Yield (steps, body, confidence) of every chain rule that attention of one rank spells out.

    `operator[t][k]` is a_{t+1}^k, `memory[t][s]` is b_{t+1}^s, its last row b_{T+1}.
    """
    num_steps = len(operator)
    for length in range(num_steps + 1):
        for steps in combinations(range(1, num_steps + 1), length):
            for body in product(range(len(operator[0])), repeat=length):
                confidence, slot = 1.0, 0
                for step, k in zip(steps, body, strict=True):
                    confidence *= memory[step - 1][slot] * operator[step - 1][k]
                    slot = step
                yield steps, body, confidence * memory[num_steps][slot]


def without_return(edges, source):
    """Return the edges that a walk uses which may not come back to where it started."""
    return [edge for edge in edges if edge[2] != source]


def enumerate_paths(edges, source, body):
    """Yield every path of entities that starts at `source` and follows `body`."""
    if not body:
        yield (source,)
        return
    for start, operator, target in edges:
        if start == source and operator == body[0]:
            for rest in enumerate_paths(edges, target, body[1:]):
                yield (source, *rest)


def is_apart(path, rule):
    """Return whether a path has different entities where a rule wants them: its ends, and places apart."""
    ends = [(0, len(rule.body))] if rule.distinct_ends else []
    return not any(path[i] == path[j] for i, j in [*ends, *rule.apart])


def merged_rules(operator, memory):
    """Return {body: confidence}, equal bodies added up."""
    rules = defaultdict(float)
    for _, body, confidence in enumerate_rules(operator, memory):
        rules[body] += confidence
    return dict(rules)


def score(edges, operator, memory, source, normalize=False):
    """Return {entity: score}: the sum over chains of confidence, divided by the norms passed on the way."""
    norms = memory_norms(edges, operator, memory, source) if normalize else [1.0] * (len(operator) + 1)
    scores = defaultdict(float)
    for steps, body, confidence in enumerate_rules(operator, memory):
        for step in steps:
            confidence /= norms[step]
        for path in enumerate_paths(edges, source, body):
            scores[path[-1]] += confidence
    return dict(scores)


def memory_norms(edges, operator, memory, source):
    """Return the sum of each memory before it is divided by it; step t needs those before it."""
    norms = [1.0]
    for t in range(1, len(operator) + 1):
        total = 0.0
        # Memory t is the score of a program that stops at step t and reads only its slot.
        stop = [0.0] * t + [1.0]
        cut = [list(row[: t + 1]) for row in memory[:t]] + [stop]
        for steps, body, confidence in enumerate_rules(operator[:t], cut):
            for step in steps[:-1]:
                confidence /= norms[step]
            total += confidence * sum(1 for _ in enumerate_paths(edges, source, body))
        norms.append(total if total > 0 else 1.0)
    return norms

"""The truth: every chain enumerated in plain Python, nothing shared with the package.

An edge is (source, operator, target). A chain is a choice of steps t_1 < … < t_n, of an operator for
each, and of a path of edges through the graph. All engines, algorithm 1 and every proof must equal it.
"""

from collections import Counter, defaultdict
from itertools import combinations, product
from math import exp, log


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
    return not any(path[i] == path[j] for i, j in [*ends, *rule.inequalities])


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


def without_fact(edges, source, query, answer, num_relations):
    """Return the edges but the one from source to answer by `query`, and its inverse."""
    inverse = (query + num_relations) % (2 * num_relations)
    return [edge for edge in edges if edge not in {(source, query, answer), (answer, inverse, source)}]


def without_pair(edges, source, answer):
    """Return the edges but those between source and answer, whichever way they lead."""
    return [edge for edge in edges if (edge[0], edge[2]) not in {(source, answer), (answer, source)}]


def walk_features(edges, source, body):
    """Return {entity: (forward, backward)}: probabilities of random walks along a body, there and back.

    Each is a sum over paths, of a product over steps of 1 / edges of the operator that leave, or arrive.
    """
    found = defaultdict(lambda: (0.0, 0.0))
    for path in enumerate_paths(edges, source, body):
        forward, backward = 1.0, 1.0
        for start, k, end in zip(path, body, path[1:], strict=False):
            forward /= sum((edge[0], edge[1]) == (start, k) for edge in edges)
            backward /= sum((edge[1], edge[2]) == (k, end) for edge in edges)
        found[path[-1]] = (found[path[-1]][0] + forward, found[path[-1]][1] + backward)
    return dict(found)


def unary_features(edges, source, operator, answer, end=None):
    """Return {answer: (1, 1)} where the source has an edge of the operator, to `end` if there is one."""
    holds = any(edge[:2] == (source, operator) and end in (None, edge[2]) for edge in edges)
    return {answer: (1.0, 1.0)} if holds else {}


def sourced_features(edges, source, operator, named, start):
    """Return {answer: (1, 1)} of the edges of the operator that leave `start`, if the source is `named`."""
    return {end: (1.0, 1.0) for *edge, end in edges if edge == [start, operator] and source == named}


def shared_features(edges, source, query, kind, operator):
    """Return {entity: (forward, backward)} of a shared-neighbour rule.

    They are the largest confidence over all neighbours D, and the noisy-or. The confidence of a D is the
    share of other entities with this D that have the answer, or are answers of the source (mirrored).
    """
    having = defaultdict(set)
    for entity, k, neighbour in edges:
        if k == operator and neighbour != source:
            having[neighbour].add(entity)
    found = {}
    for entity in {edge[0] for edge in edges} - {source}:
        own = source if kind == "anchored" else entity
        doubt, largest = 1.0, 0.0
        for group in having.values():
            if own in group:
                others = group - {source, entity} if kind == "mirrored" else group - {source}
                asked = {
                    (other, query, entity) if kind == "anchored" else (source, query, other)
                    for other in others
                }
                confidence = len(asked & set(edges)) / (len(others) + 5)
                doubt, largest = doubt * (1 - confidence), max(largest, confidence)
        if largest:
            found[entity] = (largest, 1 - doubt)
    return found


def near_features(edges, source, least=1e-4, going_on=0.95, num_steps=20):
    """Return {entity: (forward, backward)} of walks along any edges that carry enough."""
    leaving = Counter(start for start, _, _ in edges)
    total, now = Counter(), Counter({source: 1.0})
    for _ in range(num_steps):
        after = Counter()
        for start, _, end in edges:
            share = going_on * now[start] / leaving[start]
            if share >= least * (1 - 1e-9):
                after[end] += share
        total, now = total + after, after
    return {entity: (p, p * leaving[source] / leaving[entity]) for entity, p in total.items()}


def linked_features(edges, source, query):
    """Return {entity: (1, 1)} of the targets of the source's edges of other operators than the query."""
    return {end: (1.0, 1.0) for start, k, end in edges if start == source and k != query}


def near_scale(probability, least=1e-4):
    """Spread probabilities of nearness."""
    return log(1 + probability / least) / log(1 + 1 / least)


def log_scale(probability):
    """Return a probability on the logarithmic scale of features."""
    return log(1 + 100 * probability) / log(101)


def enumerate_bodies(edges, source, answer, max_length):
    """Return the bodies of every path from source to answer."""
    operators = sorted({operator for _, operator, _ in edges})
    return {
        body
        for length in range(1, max_length + 1)
        for body in product(operators, repeat=length)
        if any(path[-1] == answer for path in enumerate_paths(edges, source, body))
    }


def cross_entropy(scores, answer, left_out):
    """Return -log of the answer's share in the sum of exp(score), over all entities but those left out."""
    candidates = [score for entity, score in enumerate(scores) if entity not in left_out]
    return log(sum(map(exp, candidates))) - scores[answer]


def realistic_rank(scores, answer, left_out):
    """Return 1 + those that score better + half of those that tie; an answer that is left out comes last."""
    others = [s for entity, s in enumerate(scores) if entity not in left_out and entity != answer]
    if answer in left_out:
        return 1 + len(others)
    ties = sum(score == scores[answer] for score in others)
    return 1 + sum(score > scores[answer] for score in others) + ties / 2

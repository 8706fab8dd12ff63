"""Selection of chains that answer best together where a logic program ranks by their confidence alone.

Answers are ranked by noisy-or, 1 - the product over rules of (1 - confidence). A rule that predicts wrong
answers cannot be given less weight there, only left out. So rules are added one by one, each time the one
that raises the mean reciprocal rank of training questions most, while the fact of each question is masked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..graph.arrays import Flags, Floats, Ids
from ..graph.questions import KnownAnswers, Questions, excludes_source
from ..rules.rule import Rule
from ..weighting.features import Features, FeatureWalker, ask
from ..weighting.graph_index import GraphIndex
from ..weighting.kinds import as_candidates, compile_rules

#: Training questions of a query that rules are selected on.
NUM_QUESTIONS = 300

#: Confidences above this are taken as this: a rule that is always right would outweigh any others.
MAX_CONFIDENCE = 0.999


def evidence(rule: Rule) -> float:
    """Return what a rule adds to the noisy-or on a logarithmic scale: -log(1 - confidence)."""
    return float(-np.log1p(-min(MAX_CONFIDENCE, rule.stated_confidence)))


def select_chains(
    index: GraphIndex, rules: Sequence[Rule], questions: Questions, known: KnownAnswers, num: int
) -> list[Rule]:
    """Return up to `num` rules of one query, in the order in which they were chosen."""
    order = np.random.default_rng(0).permutation(len(questions))[:NUM_QUESTIONS]
    ranking = Ranking.of(index, rules, questions[order], known)
    weights = np.array([evidence(rule) for rule in rules])
    scores, best, chosen = np.zeros(len(ranking.questions)), 0.0, list[int]()
    while len(chosen) < min(num, len(rules)):
        left = [j for j in range(len(rules)) if j not in chosen]
        values = [ranking.mrr(scores + weights[j] * ranking.fired[:, j]) for j in left]
        if (value := max(values)) <= best:
            break
        best = value
        chosen.append(left[values.index(value)])
        scores = scores + weights[chosen[-1]] * ranking.fired[:, chosen[-1]]
    return [rules[j] for j in chosen]


@dataclass(frozen=True, eq=False)
class Ranking:
    """The entities that any rule predicts for each question, known answers but the one asked left out."""

    questions: Ids  # (pair,) ascending
    fired: Flags  # (pair, rule)
    places: Ids  # (question,) the pair of the answer asked for; -1 where no rule predicts it
    num_others: Ids  # (question,) the candidates that no rule predicts

    @classmethod
    def of(cls, index: GraphIndex, rules: Sequence[Rule], asked: Questions, known: KnownAnswers) -> "Ranking":
        """Return what rules predict while the fact of each question is masked."""
        relations, query = index.kb.relations, int(asked.queries[0])
        candidates = tuple(candidate for _, candidate in as_candidates(rules, relations))
        plans = compile_rules(index, query, candidates).plans
        exclude = bool(excludes_source(index.kb.reflexive_relations, query))
        walker = FeatureWalker(index, max(len(rule.body) for rule in rules))
        parts, done = [], 0
        while done < len(asked):
            rest = asked[done:]
            features = walker.gather(plans, ask(query, rest.sources, rest.answers, False, exclude))
            parts += [_keys(features, number, index.num_entities, done) for number in range(len(features))]
            done += len(features)
        keys, numbers = (np.concatenate(column) for column in zip(*parts, strict=True))
        return cls._of_entries(keys, numbers, len(rules), asked, known, index.num_entities)

    @classmethod
    def _of_entries(
        cls, keys: Ids, numbers: Ids, num_rules: int, asked: Questions, known: KnownAnswers, size: int
    ) -> "Ranking":
        """Return the ranking from entries: keys of question and entity, and numbers of rules."""
        rows, entities = known.pairs(asked.sources, asked.queries)
        other = entities != asked.answers[rows]
        filtered = rows[other] * size + entities[other]
        kept = ~np.isin(keys, filtered)
        pairs, places = np.unique(keys[kept], return_inverse=True)
        fired = np.zeros((len(pairs), num_rules), dtype=bool)
        fired[places.reshape(-1), numbers[kept]] = True
        own = np.arange(len(asked)) * size + asked.answers
        found = np.searchsorted(pairs, own).clip(max=max(len(pairs) - 1, 0))
        is_found = pairs[found] == own if len(pairs) else np.zeros(len(own), dtype=bool)
        listed = np.bincount(pairs // size, minlength=len(asked))
        num_filtered = np.bincount(rows[other], minlength=len(asked))
        return cls(pairs // size, fired, np.where(is_found, found, -1), size - listed - num_filtered)

    def mrr(self, scores: Floats) -> float:
        """Return the mean reciprocal rank of the answers asked for, ties counted as their mean rank."""
        is_found = self.places >= 0
        own = np.where(is_found, scores[self.places], np.inf)
        better = np.bincount(self.questions, scores > own[self.questions], len(own))
        equal = np.bincount(self.questions, scores == own[self.questions], len(own))
        equal = equal + np.where(own == 0, self.num_others, 0)
        ranks = better + (equal + 1) / 2
        return float(np.where(is_found, 1 / ranks, 0.0).mean())


def _keys(features: Features, number: int, size: int, done: int) -> tuple[Ids, Ids]:
    """Return the keys of what rules predict for one question, and their numbers."""
    entities, rules, *_ = features.rows(number)
    return (done + number) * size + entities.astype(np.int64), rules.astype(np.int64)

"""Answers and reasons: any model, or any rules, on any knowledge base with their relations."""

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, product

import numpy as np

from ..errors import ConfigError, DataError, DataWarning
from ..evaluation import best_places
from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers
from ..graph.scores import Scores
from ..graph.vocabulary import Relations, relation_of
from ..rules.paths import find_paths, reachable_sets, reachable_sets_to
from ..rules.rule import Rule
from ..rules.support import body_ids
from .answers import Answer, MissingFact, Predictions, Proof, Term, WhyNot
from .calibration import Calibration, normalized_scores
from .scorers import Basis, HasRelations, RuleScorer, choose_scorer

__all__ = ["Basis", "HasRelations", "Reasoner", "has_logarithmic_scores", "require_relations"]

#: Questions that are predicted at a time, which bounds memory.
QUESTIONS_AT_ONCE = 8192

#: Rules of a query that are looked at for what they lack.
RULES_EXAMINED = 200


class Reasoner:
    """Asks a model, or given rules, about a knowledge base; a model need not have learned from it."""

    calibration: Calibration | None = None

    def __init__(self, kb: KnowledgeBase, basis: Basis, engine: str = "auto") -> None:
        self.basis = basis if isinstance(basis, HasRelations) else tuple(basis)
        self.kb = kb.with_relations(_relations_to_ask(kb, self.basis))
        self.operators = Operators.of(self.kb)
        self._engine = engine

    @property
    def relations(self) -> Relations:
        """The relations that can be asked."""
        return self.kb.relations

    @cached_property
    def scorer(self) -> RuleScorer:
        """The model or the rules, bound to the facts."""
        return choose_scorer(self.basis)(self.basis, self.kb, self.operators, self._engine)

    @cached_property
    def _known(self) -> KnownAnswers:
        return KnownAnswers(self.kb.facts, len(self.relations))

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.scorer.scores(sources, queries)

    def ask(
        self, *, head: str | None = None, tail: str | None = None, relation: str, k: int = 10
    ) -> list[Answer]:
        """Return the `k` best answers to (head, relation, ?) or (?, relation, tail); only scores above 0."""
        source, query = self._question(head, relation, tail)
        entities, values = self._row(source, query)
        best = best_places(values, k)
        return self._describe(source, query, entities[best], values[best], (entities, values))

    def explain(self, head: str, relation: str, tail: str, k: int = 3) -> Proof:
        """Return why (head, relation, tail) scores what it does, with its `k` largest terms."""
        source, query, answer, found = self._judge(head, relation, tail)
        terms = islice(self.scorer.terms(source, query, answer), k) if found.score else ()
        return Proof(found, tuple(Term(rule, self._names(path), value) for rule, path, value in terms))

    def why_not(self, head: str, relation: str, tail: str, k: int = 3) -> WhyNot:
        """Return the `k` most confident rules that are one fact short of (head, relation, tail).

        What only a prior speaks for does not follow.
        """
        source, query, answer, found = self._judge(head, relation, tail)
        reached = self.scorer.reached(np.array([source]), np.array([query]))
        follows = bool(reached.at(np.array([0]), np.array([answer]))[0] > 0)
        missing_facts = () if follows else islice(self._missing_facts(source, query, answer), k)
        return WhyNot(found, follows, tuple(missing_facts))

    def predict(
        self, relations: Iterable[str] | None = None, k: int = 10, *, known: bool = False
    ) -> Iterator[Predictions]:
        """Yield the `k` best answers of every source to every relation (`~name`: its inverse), in batches.

        Answers that are facts already are left out unless `known`, and so are those that only a prior speaks
        for: it says the same of every source.
        """
        names = self.relations if relations is None else relations
        for query in [self.relations.operator_id(name) for name in names]:
            for first in range(0, len(self.kb.entities), QUESTIONS_AT_ONCE):
                sources = np.arange(first, min(first + QUESTIONS_AT_ONCE, len(self.kb.entities)))
                yield self._predict(sources, query, k, known)

    def _question(self, head: str | None, relation: str, tail: str | None) -> tuple[int, int]:
        if (head is None) == (tail is None):
            raise ConfigError("Give the head or the tail of the question, not both and not neither.")
        query = self.relations.operator_id(relation)
        if head is not None:
            return self.kb.entities.id(head), query
        return self.kb.entities.id(str(tail)), self.relations.inverse(query)

    def _judge(self, head: str, relation: str, tail: str) -> tuple[int, int, int, Answer]:
        source, query = self._question(head, relation, None)
        answer = self.kb.entities.id(tail)
        entities, values = self._row(source, query)
        score = values[entities == answer].sum(keepdims=True)
        described = self._describe(source, query, np.array([answer]), score, (entities, values))
        return source, query, answer, described[0]

    def _row(self, source: int, query: int) -> tuple[Ids, Floats]:
        return self.scores(np.array([source]), np.array([query])).row(0)

    def _names(self, entities: Iterable[int]) -> tuple[str, ...]:
        return tuple(self.kb.entities[entity] for entity in entities)

    def _describe(
        self,
        source: int,
        query: int,
        entities: Ids,
        scores: Floats,
        row: tuple[Ids, Floats],
    ) -> list[Answer]:
        """Return answers with their ranks among the scores listed in `row`, and the entities not listed."""
        values = row[1]
        num_candidates = len(self.kb.entities) - int(np.isneginf(values).sum())
        facts = self._known.pairs(np.array([source]), np.array([query]))[1]
        ranks = self._ranks(scores, values)
        # Compared as the engine gave it, told as 0: an entity that is no candidate has no evidence either.
        found = zip(
            self._names(entities),
            np.where(np.isneginf(scores), 0, scores),
            ranks,
            np.isin(entities, facts),
            self._probabilities(entities, facts, row),
            strict=True,
        )
        name, operator = self.kb.entities[source], self.relations.operator_name(query)
        return [
            Answer(
                name, operator, entity, float(score), float(rank), num_candidates, bool(known), probability
            )
            for entity, score, rank, known, probability in found
        ]

    def _probabilities(self, entities: Ids, facts: Ids, row: tuple[Ids, Floats]) -> list[float | None]:
        """Return what the calibration says of answers; nothing of what is known, or has no evidence."""
        if self.calibration is None:
            return [None] * len(entities)
        candidates = np.zeros(len(self.kb.entities))
        candidates[row[0]] = row[1]
        candidates[facts] = -np.inf
        said = self.calibration.probabilities(
            normalized_scores(candidates, has_logarithmic_scores(self.basis))
        )
        return [float(said[entity]) if candidates[entity] > 0 else None for entity in entities]

    def _ranks(self, scores: Floats, values: Floats) -> Floats:
        ascending = np.sort(values)
        num_unlisted = len(self.kb.entities) - len(values)
        below, to_here = (np.searchsorted(ascending, scores, side) for side in ("left", "right"))
        better = len(values) - to_here + num_unlisted * (scores < 0)
        ties = to_here - below + num_unlisted * (scores == 0)
        return np.asarray(better + (ties + 1) / 2)

    def _missing_facts(self, source: int, query: int, answer: int) -> Iterator[MissingFact]:
        for rule in islice(self.scorer.rules(query), RULES_EXAMINED):
            if (
                rule.is_deductive
                and rule.body
                and not rule.is_vacuous
                and not (rule.distinct_ends and source == answer)
            ):
                yield from self._missing_fact(rule, source, query, answer)

    def _missing_fact(self, rule: Rule, source: int, query: int, answer: int) -> Iterator[MissingFact]:
        """Yield the link that a rule is short of, the one that fewest facts would make; or nothing."""
        body = body_ids(rule, self.relations)
        there = reachable_sets(self.operators, body, source)
        back = reachable_sets_to(self.operators, body, answer)
        ways = [len(here) * len(onward) for here, onward in zip(there, back[1:], strict=False)]
        for place in sorted(np.flatnonzero(ways), key=lambda place: (ways[place], -place)):
            for ends in product(there[place][:2].tolist(), back[place + 1][:2].tolist()):
                if not self._is_asked(body[place], ends, (source, query, answer)):
                    before = next(find_paths(self.operators, body[:place], source, ends[0]))
                    after = next(find_paths(self.operators, body[place + 1 :], ends[1], answer))
                    if rule.satisfies_inequalities((*before, *after)):
                        yield MissingFact(rule, self._names((*before, *after)), int(place), ways[place])
                        return

    def _is_asked(self, k: int, ends: tuple[int, int], asked: tuple[int, int, int]) -> bool:
        """Return whether a link says what is asked, from either end: that is no reason for itself."""
        source, query, answer = asked
        return (ends[0], k, ends[1]) in {asked, (answer, self.relations.inverse(query), source)}

    def _predict(self, sources: Ids, query: int, k: int, known: bool) -> Predictions:
        queries = np.full(len(sources), query)
        scores = self.scorer.reached(sources, queries)
        facts = np.zeros(len(scores.values), dtype=bool)
        facts[scores.places(*self._known.pairs(sources, queries))] = True
        wanted = np.flatnonzero((scores.values > 0) & (known | ~facts))
        rows, values = scores.rows[wanted], scores.values[wanted]
        order = np.lexsort((-values, rows))
        # Rows are sorted, so a place less the place where its row begins is its place in the row.
        within = np.arange(len(rows)) - np.searchsorted(rows, rows)
        best = order[within < k]
        chosen = wanted[best]
        return Predictions(
            self.kb,
            self.relations.operator_name(query),
            sources[rows[best]],
            scores.entities[chosen],
            values[best],
            facts[chosen],
            len(sources),
        )


def has_logarithmic_scores(basis: Basis) -> bool:
    """Return whether the scores of a model or of rules are logarithms (those of weighted rules are)."""
    return choose_scorer(basis).has_logarithmic_scores


# Relations


def _relations_to_ask(kb: KnowledgeBase, basis: HasRelations | Sequence[Rule]) -> Relations:
    """Return the relations that can be asked: a model's own, or those of the facts and of the rules.

    Warns of relations of the facts that a model does not know, and of relations in bodies without facts.
    """
    if isinstance(basis, HasRelations):
        if unknown := require_relations(kb, basis):
            _warn(unknown, "the model does not know", "Left out")
        _warn_of_missing(kb, basis.relations)
        return basis.relations
    _warn_of_missing(kb, dict.fromkeys(relation_of(name) for rule in basis for name in rule.body))
    named = (relation_of(name) for rule in basis for name in (*rule.body, rule.target))
    return Relations(dict.fromkeys([*kb.relations, *named]))


def _warn_of_missing(kb: KnowledgeBase, relations: Iterable[str]) -> None:
    if missing := [name for name in relations if name not in kb.relations]:
        _warn(missing, "the knowledge base has no facts of", "Nothing follows from them")


def _warn(names: Sequence[str], what: str, effect: str) -> None:
    more = f" and {len(names) - 5:,} more" if len(names) > 5 else ""
    warnings.warn(f"{effect}: {what} {', '.join(map(repr, names[:5]))}{more}.", DataWarning, stacklevel=5)


def require_relations(kb: KnowledgeBase, model: HasRelations) -> list[str]:
    """Return the relations of `kb` that `model` does not know; raise when they share none."""
    if not any(name in model.relations for name in kb.relations):
        known = ", ".join(map(repr, model.relations[:5]))
        raise DataError(f"The knowledge base and the model share no relation. The model knows {known} ….")
    return [name for name in kb.relations if name not in model.relations]

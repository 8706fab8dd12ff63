"""The reasoner: answers, proofs, missing facts and predictions of a model or of rules on a knowledge base."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice

import numpy as np

from ..errors import ConfigError, require_positive
from ..evaluation import best_places, rank_within
from ..graph.arrays import Flags, Floats, Ids
from ..graph.iris import shorten
from ..graph.knowledge_base import KnowledgeBase, Triple
from ..graph.name_index import NameIndex
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, KnownFacts
from ..graph.scores import Scores
from ..graph.vocabulary import relation_of
from ..rules.paths import follow
from .answers import Answer, FoundEntity, Predictions, Proof, WhyNot
from .audit import Audit, Auditor
from .base import BaseReasoner
from .calibration import Calibration
from .changes import change_facts
from .evidence import GraphEvidence
from .frames import Answers, PredictionBatches
from .missing_facts import MissingFacts
from .probabilities import Probabilities
from .reasons import Reason, Rest, Term
from .relations import relations_to_ask, require_relations, with_canonical_names
from .scorers import Basis, HasRelations, RuleScorer, RuleShare, choose_scorer
from .verdicts import LIKELY, Verdict, verify

__all__ = ["Basis", "HasRelations", "Reasoner", "has_logarithmic_scores", "require_relations"]

#: Questions that `predict` scores at a time, to bound memory.
QUESTIONS_AT_ONCE = 8192

#: The share of a score that sums in another order may differ by.
ROUNDING = 1e-9

#: Paths of a reason that are counted.
MAX_PATHS = 999


class Reasoner(BaseReasoner):
    """Answers questions about a knowledge base with a model or rules, learned on it or on another."""

    def __init__(
        self,
        kb: KnowledgeBase,
        basis: Basis,
        engine: str = "auto",
        calibration: Calibration | None = None,
        operators: Operators | None = None,
    ) -> None:
        """Bind a model or rules to facts; `operators` are those of `kb` where another reasoner has them."""
        self.calibration = calibration
        self.basis = basis if isinstance(basis, HasRelations) else with_canonical_names(basis, kb.relations)
        relations = relations_to_ask(kb, self.basis) if operators is None else kb.relations
        super().__init__(kb, relations, engine, operators)

    @cached_property
    def scorer(self) -> RuleScorer:
        """The model or the rules, bound to the facts."""
        return choose_scorer(self.basis)(self.basis, self.kb, self.operators, self._engine)

    @cached_property
    def _known(self) -> KnownAnswers:
        return KnownFacts(self.operators)

    def changed(self, added: Iterable[Triple] = (), removed: Iterable[Triple] = ()) -> "Reasoner":
        """Return a reasoner over the same facts with some added and some removed; this one stays as it is.

        It answers as one that was made from the changed facts. New entities may occur; an entity that loses
        its last fact can still be asked about. Costs a copy of the edges, and neither names nor edges are
        sorted or numbered again.
        """
        kb, operators = change_facts(self.kb, self.operators, added, removed)
        return Reasoner(kb, self.basis, self._engine, self.calibration, operators)

    def scores(self, sources: Ids, queries: Ids) -> Scores:
        """Return a row of scores for each question."""
        return self.scorer.scores(sources, queries)

    def ask(
        self,
        *,
        head: str | None = None,
        tail: str | None = None,
        relation: str,
        k: int = 10,
        unlinked: bool = False,
    ) -> Answers:
        """Return the `k` best answers to (head, relation, ?) or (?, relation, tail); only scores above 0.

        With `unlinked` those that a fact of any relation links to the given end already are left out; ranks
        and probabilities stay those among all candidates.
        """
        source, query = self._question(head, relation, tail)
        row = entities, values = self._row(source, query)
        if unlinked:
            kept = ~np.isin(entities, self.operators.neighbours(np.array([source]))[1])
            entities, values = entities[kept], values[kept]
        best = best_places(values, k)
        return Answers(self._describe(source, query, entities[best], values[best], row))

    def explain(
        self,
        head: str,
        relation: str,
        tail: str,
        k: int = 3,
        *,
        with_terms: bool = True,
        without_itself: bool = False,
    ) -> Proof:
        """Return why (head, relation, tail) scores what it does: `k` terms, `k` reasons for and against.

        The terms, one for each rule and path, take as long as all the rest. `without_itself`: score, rank,
        probability and reasons of a known fact are those that it has if it alone is not known. Otherwise the
        score is that of `ask`, and a rule may lead to the fact along the fact itself.
        """
        source, query, answer, found = self._answer(head, relation, tail)
        if without_itself and found.is_known:
            proof = self._without(source, query, answer).explain(
                head, relation, tail, k, with_terms=with_terms
            )
            return replace(proof, answer=replace(proof.answer, is_known=True))
        if not found.score:
            return Proof(found, ())
        terms = islice(self.scorer.terms(source, query, answer), k * with_terms)
        told = tuple(Term(rule, self._names(path), value) for rule, path, value in terms)
        shares = self.scorer.shares(source, query, answer)
        sides = [[each for each in shares if (each.contribution < 0) == against] for against in (False, True)]
        ends = source, query, answer
        reasons, against = (tuple(self._reason(each, ends) for each in side[:k]) for side in sides)
        rests = _rest(sides[0][k:]), _rest(sides[1][k:])
        left = found.score - sum(share.contribution for share in shares)
        if abs(left) > ROUNDING * abs(found.score):  # a neural model has more terms than are grouped
            rests = Rest(None, rests[0].contribution + left), rests[1]
        return Proof(found, told, reasons, against, rests)

    def _without(self, source: int, query: int, answer: int) -> "Reasoner":
        """Return a reasoner over the same facts but one."""
        is_forward = query < len(self.relations)
        head, tail = (source, answer) if is_forward else (answer, source)
        relation = relation_of(self.relations.operator_name(query))
        return self.changed(removed=[(self.kb.entities[head], relation, self.kb.entities[tail])])

    def _reason(self, share: RuleShare, ends: tuple[int, int, int]) -> Reason:
        """Return what rules add to a score, with the strongest path of the first."""
        paths = iter(share.paths)
        path = self._names(next(paths))
        if share.rules[0].ignores_source:
            return Reason(share.rules, path, share.contribution, num_others=self._num_others(*ends))
        num_paths = 1 + sum(1 for _ in islice(paths, MAX_PATHS))
        return Reason(share.rules, path, share.contribution, num_paths)

    def _num_others(self, source: int, query: int, answer: int) -> int:
        """Return how many sources but this one have the answer."""
        having = follow(self.operators, np.array([answer]), self.relations.inverse(query))
        return int((having != source).sum())

    def why_not(self, head: str, relation: str, tail: str, k: int = 3) -> WhyNot:
        """Return the `k` weightiest rules that lack one fact to reach (head, relation, tail).

        And the rules against it. An answer follows where a rule reaches it and it scores above 0;
        rules that only order answers do not count.
        """
        source, query, answer, found = self._answer(head, relation, tail)
        reached = self.scorer.reached(np.array([source]), np.array([query]))
        follows = bool(reached.at(np.array([0]), np.array([answer]))[0] > 0)
        if follows:
            return WhyNot(found, follows, ())
        against = [share for share in self.scorer.shares(source, query, answer) if share.contribution < 0]
        reasons = tuple(self._reason(share, (source, query, answer)) for share in against[:k])
        rules = self.scorer.rules(query)
        missing_facts = islice(self._missing_facts.find(rules, (source, query, answer)), k)
        return WhyNot(found, follows, tuple(missing_facts), reasons)

    @cached_property
    def _missing_facts(self) -> MissingFacts:
        return MissingFacts(self.kb, self.operators)

    def verify(self, head: str, relation: str, tail: str, k: int = 3, threshold: float = LIKELY) -> Verdict:
        """Return whether a claim is true, likely, unlikely or unknown, with probability and proof.

        It is likely from the probability `threshold` on. Names that are not known make it unknown.
        """
        return verify(self, (head, relation, tail), k, threshold)

    def audit(
        self,
        relation: str | None = None,
        *,
        entity: str | None = None,
        limit: int = 20,
        k: int = 3,
        sample: int | None = None,
        seed: int = 0,
        on_done: Callable[[int], None] = lambda num: None,
    ) -> Audit:
        """Return the facts that the rules find least likely, each scored as if it alone were not known.

        Only facts of a relation or of an entity where one is given. At most `sample` facts are looked at
        (None: 20,000; 500 without weighted rules), drawn by `seed`; `Audit.num_examined` says how many.
        """
        return Auditor(self, relation, entity, sample, seed).run(limit, k, on_done)

    def find_entities(self, text: str, limit: int = 10) -> list[FoundEntity]:
        """Return the entities whose name matches a text, the best first.

        A name matches as a whole, by its beginning, by the beginning of any of its words, or with typos; case
        and accents do not count. Of equal matches the entity with more facts comes first. The first call
        builds an index (1.7 s for a million names).
        """
        require_positive("limit", limit)
        facts = np.diff(self.operators.offsets)
        return [
            FoundEntity(self.kb.entities[each.id], each.match, each.num_typos, int(facts[each.id]))
            for each in self._names_index.find(shorten(text.strip("<>")), limit)
        ]

    @cached_property
    def _names_index(self) -> NameIndex:
        return NameIndex(self.kb.entities.names, np.diff(self.operators.offsets))

    def predict(
        self,
        relations: Iterable[str] | None = None,
        k: int = 10,
        *,
        known: bool = False,
        unlinked: bool = False,
        also_known: KnowledgeBase | None = None,
    ) -> PredictionBatches:
        """Yield the `k` best answers of every source to every relation (`~name`: its inverse), in batches.

        Facts are left out unless `known`, and so are answers that no rule predicts: priors, nearness and
        links only order answers. `also_known` has facts of the same entities that are known but not answered
        from, such as those of a test part. With `unlinked` answers are left out that any of these facts links
        to the source already.
        """
        names = self.relations if relations is None else relations
        facts = self._known if also_known is None else self._with(also_known)
        links = [self.operators] if unlinked else []
        if unlinked and also_known is not None:
            links.append(Operators.of(also_known.with_relations(self.relations)))
        queries = [self.relations.operator_id(name) for name in names]
        firsts = range(0, len(self.kb.entities), QUESTIONS_AT_ONCE)
        parts = (
            (query, np.arange(first, min(first + QUESTIONS_AT_ONCE, len(self.kb.entities))))
            for query in queries
            for first in firsts
        )
        return PredictionBatches(
            self._predict(sources, query, k, known, links, facts) for query, sources in parts
        )

    def _with(self, others: KnowledgeBase) -> KnownAnswers:
        """Return the known answers of these facts and of others."""
        if others.entities != self.kb.entities:
            raise ConfigError("The facts that are also known must be about the same entities.")
        renumbered = others.with_relations(self.relations).facts
        return KnownAnswers(np.concatenate([self.kb.facts, renumbered]), len(self.relations))

    def _question(self, head: str | None, relation: str, tail: str | None) -> tuple[int, int]:
        if (head is None) == (tail is None):
            raise ConfigError("Give the head or the tail of the question, not both and not neither.")
        query = self.relations.operator_id(relation)
        if head is not None:
            return self._entity(head, query), query
        query = self.relations.inverse(query)
        return self._entity(str(tail), query), query

    def _entity(self, name: str, query: int) -> int:
        """Return the source of a query by its name; where it is an object, a value stands for its bin."""
        if query < len(self.relations):
            return self.kb.entities.id(name)
        return self.kb.entities.object_id(name, relation_of(self.relations.operator_name(query)))

    def _answer(self, head: str, relation: str, tail: str) -> tuple[int, int, int, Answer]:
        """Return source, query and answer of a fact as ids, and the answer with its score and rank."""
        source, query = self._question(head, relation, None)
        answer = self._entity(tail, self.relations.inverse(query))
        entities, values = self._row(source, query)
        score = values[entities == answer].sum(keepdims=True)
        described = self._describe(source, query, np.array([answer]), score, (entities, values))
        return source, query, answer, described[0]

    def _row(self, source: int, query: int) -> tuple[Ids, Floats]:
        """Return the entities with a score, and their scores."""
        return self.scores(np.array([source]), np.array([query])).row(0)

    def _describe(
        self, source: int, query: int, entities: Ids, scores: Floats, row: tuple[Ids, Floats]
    ) -> list[Answer]:
        """Return the given entities as answers, ranked among the scores of `row` (entities, scores)."""
        num_candidates = len(self.kb.entities) - int(np.isneginf(row[1]).sum())
        facts = self._known.pairs(np.array([source]), np.array([query]))[1]
        columns = zip(
            self._names(entities),
            np.where(np.isneginf(scores), 0, scores).tolist(),  # a source that is no candidate shows 0
            rank_within(scores, row[1], len(self.kb.entities)).realistic.tolist(),
            np.isin(entities, facts).tolist(),
            self._probabilities((source, query), scores, np.isin(entities, facts), row),
            strict=True,
        )
        name, operator = self.kb.entities[source], self.relations.operator_name(query)
        return [
            Answer(name, operator, entity, score, rank, num_candidates, known, probability)
            for entity, score, rank, known, probability in columns
        ]

    @cached_property
    def probabilities(self) -> Probabilities | None:
        """The probabilities of answers on these facts; None without a calibration."""
        if self.calibration is None:
            return None
        return Probabilities(self.calibration, self.relations, self.evidence)

    @cached_property
    def evidence(self) -> GraphEvidence:
        """What is known of each source, which probabilities depend on."""
        return GraphEvidence(self.operators, self.scorer.has_logarithmic_scores)

    def _probabilities(
        self, question: tuple[int, int], scores: Floats, known: Flags, row: tuple[Ids, Floats]
    ) -> list[float | None]:
        """Return the probabilities of answers with these scores; None for known facts."""
        if self.probabilities is None:
            return [None] * len(scores)
        found = self.probabilities.of(*question, scores, row).tolist()
        return [None if is_known else each for each, is_known in zip(found, known.tolist(), strict=True)]

    def _predict(
        self, sources: Ids, query: int, k: int, known: bool, links: list[Operators], answers: KnownAnswers
    ) -> Predictions:
        queries = np.full(len(sources), query)
        scores = self.scorer.reached(sources, queries)
        facts = np.zeros(len(scores.values), dtype=bool)
        facts[scores.places(*answers.pairs(sources, queries))] = True
        is_wanted = (scores.values > 0) & (known | ~facts)
        for each in links:
            is_wanted[scores.places(*each.neighbours(sources))] = False
        wanted = np.flatnonzero(is_wanted)
        rows, values = scores.rows[wanted], scores.values[wanted]
        order = np.lexsort((-values, rows))
        # Rows ascend, so an index minus that of its row's first entry is the position within the row.
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
            self._predicted(sources[rows[best]], query, values[best]),
        )

    def _predicted(self, sources: Ids, query: int, scores: Floats) -> Floats | None:
        """Return the probabilities of answers with these scores; `sources` has that of each, ascending."""
        if self.probabilities is None:
            return None
        return self.probabilities.of_many(self, sources, query, scores)


def has_logarithmic_scores(basis: Basis) -> bool:
    """Return whether the scores of a model or of rules are logarithms (those of weighted rules are)."""
    return choose_scorer(basis).has_logarithmic_scores


def _rest(shares: Sequence[RuleShare]) -> Rest:
    return Rest.of([share.contribution for share in shares])

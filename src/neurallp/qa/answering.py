"""Answers to questions in words: entity linking, neural scores, and paths along the rules asked for."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice

import numpy as np
import torch

from ..engines import make_engine
from ..engines.base import Engine
from ..errors import QuestionError, brief, quoted, require_positive
from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.scores import Scores
from ..graph.vocabulary import inverse_name
from ..neural.training import one_torch_thread
from ..reasoning.base import BaseReasoner
from ..reasoning.reasoner import require_relations
from ..rules.paths import find_paths
from ..rules.rule import Rule
from ..rules.support import body_ids, count_paths
from .answers import WordAnswer, WordAnswers, contradiction
from .confidence import AnswerCalibration, Wording, answer_features
from .entity_linking import Mention
from .examples import Interpretation
from .known_phrases import KnownPhrase, KnownPhrases
from .model import Phrase, QuestionModel
from .parsing import ParsedQuestion, QuestionParser
from .rules import DegreeExtension, DegreeStatistics, extract_by_degree

#: Rules whose confidence is at least this share of the question's best may lead to answers.
# Scores are normalised over what is reached: where the right rule reaches nothing, entities that other rules
# reach with a little attention would look like answers.
MIN_SHARE_OF_BEST = 0.3

#: Questions whose best answer is less likely to be right than this are not answered.
MIN_PROBABILITY = 0.5

#: Where another relation links the two names of a yes/no question, the answer no needs this probability.
MIN_PROBABILITY_OF_NO = 0.7

#: Rules of known phrases that decide, with the model, what an unknown phrase asks for; and the factor
#: by which a rule counts less for each further step.
NUM_NEAREST, SHORTER = 3, 0.8

#: What the model's own rule counts in a vote with the known phrases, as far as these resemble the phrase.
WEIGHT_OF_MODEL = 0.5

#: The share of similar entities that have facts of a relation, where one without them lacks them.
MIN_SHARE_OF_LIKE = 0.01

#: The target of a question's rules, which has no relation of its own.
TARGET = "answer"

#: A rule, and how many paths along it lead from the source to each entity.
FollowedRule = tuple[Rule, Scores]


@dataclass(frozen=True)
class Reading:
    """The rules that a question is taken to ask for, and how well known its wording is."""

    rules: tuple[Rule, ...]
    wording: Wording
    by_model: bool = True  # whether the rules are the model's, or that of the known phrases


@dataclass(frozen=True, eq=False)
class ScoredReading:
    """A reading with its answers, best first."""

    reading: Reading
    followed: list[FollowedRule]
    entities: Ids
    values: Floats

    def rule_to(self, entity: int) -> FollowedRule:
        """Return the most confident rule that leads to an entity."""
        return next(each for each in self.followed if entity in each[1].entities)

    def features(self, place: int) -> list[float]:
        """Return the features of one answer's probability."""
        rule, _ = self.rule_to(int(self.entities[place]))
        relative_score = float(self.values[place] / self.values[0])
        return answer_features(rule.confidence, self.reading.wording, relative_score)


class QuestionReasoner(BaseReasoner):
    """Answers questions in words about one knowledge base."""

    def __init__(
        self,
        kb: KnowledgeBase,
        model: QuestionModel,
        threshold: float = 0.1,
        engine: str = "auto",
        calibration: AnswerCalibration | None = None,
    ) -> None:
        require_relations(kb, model)
        super().__init__(kb, model.relations, engine)
        self.model = model.eval()
        self.calibration = calibration
        self.threshold = threshold
        self.parser = QuestionParser(self.kb, model.vocabulary)

    @cached_property
    def engine(self) -> Engine:
        """The engine that scores answers."""
        return make_engine(self._engine, self.operators)

    @cached_property
    def degrees(self) -> DegreeStatistics:
        """How many edges of each operator usually leave an entity."""
        return DegreeStatistics(self.operators)

    def ask(self, text: str, k: int = 10, min_probability: float = MIN_PROBABILITY) -> WordAnswers:
        """Return the answers above the threshold, at most `k`.

        Raise QuestionError where there is none, or none at least `min_probability` likely to be right.
        """
        require_positive("k", k)
        with one_torch_thread():
            return self._ask(text, k, min_probability)

    def _ask(self, text: str, k: int, min_probability: float) -> WordAnswers:
        parsed = self.parse(text)
        self._require_known_words(parsed[0].first.phrase)
        found = [answers for each in parsed if (answers := self._answer_parsed(each, k))]
        if not found:
            raise QuestionError(self._no_answer(parsed[0]))
        # A question for yes or no is read in two ways: it is true where either reading says so.
        best = max(found, key=lambda answers: (bool(answers.yes), _likelihood(answers[0])))
        unsure = best.yes is False and _likelihood(best[0]) < MIN_PROBABILITY_OF_NO
        if unsure and (relation := self._link(parsed[0])):
            raise QuestionError(contradiction(best, relation))
        if self.calibration and _likelihood(best[0]) < min_probability:
            raise QuestionError(_doubt(best, parsed[0].first.phrase, self))
        return best

    def parse(self, text: str) -> list[ParsedQuestion]:
        """Return what a question may ask, its misspelt and inflected words replaced by known ones."""
        return [self._repaired(each) for each in self.parser.parse(text)]

    def _repaired(self, parsed: ParsedQuestion) -> ParsedQuestion:
        phrase, misspelt = self.known.repair(parsed.first.phrase, self.model.vocabulary.counts)
        interpretations = tuple(replace(each, phrase=phrase) for each in parsed.interpretations)
        return replace(parsed, interpretations=interpretations, corrected=(*parsed.corrected, *misspelt))

    def _link(self, parsed: ParsedQuestion) -> str | None:
        """Return a relation between the two entities of a yes/no question, by any of their names."""
        for each in parsed.interpretations:
            edges = self.operators.edges_out_of(np.array([each.source]))
            there = np.isin(self.operators.targets[edges], [other.entity for other in parsed.claims])
            if there.any():
                return self.relations.operator_name(int(self.operators.operators[edges][there][0]))
        return None

    def _answer_parsed(self, parsed: ParsedQuestion, k: int) -> WordAnswers | None:
        """Return the answers from the first interpretation that has any; all names fit the same words."""
        for interpretation in parsed.interpretations:
            every = self._answers(interpretation)
            for mention in parsed.joined:
                other = self._answers(Interpretation(mention, interpretation.phrase))
                every = _common(every, other)
            if every:
                return _describe(parsed, interpretation.mention, every, k)
        return None

    def _require_known_words(self, phrase: Phrase) -> None:
        if not any(word in self.model.vocabulary for word in phrase.words):
            words = brief(", ".join(islice(self.model.vocabulary.counts, 5)))
            raise QuestionError(
                "No word of the question, beside the name, was in the questions learned from; "
                f"those had words such as {words}. Ask in their language."
            )

    def _no_answer(self, parsed: ParsedQuestion) -> str:
        if parsed.joined:
            names = " and ".join(quoted(each.name) for each in (parsed.first.mention, *parsed.joined))
            return f"The knowledge base has no answer that {names} have in common."
        names = " or ".join(quoted(each.mention.name) for each in parsed.interpretations)
        near = self.nearest(parsed.first.phrase)
        rules = self.rules(parsed.first.source, parsed.first.phrase)
        if near and near[0][0] == 1:
            rules = [self._rule(near[0][1].body, 1.0)]
        along = f" along {rules[0]}" if rules else ""
        return f"The knowledge base has no answer: no facts lead from {names}{along}."

    @torch.no_grad()
    def rules(self, source: int, phrase: Phrase) -> list[Rule]:
        """Return the rules that a question asks for: the most confident, and those close to it."""
        attention = self.model.attend([phrase])
        operator, memory = (each[:, 0].double().cpu().numpy() for each in attention.pair)
        first = self.degrees.of(source)
        extension = DegreeExtension(first, self.degrees.after, self.model.config.normalize)
        found = extract_by_degree(operator, memory, extension)
        name = self.relations.operator_name
        return [
            self._rule(tuple(map(name, body)), confidence)
            for body, confidence in found
            if confidence >= MIN_SHARE_OF_BEST * found[0][1]
        ]

    def _rule(self, body: tuple[str, ...], confidence: float) -> Rule:
        if self.model.config.may_return:
            return Rule(TARGET, body, confidence)
        inequalities = tuple((0, place) for place in range(1, len(body)))
        return Rule(TARGET, body, confidence, distinct_ends=True, inequalities=inequalities)

    def _answers(self, interpretation: Interpretation) -> list[WordAnswer]:
        """Return all answers above the threshold, best first."""
        scored = self.score(interpretation.source, interpretation.phrase)
        return [self._answer(interpretation.source, scored, i) for i in range(len(scored.entities))]

    @property
    def known(self) -> KnownPhrases:
        """The phrases of the training questions; none without a calibration."""
        return KnownPhrases() if self.calibration is None else self.calibration.known

    def nearest(self, phrase: Phrase) -> list[tuple[float, KnownPhrase]]:
        """Return the known phrases most similar to a phrase with their similarity, best first."""
        return self.known.nearest(phrase)[:NUM_NEAREST]

    def similar_questions(self, text: str) -> list[str]:
        """Return the known questions most similar to one, about the same entity, best first."""
        first = self.parse(text)[0].first
        return [known.about(first.mention.name) for _, known in self.nearest(first.phrase)]

    def example_questions(self) -> Iterator[str]:
        """Yield the most frequent question for each rule, about an entity that the rule starts from."""
        first: dict[tuple[str, ...], KnownPhrase] = {}
        for known in self.known.phrases:
            first.setdefault(known.body, known)
        for body, known in sorted(first.items(), key=lambda each: len(each[0])):
            edges = self.operators.edges_by_operator(self.relations.operator_id(body[0]))
            if len(edges):
                yield known.about(self.kb.entities[int(self.operators.sources_at(edges[:1])[0])])

    def read(self, source: int, phrase: Phrase) -> Reading:
        """Return the rules that a phrase asks for, by the model and by the known phrases that are similar."""
        rules, near = tuple(self.rules(source, phrase)), self.known.nearest(phrase)
        if not near or near[0][0] == 1:
            lacks = bool(near) and self._lacks(source, near[0][1].body)
            return Reading(() if lacks else rules, Wording(1.0, 1.0, 1.0))
        votes, missed = self._vote(source, phrase, near)
        if rules and self._applicable(source, rules[0].body) == rules[0].body:
            trust = WEIGHT_OF_MODEL * max(0.0, 2 * near[0][0] - 1)
            votes[rules[0].body] = votes.get(rules[0].body, 0.0) + trust * _simplicity(rules[0].body)
        body = max(votes, key=lambda each: votes[each], default=())
        agreement = votes.get(body, 0.0) / (sum(votes.values()) + missed or 1.0)
        similarity = max(near[0][0], self.known.composed(phrase, body, self._ends_alike))
        wording = Wording(self._known_words(phrase), similarity, agreement)
        if not body or (rules and body == rules[0].body):
            return Reading(rules, wording)
        return Reading((self._rule(body, agreement),), wording, by_model=False)

    def _vote(
        self, source: int, phrase: Phrase, near: list[tuple[float, KnownPhrase]]
    ) -> tuple[dict[tuple[str, ...], float], float]:
        """Return the rules of the nearest phrases that can be asked of a source, with their similarity.

        Also return the similarity of phrases that cannot be asked of it and are nearer than each that can.
        """
        votes: dict[tuple[str, ...], float] = {}
        missed = 0.0
        for similarity, known in near:
            if body := self._applicable(source, known.body):
                similar = max(similarity, self.known.composed(phrase, body, self._ends_alike))
                votes.setdefault(body, similar * _simplicity(body))
            elif not votes:
                missed = max(missed, similarity)
            if len(votes) >= NUM_NEAREST:
                break
        return votes, missed

    def _ends_alike(self, *names: str) -> bool:
        """Return whether two operators lead to entities of the same kind."""
        return self.degrees.reach_alike(*map(self.relations.operator_id, names))

    def _known_words(self, phrase: Phrase) -> float:
        """Return the share of a phrase's words that are in training questions."""
        return sum(word in self.model.vocabulary for word in phrase.words) / max(1, len(phrase.words))

    def _applicable(self, source: int, body: tuple[str, ...]) -> tuple[str, ...]:
        """Return a body that can start at the source: as it is, or from its other end; or ()."""
        backwards = tuple(inverse_name(name) for name in reversed(body))
        counts = self.degrees.counts(source)
        can_start = (each for each in (body, backwards) if counts[self.relations.operator_id(each[0])] > 0)
        return next(can_start, ())

    def _lacks(self, source: int, body: tuple[str, ...]) -> bool:
        """Return whether an entity has no fact for the first step of a rule, though similar entities have.

        Similar ones have the operator that it has most facts of; one in a hundred must have the fact.
        """
        counts, wanted = self.degrees.counts(source), self.relations.operator_id(body[0])
        if counts[wanted] > 0 or not counts.any():
            return False
        like, having = (
            np.unique(self.operators.sources[self.operators.edges_by_operator(each)])
            for each in (int(counts.argmax()), wanted)
        )
        return bool(np.isin(like, having).mean() > MIN_SHARE_OF_LIKE)

    def score(self, source: int, phrase: Phrase) -> "ScoredReading":
        """Return what a phrase around an entity asks for, and the answers to it above the threshold."""
        sources, reading = np.array([source]), self.read(source, phrase)
        followed = [(rule, self._follow(rule, sources)) for rule in reading.rules]
        if reading.by_model:
            entities, values = self.model.scores(self.engine, sources, [phrase]).row(0)
        else:
            entities, values = followed[0][1].row(0)
        reached = np.concatenate([sources[:0], *(paths.entities for _, paths in followed)])
        kept = np.isin(entities, reached)
        chosen = self._choose(values[kept])
        return ScoredReading(reading, followed, entities[kept][chosen], values[kept][chosen])

    def _choose(self, values: Floats) -> Ids:
        """Return the positions of the best scores that are above the threshold, best first."""
        order = np.argsort(-values, kind="stable")
        above = (values > 0) & (values >= self.threshold * values.max(initial=0.0))
        chosen: Ids = order[above[order]]
        return chosen

    def _follow(self, rule: Rule, source: Ids) -> Scores:
        """Return how many paths along a rule lead from the source to each entity."""
        body = body_ids(rule, self.relations)
        return count_paths(self.operators, body, rule.all_inequalities, source)

    def _answer(self, source: int, scored: "ScoredReading", place: int) -> WordAnswer:
        """Return an answer with the most confident rule that leads to it and the first path along it."""
        entity = int(scored.entities[place])
        rule, paths = scored.rule_to(entity)
        num_paths = int(paths.at(np.array([0]), np.array([entity]))[0])
        body = body_ids(rule, self.relations)
        path = next(filter(rule.satisfies_inequalities, find_paths(self.operators, body, source, entity)))
        names = self._names(path)
        calibration = self.calibration
        probability = None if calibration is None else calibration.probability(scored.features(place))
        score = float(scored.values[place])
        return WordAnswer(names[-1], score, probability, rule.confidence, rule, names, num_paths)


def _common(answers: list[WordAnswer], others: list[WordAnswer]) -> list[WordAnswer]:
    """Return the answers that are among the others too, each as likely as the less likely of both."""
    theirs = {other.entity: other for other in others}
    return [
        min(answer, replace(answer, probability=theirs[answer.entity].probability), key=_likelihood)
        for answer in answers
        if answer.entity in theirs
    ]


def _simplicity(body: tuple[str, ...]) -> float:
    """Return the factor of a rule in votes: people ask for short chains more often than for long ones."""
    return SHORTER ** (len(body) - 1)


def _likelihood(answer: WordAnswer) -> float:
    return answer.probability or 0.0


def _describe(parsed: ParsedQuestion, source: Mention, every: list[WordAnswer], k: int) -> WordAnswers:
    """Return the first answers with what was understood of the question."""
    claimed = None if parsed.claimed is None else parsed.claimed.name
    claims = {mention.name for mention in parsed.claims}
    same = [each.mention for each in parsed.interpretations if each.mention.score == source.score]
    ambiguous = dict.fromkeys(mention.name for mention in same)
    return WordAnswers(
        parsed.text,
        source.name,
        tuple(every[:k]),
        tuple(mention.name for mention in parsed.joined),
        parsed.corrected,
        tuple(mention.name for mention in parsed.unused),
        tuple(name for name in ambiguous if name != source.name),
        claimed,
        next((answer for answer in every if answer.entity in claims), None),
    )


def _doubt(found: WordAnswers, phrase: Phrase, reasoner: QuestionReasoner) -> str:
    """Return what was understood of a question that is not clear, and the questions nearest to it."""
    best = found[0]
    offered = "; ".join(known.about(found.source) for _, known in reasoner.nearest(phrase))
    return (
        f"Not sure what is asked of {quoted(found.source)}: understood {best.rule}, which is right with "
        f"probability {best.probability:.2f} only. Did you mean: {offered}?"
    )

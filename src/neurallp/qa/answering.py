"""Answers to questions in words: entity linking, neural scores, and paths along the rules asked for."""

from functools import cached_property
from itertools import islice

import numpy as np
import torch

from ..engines import make_engine
from ..engines.base import Engine
from ..errors import QuestionError, require_positive
from ..graph.arrays import Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.scores import Scores
from ..neural.training import one_torch_thread
from ..reasoning.reasoner import BaseReasoner, require_relations
from ..rules.paths import find_paths
from ..rules.rule import Rule
from ..rules.support import body_ids, count_paths
from .answers import WordAnswer, WordAnswers
from .examples import Interpretation, Interpreter
from .model import Phrase, QuestionModel
from .rules import DegreeExtension, DegreeStatistics, extract_by_degree

#: Rules whose confidence is at least this share of the question's best may lead to answers.
# Scores are normalised over what is reached: where the right rule reaches nothing, entities that other rules
# reach with a little attention would look like answers.
MIN_SHARE_OF_BEST = 0.3

#: The target of a question's rules, which has no relation of its own.
TARGET = "answer"

#: A rule, and how many paths along it lead from the source to each entity.
FollowedRule = tuple[Rule, Scores]


class QuestionReasoner(BaseReasoner):
    """Answers questions in words about one knowledge base."""

    def __init__(
        self, kb: KnowledgeBase, model: QuestionModel, threshold: float = 0.1, engine: str = "auto"
    ) -> None:
        require_relations(kb, model)
        super().__init__(kb, model.relations, engine)
        self.model = model.eval()
        self.threshold = threshold
        self.interpreter = Interpreter(self.kb, model.vocabulary)

    @cached_property
    def engine(self) -> Engine:
        """The engine that scores answers."""
        return make_engine(self._engine, self.operators)

    @cached_property
    def degrees(self) -> DegreeStatistics:
        """How many edges of each operator usually leave an entity."""
        return DegreeStatistics(self.operators)

    def ask(self, text: str, k: int = 10) -> WordAnswers:
        """Return the answers above the threshold, at most `k`; raise QuestionError where there is none."""
        require_positive("k", k)
        with one_torch_thread():
            return self._ask(text, k)

    def _ask(self, text: str, k: int) -> WordAnswers:
        interpretations = self.interpreter.interpret(text)
        first = interpretations[0]
        self._require_known_words(first.phrase)
        # Only entities that share the first one's name are tried: others in the text would be a guess.
        same_name = [each for each in interpretations if each.phrase == first.phrase]
        for interpretation in same_name:
            if answers := self._answers(interpretation, k):
                return _describe(text, interpretation, interpretations, answers)
        raise QuestionError(self._no_answer(same_name))

    def _require_known_words(self, phrase: Phrase) -> None:
        if not any(word in self.model.vocabulary for word in phrase.words):
            words = ", ".join(islice(self.model.vocabulary.counts, 5))
            raise QuestionError(
                "No word of the question, beside the name, was in the questions learned from; "
                f"those had words such as {words}. Ask in their language."
            )

    def _no_answer(self, interpretations: list[Interpretation]) -> str:
        names = " or ".join(repr(each.mention.name) for each in interpretations)
        rules = self.rules(interpretations[0])
        along = f" along {rules[0]}" if rules else ""
        return f"The knowledge base has no answer: no facts lead from {names}{along}."

    @torch.no_grad()
    def rules(self, interpretation: Interpretation) -> list[Rule]:
        """Return the rules that a question asks for: the most confident, and those close to it."""
        attention = self.model.attend([interpretation.phrase])
        operator, memory = (each[:, 0].double().cpu().numpy() for each in attention.pair)
        first = self.degrees.of(interpretation.source)
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

    def _answers(self, interpretation: Interpretation, k: int) -> list[WordAnswer]:
        source = np.array([interpretation.source])
        followed = [(rule, self._follow(rule, source)) for rule in self.rules(interpretation)]
        entities, values = self.model.scores(self.engine, source, [interpretation.phrase]).row(0)
        reached = np.isin(entities, np.concatenate([source[:0], *(paths.entities for _, paths in followed)]))
        entities, values = entities[reached], values[reached]
        chosen = self._choose(values, k)
        return [
            self._answer(interpretation.source, int(entities[i]), float(values[i]), followed) for i in chosen
        ]

    def _choose(self, values: Floats, k: int) -> Ids:
        """Return the positions of the best scores that are above the threshold, best first."""
        order = np.argsort(-values, kind="stable")
        above = (values > 0) & (values >= self.threshold * values.max(initial=0.0))
        chosen: Ids = order[above[order]][:k]
        return chosen

    def _follow(self, rule: Rule, source: Ids) -> Scores:
        """Return how many paths along a rule lead from the source to each entity."""
        body = body_ids(rule, self.relations)
        return count_paths(self.operators, body, rule.all_inequalities, source)

    def _answer(self, source: int, entity: int, score: float, followed: list[FollowedRule]) -> WordAnswer:
        """Return an answer with the most confident rule that leads to it and the first path along it."""
        rule, paths = next(each for each in followed if entity in each[1].entities)
        num_paths = int(paths.at(np.array([0]), np.array([entity]))[0])
        body = body_ids(rule, self.relations)
        path = next(filter(rule.satisfies_inequalities, find_paths(self.operators, body, source, entity)))
        names = self._names(path)
        return WordAnswer(names[-1], score, rule.confidence, rule, names, num_paths)


def _describe(
    text: str,
    chosen: Interpretation,
    interpretations: list[Interpretation],
    answers: list[WordAnswer],
) -> WordAnswers:
    """Return answers with the other entities that the text may name."""
    mention = chosen.mention
    others = [each.mention for each in interpretations if each.mention.name != mention.name]
    span = (mention.start, mention.stop)
    ambiguous = [other.name for other in others if (other.start, other.stop) == span]
    return WordAnswers(
        text,
        mention.name,
        tuple(answers),
        tuple(dict.fromkeys(other.name for other in others)),
        tuple(dict.fromkeys(ambiguous)),
    )

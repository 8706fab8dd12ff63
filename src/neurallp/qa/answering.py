"""Answers to questions in words: the entities, the rule that was followed, and the facts behind them."""

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
import torch

from ..engines import make_engine
from ..engines.base import Engine
from ..errors import QuestionError, require_positive
from ..graph.arrays import Body, Floats, Ids
from ..graph.knowledge_base import KnowledgeBase
from ..graph.operators import Operators
from ..graph.vocabulary import INVERSE_MARK
from ..neural.training import one_torch_thread
from ..rules.rule import Rule, atom
from .examples import Reader, Reading
from .model import Phrase, QuestionModel

#: A rule is followed for an answer when it is at least this sure, as a share of the question's surest.
# Scores are shares of what is reached: where the right rule leads nowhere, leaks of others look like answers.
MIN_SHARE_OF_BEST = 0.3

#: Bodies kept for each memory while the likeliest are looked for.
BEAM = 64

TARGET = "answer"


@dataclass(frozen=True)
class WordAnswer:
    """One answer: its score, the rule it was found by, that rule's confidence, and a path of facts."""

    entity: str
    score: float
    confidence: float
    rule: Rule
    path: tuple[str, ...]
    num_paths: int

    @property
    def because(self) -> str:
        """The facts along the path."""
        links = zip(self.rule.body, self.path, self.path[1:], strict=False)
        return " and ".join(atom(*link) for link in links)

    def as_dict(self) -> dict[str, object]:
        """Return the answer as one JSON object."""
        return {
            "entity": self.entity,
            "score": self.score,
            "confidence": self.confidence,
            "rule": str(self.rule),
            "in_words": rule_in_words(self.rule, self.path[0]),
            "path": list(self.path),
            "because": self.because,
            "num_paths": self.num_paths,
        }


@dataclass(frozen=True)
class WordAnswers:
    """What a question was taken to be about, and its answers, the best first."""

    question: str
    source: str
    answers: tuple[WordAnswer, ...]
    others: tuple[str, ...] = ()  # further entities that the text may name
    ambiguous_mentions: tuple[str, ...] = ()  # those among them whose name stands at the same place

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, place: int) -> WordAnswer:
        return self.answers[place]

    @property
    def note(self) -> str:
        """What the reader should know about the entity: that the name fits several."""
        if not self.ambiguous_mentions:
            return ""
        names = ", ".join(map(repr, self.ambiguous_mentions))
        return (
            f"Taken to be about {self.source!r}; the name also fits {names}. Mark the one you mean: [name]."
        )

    def as_dict(self) -> dict[str, object]:
        """Return all of it as one JSON object."""
        return {
            "question": self.question,
            "source": self.source,
            "others": list(self.others),
            "note": self.note,
            "answers": [answer.as_dict() for answer in self.answers],
        }


def rule_in_words(rule: Rule, source: str) -> str:
    """Return where a rule leads, as a sentence.

    >>> rule = Rule("answer", ("directed_by", "~directed_by"), 1.0, distinct_ends=True, apart=((0, 1),))
    >>> rule_in_words(rule, "Alien")
    'From Alien to its directed by, then to all that have it as directed by; never back to Alien.'
    """
    steps = (
        f"to all that have it as {_spoken(name)}"
        if name.startswith(INVERSE_MARK)
        else f"to its {_spoken(name)}"
        for name in rule.body
    )
    end = f"; never back to {source}" if rule.never_returns else ""
    return f"From {source} {', then '.join(steps)}{end}."


def _spoken(name: str) -> str:
    return name.removeprefix(INVERSE_MARK).removeprefix("has_").replace("_", " ")


class QuestionReasoner:
    """Answers questions in words about one knowledge base."""

    def __init__(
        self, kb: KnowledgeBase, model: QuestionModel, threshold: float = 0.1, engine: str = "auto"
    ) -> None:
        self.kb = kb.with_relations(model.relations)
        self.model = model.eval()
        self.threshold = threshold
        self.operators = Operators.of(self.kb)
        self.reader = Reader(self.kb, model.vocabulary)
        self._engine_name = engine

    @cached_property
    def engine(self) -> Engine:
        """The engine that walks for the model."""
        return make_engine(self._engine_name, self.operators)

    def ask(self, text: str, k: int = 10) -> WordAnswers:
        """Return the answers above the threshold, at most `k`; raise where there is none to be had."""
        require_positive("k", k)
        with one_torch_thread():
            return self._ask(text, k)

    def _ask(self, text: str, k: int) -> WordAnswers:
        readings = self.reader.readings(text)
        self._require_known_words(readings[0].phrase)
        # Only namesakes are tried in turn: an answer about something else in the text would be a guess.
        ambiguous_mentions = [reading for reading in readings if reading.phrase == readings[0].phrase]
        for reading in ambiguous_mentions:
            if answers := self._answers(reading, k):
                return self._describe(text, reading, readings, answers)
        raise QuestionError(self._no_answer(ambiguous_mentions))

    def rules(self, reading: Reading) -> list[Rule]:
        """Return the rules that a question asks for: the surest, and those nearly as sure."""
        return [self._rule(body, confidence) for body, confidence in self._bodies(reading)]

    def _rule(self, body: Body, confidence: float) -> Rule:
        names = tuple(map(self.model.relations.operator_name, body))
        if self._may_return:
            return Rule(TARGET, names, confidence)
        inequalities = tuple((0, place) for place in range(1, len(body)))
        return Rule(TARGET, names, confidence, distinct_ends=True, inequalities=inequalities)

    @property
    def _may_return(self) -> bool:
        return self.model.config.may_return

    @torch.no_grad()
    def _bodies(self, reading: Reading) -> list[tuple[Body, float]]:
        attention = self.model.attend([reading.phrase])
        operator, memory = (each[:, 0].double().cpu().numpy() for each in attention.pair)
        edges = self.customs.of(reading.source), self.customs.onward
        found = weigh_bodies(operator, memory, *edges, self.model.config.normalize)
        return [(body, c) for body, c in found if c >= MIN_SHARE_OF_BEST * found[0][1]]

    @cached_property
    def customs(self) -> "DegreeStatistics":
        """What usually can be done where."""
        return DegreeStatistics(self.operators)

    def _require_known_words(self, phrase: Phrase) -> None:
        if not any(word in self.model.vocabulary for word in phrase.words):
            words = ", ".join(islice(self.model.vocabulary.counts, 5))
            raise QuestionError(
                "No word of the question, beside the name, was in the questions learned from; "
                f"those had words such as {words}. Ask in their language."
            )

    def _answers(self, reading: Reading, k: int) -> list[WordAnswer]:
        source, phrase = reading.source, reading.phrase
        trails = [(body, c, self._follow(source, body)) for body, c in self._bodies(reading)]
        scores = self.model.scores(self.engine, np.array([source]), [phrase])
        entities, values = scores.row(0)
        ends = [trail[-1][0] for _, _, trail in trails]
        reached = np.isin(entities, np.concatenate([np.zeros(0, dtype=np.int64), *ends]))
        entities, values = entities[reached], values[reached]
        order = np.argsort(-values, kind="stable")
        likely = (values > 0) & (values >= self.threshold * values.max(initial=0.0))
        chosen = order[likely[order]][:k]
        return [self._answer(source, int(entities[i]), float(values[i]), trails) for i in chosen]

    def _answer(
        self, source: int, entity: int, score: float, trails: "list[tuple[Body, float, Trail]]"
    ) -> WordAnswer:
        body, confidence, trail = next(each for each in trails if entity in each[2][-1][0])
        rule = self._rule(body, confidence)
        path = tuple(self.kb.entities[e] for e in self._trace(body, trail, entity))
        last, counts = trail[-1]
        num_paths = int(counts[np.searchsorted(last, entity)])
        return WordAnswer(self.kb.entities[entity], score, confidence, rule, path, num_paths)

    def _follow(self, source: int, body: Body) -> "Trail":
        """Return the entities after each step of a body, ascending, and how many paths lead to each."""
        trail: Trail = [(np.array([source]), np.array([1]))]
        for operator in body:
            entities, counts = trail[-1]
            edges = self.operators.edges_out_of(entities)
            edges = edges[self.operators.operators[edges] == operator]
            if not self._may_return:
                edges = edges[self.operators.targets[edges] != source]
            start = np.searchsorted(entities, self.operators.sources[edges])
            reached, place = np.unique(self.operators.targets[edges], return_inverse=True)
            paths = np.zeros(len(reached), dtype=np.int64)
            np.add.at(paths, place, counts[start])
            trail.append((reached, paths))
        return trail

    def _trace(self, body: Body, trail: "Trail", answer: int) -> list[int]:
        """Return the entities of one path along a body, found backwards from the answer."""
        path = [answer]
        for operator, (entities, _) in zip(reversed(body), reversed(trail[:-1]), strict=True):
            edges = self.operators.edges_out_of(np.array([path[0]]))
            back = self.operators.operators[edges] == self.model.relations.inverse(operator)
            befores = self.operators.targets[edges[back]]
            path.insert(0, int(befores[np.isin(befores, entities)][0]))
        return path

    def _describe(
        self, text: str, taken: Reading, readings: list[Reading], answers: list[WordAnswer]
    ) -> WordAnswers:
        mention = taken.mention
        others = [other.mention for other in readings if other.mention.name != mention.name]
        at_the_place = (mention.start, mention.stop)
        ambiguous_mentions = [other.name for other in others if (other.start, other.stop) == at_the_place]
        return WordAnswers(
            text,
            mention.name,
            tuple(answers),
            tuple(dict.fromkeys(other.name for other in others)),
            tuple(dict.fromkeys(ambiguous_mentions)),
        )

    def _no_answer(self, readings: list[Reading]) -> str:
        names = " or ".join(repr(reading.mention.name) for reading in readings)
        rules = self.rules(readings[0])
        along = f" along {rules[0]}" if rules else ""
        return f"The knowledge base has no answer: no facts lead from {names}{along}."


class DegreeStatistics:
    """How many edges of which operator usually leave an entity of some kind.

    Memories are divided by their sums, so attention on what leads nowhere costs nothing and is not
    unlearned: asked about an actor, it may rest on release_year. Alpha alone would take that for a rule.
    But a film of which no language is told is one that could have a language: that is no answer, not no rule.
    """

    def __init__(self, operators: Operators) -> None:
        size = operators.num_operators
        self._counts = np.zeros((operators.num_entities, size), dtype=np.float32)
        np.add.at(self._counts, (operators.sources, operators.operators), 1.0)
        #: (k, l): the edges of l that leave the target of an edge of k, in the mean
        self.onward = np.zeros((size, size))
        #: (k, l): the edges of l that leave an entity with an edge of k, in the mean
        self.beside = np.zeros((size, size))
        for k in np.unique(operators.operators):
            self.onward[k] = self._counts[operators.targets[operators.operators == k]].mean(axis=0)
            self.beside[k] = self._counts[self._counts[:, k] > 0].mean(axis=0)

    def of(self, entity: int) -> Floats:
        """Return the edges that leave an entity, and where there are none, those that usually would."""
        counts = self._counts[entity].astype(np.float64)
        usual = self.beside[counts > 0].max(axis=0, initial=0.0)
        likely: Floats = np.where(counts > 0, counts, usual)
        return likely


def weigh_bodies(
    operator: Floats, memory: Floats, first: Floats, onward: Floats, normalize: bool
) -> list[tuple[Body, float]]:
    """Return the likeliest bodies with their shares: algorithm 1, each step times how many edges it has.

    `first` says so for the source and `onward` after each operator. As memories are divided by their sums,
    so are the partial bodies of a memory here; of each only the likeliest are kept.
    """
    weights: defaultdict[Body, float] = defaultdict(float)
    for a, b in zip(operator, memory, strict=True):
        for body, weight in _weigh_rank(a, b, first, onward, normalize).items():
            weights[body] += weight
    weights.pop((), None)
    total = sum(weights.values()) or 1.0
    return sorted(((body, weight / total) for body, weight in weights.items()), key=lambda each: -each[1])


def _weigh_rank(a: Floats, b: Floats, first: Floats, onward: Floats, normalize: bool) -> dict[Body, float]:
    memories: list[dict[Body, float]] = [{(): 1.0}]
    for step, weights in zip(a, b, strict=False):
        read = _read(memories, weights)
        bodies = list(read)
        edges = np.array([onward[body[-1]] if body else first for body in bodies]).reshape(-1, len(step))
        values = np.array([read[body] for body in bodies])[:, None] * step * edges
        if normalize:
            values /= values.sum() or 1.0
        memories.append({(*bodies[n], k): float(values[n, k]) for n, k in _largest(values)})
    return _read(memories, b[-1])


def _read(memories: list[dict[Body, float]], weights: Floats) -> dict[Body, float]:
    read: defaultdict[Body, float] = defaultdict(float)
    for bodies, weight in zip(memories, weights, strict=False):
        for body, value in bodies.items():
            if weight * value > 0:
                read[body] += weight * value
    return read


def _largest(values: Floats) -> list[tuple[int, int]]:
    """Return the places of the largest values above 0, as many as the beam is wide."""
    flat = np.argsort(-values, axis=None, kind="stable")[:BEAM]
    rows, columns = np.unravel_index(flat[values.reshape(-1)[flat] > 0], values.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


Trail = list[tuple[Ids, Ids]]

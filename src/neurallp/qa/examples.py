"""Questions: as they are written, and as they are understood."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import QuestionError
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from .entity_linking import MARK, EntityLinker, Mention, unmark
from .model import Phrase
from .tokens import WordVocabulary, split_words, tokenise


@dataclass(frozen=True)
class WordQuestion:
    """A question as it is written, perhaps with its [entity] marked; its right answers; its type."""

    text: str
    answers: tuple[str, ...] = ()
    kind: str | None = None

    @property
    def is_marked(self) -> bool:
        """Whether the text says which entity it is about."""
        return MARK.search(self.text) is not None

    @property
    def unmarked(self) -> "WordQuestion":
        """The same question as a person would type it."""
        return WordQuestion(unmark(self.text), self.answers, self.kind)


@dataclass(frozen=True)
class Reading:
    """A question understood: the entity it starts from and what it says beside it."""

    mention: Mention
    phrase: Phrase

    @property
    def source(self) -> int:
        """The entity's number."""
        return self.mention.entity


def read_phrase(text: str, mention: Mention) -> Phrase:
    """Return the words of a text without those that name its entity."""
    before, after = text[: mention.start], text[mention.stop :]
    words = [[token.word for token in tokenise(part)] for part in (before, after)]
    return Phrase((*words[0], *words[1]), len(words[0]))


class Reader:
    """Reads questions about one knowledge base."""

    def __init__(self, kb: KnowledgeBase, vocabulary: WordVocabulary | None = None) -> None:
        self.kb = kb
        self.vocabulary = vocabulary

    @cached_property
    def spotter(self) -> EntityLinker:
        """What finds the entities."""
        return EntityLinker(self.kb.entities)

    def readings(self, text: str) -> list[Reading]:
        """Return the ways a question can be understood, the likeliest first; raise when there is none."""
        split_words(text)
        surprisal = len if self.vocabulary is None else self.vocabulary.surprisal
        mentions = self.spotter.require(text, surprisal)
        return [Reading(mention, read_phrase(text, mention)) for mention in mentions]


@dataclass(frozen=True, eq=False)
class Lessons:
    """Questions with their source, words and right answers, one row each; answers are a ragged array."""

    sources: Ids
    phrases: tuple[Phrase, ...]
    offsets: Ids  # (question + 1,)
    answers: Ids  # the right answers that the knowledge base knows
    num_right: Ids  # (question,) all right answers, known or not
    kinds: tuple[str | None, ...]

    @classmethod
    def of(
        cls, readings: Sequence[Reading], questions: Sequence[WordQuestion], kb: KnowledgeBase
    ) -> "Lessons":
        """Return the lessons of questions as they were understood."""
        answers = [_known_answers(question, kb) for question in questions]
        return cls(
            np.array([reading.source for reading in readings], dtype=np.int64),
            tuple(reading.phrase for reading in readings),
            np.concatenate([[0], np.cumsum([len(ids) for ids in answers])]).astype(np.int64),
            np.array([answer for ids in answers for answer in ids], dtype=np.int64),
            np.array([len(set(question.answers)) for question in questions], dtype=np.int64),
            tuple(question.kind for question in questions),
        )

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: Ids) -> "Lessons":
        counts = np.diff(self.offsets)[rows]
        kept = np.concatenate([np.zeros(0, dtype=np.int64), *(self.answers_of(row) for row in rows)])
        return Lessons(
            self.sources[rows],
            tuple(self.phrases[row] for row in rows),
            np.concatenate([[0], np.cumsum(counts)]),
            kept,
            self.num_right[rows],
            tuple(self.kinds[row] for row in rows),
        )

    def answers_of(self, row: int) -> Ids:
        """Return the right answers of one question."""
        return self.answers[self.offsets[row] : self.offsets[row + 1]]

    @property
    def rows(self) -> Ids:
        """The question that each of `answers` belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def answerable(self) -> Ids:
        """The questions of which the knowledge base knows a right answer."""
        return np.flatnonzero(np.diff(self.offsets))


def _known_answers(question: WordQuestion, kb: KnowledgeBase) -> list[int]:
    return [found for name in dict.fromkeys(question.answers) if (found := kb.entities.find(name)) >= 0]


def make_lessons(questions: Iterable[WordQuestion], reader: Reader) -> tuple[Lessons, list[WordQuestion]]:
    """Return the questions that can be read, and those that cannot: no entity is found in them."""
    readings, read, unread = [], [], []
    for question in questions:
        try:
            readings.append(reader.readings(question.text)[0])
            read.append(question)
        except QuestionError:
            unread.append(question)
    return Lessons.of(readings, read, reader.kb), unread

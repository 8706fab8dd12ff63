"""Questions as text, their interpretation as a source and a phrase, and training examples of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import QuestionError
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase
from .entity_linking import EntityLinker, Mention, unmark
from .model import Phrase
from .tokens import WordVocabulary, split_words, tokenise


@dataclass(frozen=True)
class WordQuestion:
    """A question as text, in which the [entity] may be marked, with its right answers and its type."""

    text: str
    answers: tuple[str, ...] = ()
    kind: str | None = None

    @property
    def unmarked(self) -> "WordQuestion":
        """The same question without the brackets around its entity."""
        return WordQuestion(unmark(self.text), self.answers, self.kind)


@dataclass(frozen=True)
class Interpretation:
    """One meaning of a question: the entity it is about, and the phrase around the entity's name."""

    mention: Mention
    phrase: Phrase

    @property
    def source(self) -> int:
        """The id of the entity, from which paths start."""
        return self.mention.entity


def phrase_around(text: str, mention: Mention) -> Phrase:
    """Return the words of a text without those of a mention."""
    before, after = text[: mention.start], text[mention.stop :]
    words = [[token.word for token in tokenise(part)] for part in (before, after)]
    return Phrase((*words[0], *words[1]), len(words[0]))


class Interpreter:
    """Finds the entities of one knowledge base that questions are about.

    Names are ranked by the `vocabulary`'s surprisal of their words, or by their length without one.
    """

    def __init__(self, kb: KnowledgeBase, vocabulary: WordVocabulary | None = None) -> None:
        self.kb = kb
        self.vocabulary = vocabulary

    @cached_property
    def linker(self) -> EntityLinker:
        """The entity linker over all names of the knowledge base."""
        return EntityLinker(self.kb.entities)

    def interpret(self, text: str) -> list[Interpretation]:
        """Return the interpretations of a question, likeliest first; raise QuestionError without any."""
        split_words(text)
        surprisal = len if self.vocabulary is None else self.vocabulary.surprisal
        mentions = self.linker.require(text, surprisal)
        return [Interpretation(mention, phrase_around(text, mention)) for mention in mentions]


@dataclass(frozen=True, eq=False)
class QuestionExamples:
    """Interpreted questions with their right answers, one row each; answers are in CSR form."""

    sources: Ids
    phrases: tuple[Phrase, ...]
    offsets: Ids  # (question + 1,)
    answers: Ids  # the right answers that are entities of the knowledge base
    num_right: Ids  # (question,) how many right answers there are, in the knowledge base or not
    kinds: tuple[str | None, ...]

    @classmethod
    def of(
        cls, interpretations: Sequence[Interpretation], questions: Sequence[WordQuestion], kb: KnowledgeBase
    ) -> "QuestionExamples":
        """Return the examples of questions under the given interpretations, one for each."""
        answers = [_known_answers(question, kb) for question in questions]
        return cls(
            np.array([each.source for each in interpretations], dtype=np.int64),
            tuple(each.phrase for each in interpretations),
            np.concatenate([[0], np.cumsum([len(ids) for ids in answers])]).astype(np.int64),
            np.array([answer for ids in answers for answer in ids], dtype=np.int64),
            np.array([len(set(question.answers)) for question in questions], dtype=np.int64),
            tuple(question.kind for question in questions),
        )

    def __len__(self) -> int:
        return len(self.sources)

    def __getitem__(self, rows: Ids) -> "QuestionExamples":
        counts = np.diff(self.offsets)[rows]
        kept = np.concatenate([np.zeros(0, dtype=np.int64), *(self.answers_of(row) for row in rows)])
        return QuestionExamples(
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
        """The row of the question that each of `answers` belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    @property
    def answerable(self) -> Ids:
        """The rows of the questions with a right answer in the knowledge base."""
        return np.flatnonzero(np.diff(self.offsets))


def _known_answers(question: WordQuestion, kb: KnowledgeBase) -> list[int]:
    return [found for name in dict.fromkeys(question.answers) if (found := kb.entities.find(name)) >= 0]


def make_examples(
    questions: Iterable[WordQuestion], interpreter: Interpreter
) -> tuple[QuestionExamples, list[WordQuestion]]:
    """Return the examples of questions, each under its likeliest interpretation, and those without any."""
    interpretations, interpreted, failed = [], [], []
    for question in questions:
        try:
            interpretations.append(interpreter.interpret(question.text)[0])
            interpreted.append(question)
        except QuestionError:
            failed.append(question)
    return QuestionExamples.of(interpretations, interpreted, interpreter.kb), failed

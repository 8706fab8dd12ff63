"""Words of a question: tokenisation, and a vocabulary with ids and frequencies."""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log

from ..errors import QuestionError

PADDING, UNKNOWN, ENTITY = 0, 1, 2
NUM_SPECIAL = 3

#: Longer texts are refused: they are not questions.
MAX_WORDS = 200


@dataclass(frozen=True)
class Token:
    """One word without case and accents, and its span in the text."""

    word: str
    start: int
    stop: int


def tokenise(text: str) -> list[Token]:
    """Return the words of a text, without case, accents and punctuation.

    >>> [token.word for token in tokenise("Who's in Amélie?")]
    ['who', 's', 'in', 'amelie']
    """
    return [Token(fold(match[0]), match.start(), match.end()) for match in re.finditer(r"\w+", text)]


def fold(word: str) -> str:
    """Return a word without case and accents."""
    parts = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in parts if not unicodedata.combining(letter))


def split_words(text: str) -> list[str]:
    """Return the words of a text without case and accents; raise QuestionError for none or too many."""
    tokens = tokenise(text)
    if not tokens:
        raise QuestionError("The question is empty. Ask something, as in: who directed Blade Runner?")
    if len(tokens) > MAX_WORDS:
        raise QuestionError(
            f"The question has {len(tokens):,} words; at most {MAX_WORDS} are read. Shorten it."
        )
    return [token.word for token in tokens]


class WordVocabulary:
    """The words of the training questions, most frequent first, with their frequencies.

    Ids 0 to 2 are padding, the unknown word and the entity of the question.
    """

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = dict(counts)
        self._ids = {word: NUM_SPECIAL + i for i, word in enumerate(self.counts)}
        self._total = sum(self.counts.values())

    @classmethod
    def of(cls, questions: Iterable[Sequence[str]]) -> "WordVocabulary":
        """Return the vocabulary of questions, each given as its words without the entity."""
        counts = Counter(word for words in questions for word in words)
        return cls(dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))))

    def __len__(self) -> int:
        return NUM_SPECIAL + len(self.counts)

    def __contains__(self, word: str) -> bool:
        return word in self._ids

    def id(self, word: str) -> int:
        """Return the id of a word, or that of the unknown word."""
        return self._ids.get(word, UNKNOWN)

    def frequency(self, word: str) -> float:
        """Return the share of a word among all words of the questions."""
        return self.counts.get(word, 0) / max(1, self._total)

    def surprisal(self, word: str) -> float:
        """Return -log of a word's relative frequency in questions; it is high for words of names."""
        return log((self._total + 1) / (self.counts.get(word, 0) + 1))

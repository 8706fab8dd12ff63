"""Phrases of the training questions: which of them resemble another phrase, and what its unknown words mean.

Words do not count alike: in "who is the director of", "director" tells which rule is asked for, and "the"
hardly anything. The weight of a word is how much more often its phrases ask for some operator, or end with
it, than all phrases do.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

import numpy as np

from ..graph.vocabulary import inverse_name
from .model import Phrase

#: Added to the weight of each word, so that phrases that differ are never equal.
MIN_WEIGHT = 0.02

#: The weight of a word that no known phrase has: it may ask for anything.
WEIGHT_OF_UNKNOWN = 1.0

#: The similarity of two phrases that have the same words in another order.
SAME_WORDS = 0.95

#: The similarity of a phrase to known ones, at most, whose words are from phrases for other rules.
MAX_COMPOSED = 0.85

#: The least similarity (ratio of `difflib`) of a misspelt word to the right one, and its least length.
MIN_SPELLING, MIN_LENGTH = 0.8, 4

#: Endings that do not change what a word asks for, longer ones first; at least three letters stay.
ENDINGS = ("ing", "ed", "es", "s", "e")

#: Verbs that ask for yes or no where a question begins with them.
AUXILIARIES = frozenset(["is", "are", "was", "were", "did", "does", "do", "has", "have", "had"])

#: Words of courtesy, and words that say nothing about what is asked.
COURTESY = frozenset(
    [
        "please",
        "tell",
        "me",
        "hey",
        "hi",
        "hello",
        "could",
        "can",
        "would",
        "you",
        "kindly",
        "know",
        "to",
        "i",
    ]
)
FILLERS = COURTESY | AUXILIARIES | {"a", "an", "the", "any", "some", "all", "both", "also", "there", "s"}


@dataclass(frozen=True)
class KnownPhrase:
    """A phrase of the training questions, and the body of the rule that it asks for."""

    phrase: Phrase
    body: tuple[str, ...]

    def about(self, name: str) -> str:
        """Return the phrase as a question about an entity.

        >>> KnownPhrase(Phrase(("who", "directed"), 2), ("directed_by",)).about("Alien")
        'who directed Alien'
        """
        words, position = self.phrase.words, self.phrase.position
        return " ".join((*words[:position], name, *words[position:]))


class KnownPhrases:
    """The most frequent phrases of the training questions."""

    def __init__(self, phrases: Iterable[KnownPhrase] = ()) -> None:
        self.phrases = tuple(phrases)

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each word tells about the operators of the rule, or about its last one, from 0 to 1."""
        if not self.phrases:
            return {}
        names = sorted({name for each in self.phrases for name in each.body})
        asked = np.array(
            [
                [*(name in each.body for name in names), *(name == each.body[-1] for name in names)]
                for each in self.phrases
            ],
            dtype=float,
        )
        usual = asked.mean(axis=0)
        places: dict[str, list[int]] = {}
        for place, each in enumerate(self.phrases):
            for word in {*each.phrase.words}:
                places.setdefault(word, []).append(place)
        return {
            word: MIN_WEIGHT + float((asked[rows].mean(axis=0) - usual).max(initial=0.0))
            for word, rows in places.items()
        }

    def weight(self, word: str) -> float:
        """Return how much a word tells about the rule that is asked for."""
        return self.weights.get(word, WEIGHT_OF_UNKNOWN)

    def similarity(self, known: KnownPhrase, phrase: Phrase) -> float:
        """Return the weight of the words that two phrases share, as a share of all; 1 if they are equal."""
        if phrase == known.phrase:
            return 1.0
        mine, theirs = {*known.phrase.words}, {*phrase.words}
        total = sum(map(self.weight, mine | theirs)) or 1.0
        return min(SAME_WORDS, sum(map(self.weight, mine & theirs)) / total)

    def nearest(self, phrase: Phrase) -> list[tuple[float, KnownPhrase]]:
        """Return the known phrases with their similarity to a phrase, the most similar first.

        They have the most telling of its known words: "who is the star of" is near "which films does X star
        in", whose rule may be followed from its other end, not near "who is the director of".
        """
        words = sorted({*phrase.words} & self.weights.keys())
        telling = max(words, key=self.weight, default=None)
        alike = (each for each in self.phrases if telling is None or telling in each.phrase.words)
        near = [(self.similarity(each, phrase), each) for each in alike]
        return sorted(near, key=lambda pair: -pair[0])

    def composed(
        self, phrase: Phrase, body: tuple[str, ...], ends_alike: Callable[[str, str], bool]
    ) -> float:
        """Return how far words of known phrases express a single step that none of them asks for; else 0.

        "which films were released in 1982" has a word of "when was X released", whose step it follows from
        the other end, and words that ask for films in phrases about several relations.
        """
        if len(body) != 1 or any(each.body == body for each in self.phrases):
            return 0.0
        asked: dict[str, set[str]] = {}
        for each in self.phrases:
            if each.body == (inverse_name(body[0]),) or (
                len(each.body) == 1 and ends_alike(each.body[0], body[0])
            ):
                for word in each.phrase.words:
                    asked.setdefault(word, set()).add(each.body[0])
        words = {*phrase.words}
        own = inverse_name(body[0])
        covered = [word for word in words if own in asked.get(word, ()) or len(asked.get(word, ())) > 1]
        share = sum(map(self.weight, covered)) / (sum(map(self.weight, words)) or 1.0)
        return MAX_COMPOSED * share**2

    def best(self, phrase: Phrase) -> float:
        """Return the similarity of the nearest phrase; 0 without any."""
        return max((self.similarity(each, phrase) for each in self.phrases), default=0.0)

    def repair(self, phrase: Phrase, known: Collection[str]) -> tuple[Phrase, list[tuple[str, str]]]:
        """Return a phrase with unknown words replaced by `known` ones, and what was taken for misspelt.

        A word is replaced by one with the same stem or, failing that, with nearly the same spelling: by the
        one that makes the phrase most similar to a known one. Fillers are left out where that does.
        """
        if any(each.phrase == phrase for each in self.phrases):
            return phrase, []
        misspelt = []
        for place, word in enumerate(phrase.words):
            if word in known:
                continue
            inflected = [each for each in known if stem(each) == stem(word)]
            if options := inflected or _spelled_like(word, known):
                phrase = self._best_of(_with_word(phrase, place, option) for option in options)
                misspelt += [] if inflected else [(word, phrase.words[place])]
        return self._best_of((phrase, without(phrase, COURTESY), without(phrase, FILLERS))), misspelt

    def _best_of(self, phrases: Iterable[Phrase]) -> Phrase:
        return max(phrases, key=self.best)


def stem(word: str) -> str:
    """Return a word without a usual ending and the letter that is doubled before it.

    >>> [stem(word) for word in ("starring", "starred", "stars", "star", "releases", "released", "is")]
    ['star', 'star', 'star', 'star', 'releas', 'releas', 'is']
    """
    for ending in ENDINGS:
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            word = word.removesuffix(ending)
            return word[:-1] if word[-1] == word[-2] else word
    return word


def without(phrase: Phrase, words: Collection[str]) -> Phrase:
    """Return a phrase without some words."""
    kept = [word not in words for word in phrase.words]
    left = tuple(word for word, stays in zip(phrase.words, kept, strict=True) if stays)
    return Phrase(left, sum(kept[: phrase.position]))


def _spelled_like(word: str, known: Iterable[str]) -> list[str]:
    if len(word) < MIN_LENGTH:
        return []
    return get_close_matches(word, [each for each in known if len(each) >= MIN_LENGTH], cutoff=MIN_SPELLING)


def _with_word(phrase: Phrase, place: int, word: str) -> Phrase:
    return Phrase((*phrase.words[:place], word, *phrase.words[place + 1 :]), phrase.position)

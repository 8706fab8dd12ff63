"""Entity linking: finds the entities of a knowledge base that a text names, all names in one pass."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cached_property

from ..errors import QuestionError, listed
from ..graph.vocabulary import Vocabulary
from .tokens import Token, tokenise

MARK = re.compile(r"\[(.*)\]")

#: Added to the score of a name that the text has with the same case and accents.
LITERAL = 1.0


#: The least similarity (ratio of `difflib`) of a misspelt word, and of a misspelt name, to the right one.
MIN_WORD_SIMILARITY, MIN_NAME_SIMILARITY = 0.75, 0.85


@dataclass(frozen=True)
class Mention:
    """An entity that a text names, the span of the name in the text, and how likely the text is about it."""

    entity: int
    name: str
    start: int  # in characters of the text
    stop: int
    score: float


def unmark(text: str) -> str:
    """Return a text without the brackets around its entity."""
    return MARK.sub(r"\1", text)


class EntityLinker:
    """Finds every name of a vocabulary in a text; case, accents and punctuation do not count."""

    def __init__(self, entities: Vocabulary) -> None:
        from ahocorasick_rs import AhoCorasick

        self.entities = entities
        self._ids: dict[str, list[int]] = defaultdict(list)
        for entity, name in enumerate(entities):
            self._ids[_key(tokenise(name))].append(entity)
        self._ids.pop(_key([]), None)  # a name without letters and digits is found only where it is marked
        self._keys = list(self._ids)
        self._automaton = AhoCorasick(self._keys)

    def link(self, text: str, surprisal: Callable[[str], float] = len) -> list[Mention]:
        """Return all mentions, likeliest first; in a text with a marked [name], only those of that name.

        The score of a mention is the sum of the `surprisal` of its words, and `LITERAL` more where the text
        has the name with the same case and accents.
        """
        if mark := MARK.search(text):
            return self._marked(mark[1], mark.start(), mark.end())
        found = self._mentions(text, surprisal)
        return sorted(found, key=lambda mention: (-mention.score, -len(mention.name), mention.start))

    def _marked(self, name: str, start: int, stop: int) -> list[Mention]:
        exact = self.entities.find(name)
        ids = [exact] if exact >= 0 else self._ids.get(_key(tokenise(name)), [])
        return [Mention(entity, self.entities[entity], start, stop, LITERAL) for entity in ids]

    def _mentions(self, text: str, surprisal: Callable[[str], float]) -> Iterator[Mention]:
        tokens = tokenise(text)
        haystack = _key(tokens)
        first = {place: i for i, place in enumerate(_places(tokens))}
        for key, start, stop in self._automaton.find_matches_as_indexes(haystack, overlapping=True):
            named = tokens[first[start] : first[stop - 1]]
            score = sum(surprisal(token.word) for token in named)
            for entity in self._ids[self._keys[key]]:
                name = self.entities[entity]
                literal = LITERAL * (name in text)
                yield Mention(entity, name, named[0].start, named[-1].stop, score + literal)

    def similar(self, text: str, misspelt: Sequence[Token], limit: int = 5) -> list[Mention]:
        """Return mentions of names that are spelt almost as words of a text, one misspelt word among them.

        The most similar come first; names are looked up by the words that resemble a misspelt one.
        """
        tokens = tokenise(text)
        found: dict[int, Mention] = {}
        for token in misspelt:
            place = tokens.index(token)
            for word in get_close_matches(token.word, self._by_word, n=5, cutoff=MIN_WORD_SIMILARITY):
                for name in self._by_word[word]:
                    best = max(_spans_around(tokens, place, name), key=lambda mention: mention.score)
                    entity = self.entities.find(name)
                    if best.score >= MIN_NAME_SIMILARITY and best.score > getattr(
                        found.get(entity), "score", 0.0
                    ):
                        found[entity] = Mention(entity, name, best.start, best.stop, best.score)
        return sorted(found.values(), key=lambda mention: (-mention.score, mention.name))[:limit]

    def nearest(self, text: str, surprisal: Callable[[str], float] = len, k: int = 3) -> list[str]:
        """Return the names that are spelled most like some of the words of greatest surprisal in a text."""
        words = [token.word for token in tokenise(text)]
        least = max(map(surprisal, words), default=0.0) / 2
        words = [word for word in words if surprisal(word) >= least]
        near = [other for word in words for other in get_close_matches(word, self._by_word, n=3, cutoff=0.8)]
        names = dict.fromkeys(name for word in near for name in self._by_word[word])
        return sorted(names, key=lambda name: -_similarity(name, words))[:k]

    @cached_property
    def _by_word(self) -> dict[str, list[str]]:
        """The names that contain each word of four letters or more; shorter words resemble too many."""
        names: dict[str, list[str]] = defaultdict(list)
        for name in self.entities:
            for token in tokenise(name):
                if len(token.word) >= 4:
                    names[token.word].append(name)
        return names

    def require(self, text: str, surprisal: Callable[[str], float] = len) -> list[Mention]:
        """Return all mentions; raise a QuestionError that lists similar names where there is none."""
        if mentions := self.link(text, surprisal):
            return mentions
        near = listed(self.nearest(unmark(text), surprisal))
        hint = f" Similar names: {near}." if near else ""
        raise QuestionError(
            f"The question names no entity of the knowledge base, which has {len(self.entities):,}.{hint} "
            "Spell the name out, or mark it: [name]."
        )


def _key(tokens: Sequence[Token]) -> str:
    """Return words with a space before and after each, so that only whole words match."""
    return "".join(f" {token.word}" for token in tokens) + " "


def _places(tokens: Sequence[Token]) -> Iterator[int]:
    """Yield the position of the space before each word in their key, and of the last space."""
    place = 0
    for token in tokens:
        yield place
        place += 1 + len(token.word)
    yield place


def _spans_around(tokens: Sequence[Token], place: int, name: str) -> Iterator[Mention]:
    """Yield the spans around one place with as many words as a name, scored by their similarity to it."""
    key = " ".join(token.word for token in tokenise(name))
    size = key.count(" ") + 1
    for start in range(max(0, place - size + 1), place + 1):
        span = tokens[start : start + size]
        similarity = SequenceMatcher(None, key, " ".join(token.word for token in span)).ratio()
        yield Mention(-1, name, span[0].start, span[-1].stop, similarity)


def _similarity(name: str, words: Sequence[str]) -> float:
    """Return the similarity of a name to the most similar sequence of as many words."""
    key = " ".join(token.word for token in tokenise(name))
    size = key.count(" ") + 1
    runs = (" ".join(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))
    return max(SequenceMatcher(None, key, run).ratio() for run in runs)

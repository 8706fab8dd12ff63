"""Names found by prefix, by any word, or with typos; fast on hundreds of thousands of names."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from itertools import islice

_WORD = re.compile(r"\w+")

#: Names that are compared letter by letter when nothing else is found.
MAX_COMPARED = 2000

#: The least likeness of a name with typos.
MIN_RATIO = 0.6


class Names:
    """An index of names by their beginning and by the beginnings of their words."""

    def __init__(self, names: Iterable[str]) -> None:
        self.names = list(names)
        keys = [(key, number) for number, name in enumerate(self.names) for key in _keys(name)]
        self._keys = sorted(keys)
        self._grams: dict[str, list[int]] = {}
        for number, name in enumerate(self.names):
            for gram in _grams(name.casefold()):
                self._grams.setdefault(gram, []).append(number)

    def find(self, text: str, limit: int) -> list[str]:
        """Return names that a text may mean: its beginning first, then its words, then likeness."""
        wanted = text.casefold().strip()
        if not wanted:
            return []
        found = dict.fromkeys(islice(self._candidates(wanted), 50 * limit))
        best = sorted(found, key=lambda number: self._rank(number, wanted))[:limit]
        return [self.names[number] for number in best] or self._alike(wanted, limit)

    def _candidates(self, wanted: str) -> Iterator[int]:
        yield from self._beginning(wanted)
        words = _WORD.findall(wanted)
        if words:
            first, *others = ({*islice(self._beginning(word), 5000)} for word in words)
            yield from sorted(first.intersection(*others))

    def _rank(self, number: int, wanted: str) -> tuple[bool, bool, int, str]:
        name = self.names[number].casefold()
        return name != wanted, not name.startswith(wanted), len(name), name

    def _beginning(self, prefix: str) -> Iterator[int]:
        place = bisect_left(self._keys, (prefix, -1))
        while place < len(self._keys) and self._keys[place][0].startswith(prefix):
            yield self._keys[place][1]
            place += 1

    def _alike(self, wanted: str, limit: int) -> list[str]:
        """Return the names that share most pairs of letters with a text and resemble it."""
        shared: dict[int, int] = {}
        for gram in _grams(wanted):
            for number in self._grams.get(gram, ()):
                shared[number] = shared.get(number, 0) + 1
        most = sorted(shared, key=lambda number: -shared[number])[:MAX_COMPARED]
        matcher = SequenceMatcher(b=wanted)
        rated = []
        for number in most:
            matcher.set_seq1(self.names[number].casefold())
            if matcher.quick_ratio() >= MIN_RATIO and (ratio := matcher.ratio()) >= MIN_RATIO:
                rated.append((-ratio, self.names[number]))
        return [name for _, name in sorted(rated)[:limit]]


def _keys(name: str) -> set[str]:
    lower = name.casefold()
    return {lower, *_WORD.findall(lower), *re.split(r"[\W_]+", lower)} - {""}


def _grams(text: str) -> set[str]:
    return {text[place : place + 2] for place in range(len(text) - 1)}

"""An index of names: find them by the whole name, its beginning, any of its words, or with typos.

All names are one array of bytes. The places where a name or a word begins are sorted by the eight bytes that
follow, so that everything that begins with a text is one range of them.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from .arrays import Flags, Ids

#: How a name matches a text, the best first: the same, the same but for case and accents, it begins with it,
#: a word of it does, its words begin with those of the text in any order, or so with typos.
Match = Literal["exact", "same letters", "beginning", "word", "words", "typo"]
MATCHES: tuple[Match, ...] = ("exact", "same letters", "beginning", "word", "words", "typo")

#: Typos that are accepted in a word of at least so many bytes.
MIN_LENGTHS = ((8, 2), (3, 1))

#: Words up to this length are compared with typos: one bit of a number for each byte.
MAX_LENGTH = 63

KEY_BYTES = 8
END = ord("\n")
COMBINING = re.compile("[\u0300-\u036f]")
IS_WORD = np.array([chr(byte).isalnum() or byte >= 128 for byte in range(256)])
NUM_BITS = np.array([i.bit_count() for i in range(1 << 16)], dtype=np.int8)


def fold(text: str) -> str:
    """Return a text without the differences that a search ignores: case and accents.

    >>> fold("Île-de-France")
    'ile-de-france'
    """
    if text.isascii():
        return text.lower()
    return COMBINING.sub("", unicodedata.normalize("NFKD", text.casefold()))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


@dataclass(frozen=True)
class FoundName:
    """A name that matches a text: its id, how it matches, and how many typos that takes."""

    id: int
    match: Match
    num_typos: int = 0


class NameIndex:
    """Finds names. Nothing changes after it is built, but for the table of words that typos need."""

    def __init__(self, names: Sequence[str], weights: Ids | None = None) -> None:
        """Index names; of names that match equally well the one with the greatest weight comes first."""
        self.names = names
        self._weights = np.zeros(len(names), np.int64) if weights is None else weights
        text = fold("\n".join(names)) + "\n" if names else ""
        if text.count("\n") != len(names):
            text = "".join(fold(name.replace("\n", " ")) + "\n" for name in names)
        self._data = np.frombuffer(_encode(text) + bytes(KEY_BYTES), np.uint8)
        ends = np.flatnonzero(self._data == END)
        first = np.append(0, ends[:-1] + 1)[: len(names)]
        self._lengths = np.minimum(ends - first, 1 << 15)
        is_word = IS_WORD[self._data]
        begins = is_word & ~np.append(False, is_word[:-1])
        begins[first] = True
        self._places = np.flatnonzero(begins)
        self._owners = np.searchsorted(first, self._places, side="right") - 1
        self._is_first = np.isin(self._places, first, assume_unique=True)
        keys = np.zeros(len(self._places), dtype=np.uint64)
        for byte in range(KEY_BYTES):
            keys = (keys << np.uint64(8)) | self._data[self._places + byte]
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]

    def find(self, text: str, limit: int = 10) -> list[FoundName]:
        """Return the names that match a text, the best first.

        Typos are looked for where fewer than `limit` names match without.
        """
        if not len(self.names):
            return []
        classes = np.full(len(self.names), len(MATCHES), dtype=np.int64)
        self._match(fold(text.strip()), text, classes)
        found = self._best(classes, np.zeros(len(self.names), np.int64), limit)
        if len(found) < limit:
            typos = self._with_typos(fold(text))
            classes = np.where((typos < FAR) & (classes == len(MATCHES)), MATCHES.index("typo"), classes)
            found = self._best(classes, typos, limit)
            return [FoundName(i, MATCHES[classes[i]], int(typos[i])) for i in found]
        return [FoundName(i, MATCHES[classes[i]]) for i in found]

    def _match(self, folded: str, text: str, classes: Ids) -> None:
        """Write how each name matches without typos, the best match last."""
        words = split_words(folded)
        if len(words) > 1:
            classes[self._has_words(words)] = MATCHES.index("words")
        places = self._beginning_with(_encode(folded))
        owners, is_first = self._owners[places], self._is_first[places]
        classes[owners] = MATCHES.index("word")
        classes[owners[is_first]] = MATCHES.index("beginning")
        whole = places[is_first & (self._lengths[owners] == len(_encode(folded)))]
        same = self._owners[whole]
        classes[same] = MATCHES.index("same letters")
        for i in same.tolist():
            if self.names[i] == text:
                classes[i] = MATCHES.index("exact")

    def _best(self, classes: Ids, typos: Ids, limit: int) -> list[int]:
        """Return the names that match best: by kind of match, typos, weight, and length."""
        found = np.flatnonzero(classes < len(MATCHES))
        rarity = np.maximum((1 << 30) - 1 - self._weights[found], 0)
        rank = ((classes[found] * 100 + typos[found] % 100) << 46) + (rarity << 16) + self._lengths[found]
        if len(found) > limit:
            best = np.argpartition(rank, limit - 1)
            best = np.flatnonzero(rank <= rank[best[limit - 1]])
            found, rank = found[best], rank[best]
        order = np.argsort(rank, kind="stable")[: 100 * limit]
        ranked = sorted(order.tolist(), key=lambda i: (rank[i], self.names[int(found[i])]))
        return [int(found[i]) for i in ranked[:limit]]

    def _beginning_with(self, text: bytes) -> Ids:
        """Return the numbers of the places where the text stands."""
        low, high = (text[:KEY_BYTES].ljust(KEY_BYTES, byte) for byte in (b"\0", b"\xff"))
        first = np.searchsorted(self._keys, np.uint64(int.from_bytes(low, "big")))
        last = np.searchsorted(self._keys, np.uint64(int.from_bytes(high, "big")), side="right")
        found = self._order[first:last]
        for offset in range(KEY_BYTES, len(text)):
            ahead = np.minimum(self._places[found] + offset, len(self._data) - 1)
            found = found[self._data[ahead] == text[offset]]
        return found

    def _has_words(self, words: Sequence[bytes]) -> Flags:
        """Return which names have for each word one that begins with it."""
        has_all = np.ones(len(self.names), dtype=np.bool_)
        for word in words:
            has = np.zeros(len(self.names), dtype=np.bool_)
            has[self._owners[self._beginning_with(word)]] = True
            has_all &= has
        return has_all

    # Typos

    def _with_typos(self, folded: str) -> Ids:
        """Return for each name the typos by which its words match those of a text; `FAR`: they do not."""
        total = np.zeros(len(self.names), dtype=np.int64)
        words = split_words(folded)
        for word in words:
            own = np.full(len(self.names), FAR, dtype=np.int64)
            for places, num in self._words.similar(word):
                own[self._owners[places]] = np.minimum(own[self._owners[places]], num)
            own[self._owners[self._beginning_with(word)]] = 0
            total += own
        return np.minimum(total, FAR) if words else np.full(len(self.names), FAR)

    @cached_property
    def _words(self) -> "Words":
        return Words(self._data, self._places)


#: More typos than are ever accepted.
FAR = 99


def split_words(text: str) -> list[bytes]:
    """Return the words of a text: letters and digits that nothing else divides."""
    data = np.frombuffer(_encode(text), np.uint8)
    edges = np.flatnonzero(np.diff(np.append(np.append(False, IS_WORD[data]), False)))
    return [data[start:stop].tobytes() for start, stop in edges.reshape(-1, 2).tolist()]


class Words:
    """The distinct words at the places of an index, to compare a word with all of them."""

    def __init__(self, data: NDArray[np.uint8], places: Ids) -> None:
        self._data = data
        is_word = IS_WORD[data]
        stops = np.flatnonzero(~is_word)
        lengths = stops[np.searchsorted(stops, places)] - places
        offset = np.arange(len(data)) - np.repeat(places, np.diff(np.append(places, len(data))))
        inside = offset < np.repeat(lengths, np.diff(np.append(places, len(data))))
        powers = np.cumprod(np.full(MAX_LENGTH + 1, 1_000_003, np.uint64))
        products = (data + np.uint64(1)) * powers[np.minimum(offset, MAX_LENGTH)] * inside
        letters = np.where(inside, np.uint32(1) << (data & 31).astype(np.uint32), np.uint32(0))
        _, first, self._numbers = np.unique(
            np.add.reduceat(products, places), return_index=True, return_inverse=True
        )
        self._starts, self._lengths = places[first], lengths[first]
        self._letters = np.bitwise_or.reduceat(letters, places)[first]

    def similar(self, word: bytes) -> Iterator[tuple[Ids, int]]:
        """Yield the numbers of the places of words that differ by a few typos, for each number of typos."""
        num_typos = next((num for length, num in MIN_LENGTHS if len(word) >= length), 0)
        if not num_typos or len(word) > MAX_LENGTH:
            return
        letters = np.bitwise_or.reduce(np.uint32(1) << (np.frombuffer(word, np.uint8) & 31).astype(np.uint32))
        other = self._letters ^ letters
        differing = NUM_BITS[other & 0xFFFF] + NUM_BITS[other >> 16]
        near = (np.abs(self._lengths - len(word)) <= num_typos) & (differing <= 2 * num_typos)
        candidates = np.flatnonzero(near)
        typos = count_typos(word, self._data, self._starts[candidates], self._lengths[candidates])
        for num in range(1, num_typos + 1):
            is_similar = np.zeros(len(self._starts), dtype=np.bool_)
            is_similar[candidates[typos == num]] = True
            yield np.flatnonzero(is_similar[self._numbers]), num


def count_typos(word: bytes, data: NDArray[np.uint8], starts: Ids, lengths: Ids) -> Ids:
    """Return the edits (a byte more, less, another, or two swapped) from a word to those at given places.

    All are compared at once, with one bit for each byte of the word (Myers 1999, Hyyrö 2003).
    """
    one, top = np.uint64(1), np.uint64(len(word) - 1)
    occurs = np.zeros(256, dtype=np.uint64)
    for i, byte in enumerate(word):
        occurs[byte] |= one << np.uint64(i)
    up = np.full(len(starts), ~np.uint64(0))
    down, before, same = (np.zeros(len(starts), dtype=np.uint64) for _ in range(3))
    distance = np.full(len(starts), len(word), dtype=np.int64)
    for j in range(int(lengths.max(initial=0))):
        now = occurs[data[np.minimum(starts + j, len(data) - 1)]]
        swapped = ((~same & now) << one) & before
        same = (((now & up) + up) ^ up) | now | down | swapped
        right, left = down | ~(same | up), same & up
        step = ((right >> top) & one).astype(np.int64) - ((left >> top) & one).astype(np.int64)
        distance += np.where(j < lengths, step, 0)
        right, left = (right << one) | one, left << one
        up, down, before = left | ~(same | right), right & same, now
    return distance

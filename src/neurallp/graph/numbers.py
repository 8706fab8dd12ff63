"""Numbers and dates as objects of facts: ranges (bins) that rules can use, and an order between them.

A property such as `born` has a number or a date in almost every fact. Each value is an entity that few facts
share, so rules learn little from it. Bins hold equally many values: `born(anna, 1950-1969)`, and the
relation `next` leads from each bin to the following one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from math import floor
from typing import Any, TypeVar

import numpy as np

from .arrays import Floats, Ids, distinct
from .knowledge_base import KnowledgeBase, Split
from .vocabulary import Relations, Vocabulary

NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
DATE = re.compile(r"(-?\d{4})-(\d\d)(?:-(\d\d)(?:[T ][\d:.]+)?)?(?:Z|[+-]\d\d:\d\d)?")

#: Bins of a property, at most.
NUM_BINS = 8

#: The share of a property's objects that must be numbers, and how many of these must differ.
MIN_SHARE, MIN_DISTINCT = 0.9, 10

#: The share of a property's objects that may be subjects of facts, or have subjects that are numbers: ids do.
MAX_IDS = 0.1

#: The relation from a bin to the next one, or where the data has one of this name.
ORDER, OTHER_ORDER = "next", "next bin"

Facts = TypeVar("Facts", bound=KnowledgeBase | Split)
Show = Callable[[float, float | None], str]  # a cut, or the range between two


def parse_value(text: str) -> float | None:
    """Return a number, or a date as a year with its fraction; None for other text.

    >>> parse_value("-4.5"), parse_value("1950-07-01"), parse_value("anna")
    (-4.5, 1950.5, None)
    """
    if NUMBER.fullmatch(text):
        return float(text)
    if (date := DATE.fullmatch(text)) is None:
        return None
    year, month, day = (int(part or 1) for part in date.groups())
    return year + (month - 1) / 12 + (day - 1) / 372 if 1 <= month <= 12 and 1 <= day <= 31 else None


@dataclass(frozen=True)
class Bins:
    """The bins of one property: values below the first cut are in the first bin, and so on."""

    cuts: tuple[float, ...]
    names: tuple[str, ...]  # one more than cuts

    @classmethod
    def of(cls, values: Floats, are_dates: bool = False) -> "Bins":
        """Return bins of equally many values, as far as equal values allow.

        >>> Bins.of(np.arange(1950.0, 1990.0)).names[:2]
        ('< 1955', '1955-1959')
        """
        cuts = np.quantile(values, np.arange(1, NUM_BINS) / NUM_BINS, method="higher")
        rounded = np.floor(cuts)
        whole = bool((values == np.floor(values)).all()) or (are_dates and len(np.unique(rounded)) >= 3)
        cuts = np.unique(rounded if whole else cuts)
        inner = tuple(cuts[cuts > values.min()].tolist())
        return cls(inner, _name_bins(inner, _show_whole if whole else _show_month if are_dates else _show))

    def find(self, value: float) -> int:
        """Return the place of the bin of a value."""
        return int(np.searchsorted(self.cuts, value, side="right"))

    def name_of(self, text: str) -> str | None:
        """Return the bin of a number or a date; None for other text and for the name of a bin.

        >>> Bins((1950.0,), ("< 1950", ">= 1950")).name_of("1955-07-01")
        '>= 1950'
        """
        value = None if text in self.names else parse_value(text)
        return None if value is None else self.names[self.find(value)]


def _name_bins(cuts: tuple[float, ...], show: Show) -> tuple[str, ...]:
    """Return the names of bins: open at both ends, whole numbers with their last value."""
    if not cuts:
        return ("any",)
    middle = [show(low, high) for low, high in pairwise(cuts)]
    first, last = show(cuts[0], None), show(cuts[-1], None)
    return (f"< {first}", *middle, f">= {last}")


def _show_whole(low: float, high: float | None) -> str:
    if high is None or high - low == 1:
        return f"{low:.0f}"
    return f"{low:.0f}-{high - 1:.0f}" if low >= 0 else f"{low:.0f} to {high - 1:.0f}"


def _show_month(low: float, high: float | None) -> str:
    month = f"{floor(low)}-{floor(low % 1 * 12 + 1e-6) + 1:02d}"
    return month if high is None else f"{month} to {_show_month(high, None)}"


def _show(low: float, high: float | None) -> str:
    return f"{low:.4g}" if high is None else f"{low:.4g} to {high:.4g}"


@dataclass(frozen=True)
class Numbers:
    """The bins of each property, and the name of the relation between neighbouring bins."""

    bins: Mapping[str, Bins]
    order: str = ORDER

    @classmethod
    def fit(cls, kb: KnowledgeBase) -> "Numbers":
        """Return the bins of every numeric property of a knowledge base."""
        bins: dict[str, Bins] = {}
        for name, (values, are_dates) in find_numeric(kb).items():
            found, taken = Bins.of(values, are_dates), {each for own in bins.values() for each in own.names}
            if taken.intersection(found.names):  # bins of another property are other entities
                found = replace(found, names=tuple(f"{name} {each}" for each in found.names))
            bins[name] = found
        return cls(bins, OTHER_ORDER if ORDER in kb.relations else ORDER)

    def apply(self, data: Facts) -> Facts:
        """Return the facts with bins in place of numbers, and with the order of the bins.

        Facts that have bins already stay as they are.
        """
        names = [name for name in self.bins if name in data.relations]
        if not names or self.bins.items() <= data.entities.bins.items():
            return data
        known: dict[str, int] = {name: number for number, name in enumerate(data.entities)}
        for own in (each for name in names for each in self.bins[name].names):
            known.setdefault(own, len(known))
        relations = Relations(dict.fromkeys([*data.relations, self.order]))
        relations = relations.with_prefixes(data.relations.prefixes)
        maps = {data.relations.id(name): self._map(self.bins[name], data.entities, known) for name in names}
        order = self._order_facts(names, known, relations)
        parts = [_replace_tails(part, maps) for part in _parts(data)]
        place = 1 if len(parts) > 1 and not len(parts[0]) else 0  # train where there is no facts part
        parts[place] = _with_new(parts[place], order)
        return self._rebuild(data, parts, [*known], relations)

    def _map(self, bins: Bins, entities: Vocabulary, known: Mapping[str, int]) -> Ids:
        """Return for each entity the id of its bin, or its own where it is no number."""
        own = [known[bins.name_of(name) or name] for name in entities]
        return np.array(own, dtype=np.int64)

    def _order_facts(self, names: list[str], known: Mapping[str, int], relations: Relations) -> Ids:
        pairs = [pair for name in names for pair in pairwise(self.bins[name].names)]
        rows = [(known[low], relations.id(self.order), known[high]) for low, high in pairs]
        return np.array(rows, dtype=np.int64).reshape(-1, 3)

    def _rebuild(self, data: Facts, parts: list[Ids], names: list[str], relations: Relations) -> Facts:
        """Return the parts under new vocabularies, without entities that no fact mentions any more."""
        used, places = np.unique(np.concatenate([part[:, [0, 2]] for part in parts]), return_inverse=True)
        pairs, entities = places.reshape(-1, 2), data.entities.with_names(names[i] for i in used.tolist())
        entities.bins = {**data.entities.bins, **self.bins}
        bounds = np.cumsum([0, *map(len, parts)])
        renumbered = [
            np.column_stack([pairs[start:stop, 0], part[:, 1], pairs[start:stop, 1]])
            for part, start, stop in zip(parts, bounds, bounds[1:], strict=False)
        ]
        fields = ("facts", "train", "valid", "test")[: len(parts)]
        changes: dict[str, Any] = dict(zip(fields, renumbered, strict=True))
        return replace(data, entities=entities, relations=relations, **changes)


def find_numeric(kb: KnowledgeBase) -> dict[str, tuple[Floats, bool]]:
    """Return the values of the objects of each numeric property, and whether most are dates."""
    parsed = [parse_value(name) for name in kb.entities]
    values = np.array([np.nan if value is None else value for value in parsed], dtype=np.float64)
    is_number = ~np.isnan(values)
    if not is_number.any():
        return {}
    heads = np.zeros(len(kb.entities), dtype=bool)
    heads[kb.facts[:, 0]] = True
    found = {}
    for relation, name in enumerate(kb.relations):
        head, tail = kb.facts[kb.facts[:, 1] == relation][:, [0, 2]].T
        numbers = tail[is_number[tail]]
        if len(numbers) < MIN_SHARE * len(tail) or len(np.unique(values[numbers])) < MIN_DISTINCT:
            continue
        if is_number[head].mean() <= MAX_IDS and heads[numbers].mean() <= MAX_IDS:
            dates = [NUMBER.fullmatch(kb.entities[each]) is None for each in numbers.tolist()]
            found[name] = values[numbers], 2 * sum(dates) > len(dates)
    return found


def _parts(data: KnowledgeBase | Split) -> list[Ids]:
    return (
        [data.facts] if isinstance(data, KnowledgeBase) else [data.facts, data.train, data.valid, data.test]
    )


def _replace_tails(triples: Ids, maps: Mapping[int, Ids]) -> Ids:
    """Return the triples with the tails of some relations replaced; those that become equal are one."""
    replaced = triples.copy()
    for relation, own in maps.items():
        rows = triples[:, 1] == relation
        replaced[rows, 2] = own[triples[rows, 2]]
    return distinct(replaced)


def _with_new(triples: Ids, more: Ids) -> Ids:
    return distinct(np.concatenate([triples, more]))

"""Sparse scores of entities, one row for each question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Ids


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of entities, a sparse row a walk, entities ascending; whatever is not listed scores 0."""

    num_entities: int
    offsets: Ids  # (walk + 1,)
    entities: Ids
    values: NDArray[np.floating]

    @classmethod
    def of_dense(cls, dense: NDArray[np.floating]) -> "Scores":
        """Return the nonzero scores of a (walk, entity) array."""
        rows, entities = np.nonzero(dense)
        offsets = np.searchsorted(rows, np.arange(len(dense) + 1))
        return cls(dense.shape[1], offsets, entities, dense[rows, entities])

    @classmethod
    def none(cls, num_walks: int, num_entities: int) -> "Scores":
        """Return scores of 0 for every entity."""
        offsets = np.zeros(num_walks + 1, dtype=np.int64)
        return cls(num_entities, offsets, np.zeros(0, dtype=np.int64), np.zeros(0))

    @classmethod
    def listed(cls, num_entities: int, rows: "Sequence[tuple[Ids, NDArray[np.floating]]]") -> "Scores":
        """Return scores from the entities, ascending, and values of each row."""
        lengths = [len(entities) for entities, _ in rows]
        offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
        return cls(num_entities, offsets, *(np.concatenate(each) for each in zip(*rows, strict=True)))

    @classmethod
    def stacked(cls, parts: "Sequence[Scores]") -> "Scores":
        """Return the rows of all parts, one part below the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            parts[0].num_entities,
            np.concatenate([[0], np.cumsum(lengths)]),
            np.concatenate([part.entities for part in parts]),
            np.concatenate([part.values for part in parts]),
        )

    @classmethod
    def added(cls, parts: "Sequence[Scores]") -> "Scores":
        """Return the sums of parts that have the same rows."""
        if len(parts) == 1:
            return parts[0]
        num_entities = parts[0].num_entities
        keys = np.concatenate([part.rows * num_entities + part.entities for part in parts])
        distinct, place = np.unique(keys, return_inverse=True)
        amounts = np.concatenate([part.values for part in parts])
        values: NDArray[np.float64] = np.bincount(place, amounts, len(distinct)).astype(
            np.float64, copy=False
        )
        rows, entities = np.divmod(distinct, num_entities)
        return cls(num_entities, np.searchsorted(rows, np.arange(len(parts[0]) + 1)), entities, values)

    def times(self, weight: float) -> "Scores":
        """Return all scores multiplied by one number."""
        return Scores(self.num_entities, self.offsets, self.entities, weight * self.values)

    def __getitem__(self, walks: Ids) -> "Scores":
        start, lengths = self.offsets[walks], np.diff(self.offsets)[walks]
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(start - offsets[:-1], lengths) + np.arange(offsets[-1])
        return Scores(self.num_entities, offsets, self.entities[places], self.values[places])

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> Ids:
        """The walk that each listed score belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.offsets))

    def row(self, walk: int) -> tuple[Ids, NDArray[np.floating]]:
        """Return the listed entities of one walk and their scores."""
        part = slice(self.offsets[walk], self.offsets[walk + 1])
        return self.entities[part], self.values[part]

    def at(self, rows: Ids, entities: Ids) -> NDArray[np.floating]:
        """Return the scores of given (walk, entity) pairs."""
        places, listed = self._find(rows, entities)
        scores = np.zeros(len(rows), dtype=self.values.dtype)
        scores[listed] = self.values[places[listed]]
        return scores

    def places(self, rows: Ids, entities: Ids) -> Ids:
        """Return where those of given (walk, entity) pairs stand that are listed."""
        places, listed = self._find(rows, entities)
        return places[listed]

    def _find(self, rows: Ids, entities: Ids) -> tuple[Ids, NDArray[np.bool_]]:
        keys = self.rows * self.num_entities + self.entities
        wanted = rows * self.num_entities + entities
        places = np.searchsorted(keys, wanted)
        listed = places < len(keys)
        listed[listed] = keys[places[listed]] == wanted[listed]
        return places, listed

    def replaced(self, rows: Ids, entities: Ids, value: float | NDArray[np.floating]) -> "Scores":
        """Return the scores with `value`, one for all or one for each, at given (walk, entity) pairs."""
        if not len(rows):
            return self
        new = rows * self.num_entities + entities
        old = self.rows * self.num_entities + self.entities
        kept = ~np.isin(old, new)
        keys = np.concatenate([old[kept], new])
        values = np.concatenate([self.values[kept], np.full(len(new), value, dtype=self.values.dtype)])
        order = np.argsort(keys, kind="stable")
        walks, placed = np.divmod(keys[order], self.num_entities)
        offsets = np.searchsorted(walks, np.arange(len(self) + 1))
        return Scores(self.num_entities, offsets, placed, values[order])

    def dense(self) -> NDArray[np.floating]:
        """Return all scores, (walk, entity)."""
        full = np.zeros((len(self), self.num_entities), dtype=self.values.dtype)
        full[self.rows, self.entities] = self.values
        return full

"""Sparse scores of entities, one row for each question."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .arrays import Ids, concatenate_ranges, group_offsets, group_rows, offsets_of


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of entities, one sparse row per question, entities ascending; an entity not listed scores 0."""

    num_entities: int
    offsets: Ids  # (question + 1,)
    entities: Ids
    values: NDArray[np.floating]

    @classmethod
    def of_dense(cls, dense: NDArray[np.floating]) -> "Scores":
        """Return the nonzero scores of a (question, entity) array."""
        places = np.flatnonzero(dense != 0)  # several times as fast as np.nonzero of two dimensions
        rows, entities = (None, places) if len(dense) == 1 else np.divmod(places, dense.shape[1])
        offsets = np.array([0, len(places)]) if rows is None else group_offsets(rows, len(dense))
        return cls(dense.shape[1], offsets, entities, dense.reshape(-1)[places])

    @classmethod
    def none(cls, num_questions: int, num_entities: int) -> "Scores":
        """Return scores of 0 for every entity."""
        offsets = np.zeros(num_questions + 1, dtype=np.int64)
        return cls(num_entities, offsets, np.zeros(0, dtype=np.int64), np.zeros(0))

    @classmethod
    def listed(cls, num_entities: int, rows: "Sequence[tuple[Ids, NDArray[np.floating]]]") -> "Scores":
        """Return scores from the entities, ascending, and values of each row."""
        lengths = [len(entities) for entities, _ in rows]
        return cls(
            num_entities, offsets_of(lengths), *(np.concatenate(each) for each in zip(*rows, strict=True))
        )

    @classmethod
    def stacked(cls, parts: "Sequence[Scores]") -> "Scores":
        """Return the rows of all parts, one part below the other."""
        lengths = np.concatenate([np.diff(part.offsets) for part in parts])
        return cls(
            parts[0].num_entities,
            offsets_of(lengths),
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
        addends = np.concatenate([part.values for part in parts])
        sums = np.bincount(place, addends, len(distinct))
        values: NDArray[np.float64] = sums.astype(
            np.float64, copy=False
        )  # bincount of nothing gives integers
        rows, entities = np.divmod(distinct, num_entities)
        return cls(num_entities, group_offsets(rows, len(parts[0])), entities, values)

    def times(self, weight: float) -> "Scores":
        """Return all scores multiplied by one number."""
        return Scores(self.num_entities, self.offsets, self.entities, weight * self.values)

    def __getitem__(self, questions: Ids) -> "Scores":
        starts, stops = self.offsets[:-1][questions], self.offsets[1:][questions]
        places = concatenate_ranges(starts, stops)
        return Scores(
            self.num_entities, offsets_of(stops - starts), self.entities[places], self.values[places]
        )

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def rows(self) -> Ids:
        """The question that each listed score belongs to."""
        return group_rows(self.offsets)

    def row(self, question: int) -> tuple[Ids, NDArray[np.floating]]:
        """Return the listed entities of one question and their scores."""
        part = slice(self.offsets[question], self.offsets[question + 1])
        return self.entities[part], self.values[part]

    def at(self, rows: Ids, entities: Ids) -> NDArray[np.floating]:
        """Return the scores of given (question, entity) pairs."""
        places, listed = self._find(rows, entities)
        scores = np.zeros(len(rows), dtype=self.values.dtype)
        scores[listed] = self.values[places[listed]]
        return scores

    def places(self, rows: Ids, entities: Ids) -> Ids:
        """Return the places of given (question, entity) pairs, without the pairs that are not listed."""
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
        """Return the scores with `value`, one for all or one for each, at given (question, entity) pairs."""
        if not len(rows):
            return self
        new = rows * self.num_entities + entities
        old = self.rows * self.num_entities + self.entities
        kept = ~np.isin(old, new)
        keys = np.concatenate([old[kept], new])
        values = np.concatenate([self.values[kept], np.full(len(new), value, dtype=self.values.dtype)])
        order = np.argsort(keys, kind="stable")
        questions, placed = np.divmod(keys[order], self.num_entities)
        return Scores(self.num_entities, group_offsets(questions, len(self)), placed, values[order])

    def dense(self) -> NDArray[np.floating]:
        """Return all scores, (question, entity)."""
        full = np.zeros((len(self), self.num_entities), dtype=self.values.dtype)
        full[self.rows, self.entities] = self.values
        return full

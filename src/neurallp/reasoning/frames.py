"""Many answers as one table: the answers to a question, and predictions in batches."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, SupportsIndex, overload

from ..graph.frames import Tabular, in_columns
from .answers import Answer, Predictions


class Answers(list[Answer], Tabular):
    """The answers to a question, best first: a list that is also a table."""

    SCHEMA: ClassVar = {
        "source": "string",
        "query": "string",
        "entity": "string",
        "probability": "double",
        "score": "double",
        "rank": "double",
        "num_candidates": "int64",
        "is_known": "bool",
    }
    SHOWN: ClassVar = ("entity", "is_known", "probability", "score", "rank")
    BARS: ClassVar = {"probability": 1.0, "score": None}

    @overload
    def __getitem__(self, index: SupportsIndex) -> Answer: ...
    @overload
    def __getitem__(self, index: slice) -> "Answers": ...
    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return Answers(found) if isinstance(index, slice) else found

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the fields of the answers as columns."""
        return in_columns(map(vars, self), self.SCHEMA)


class PredictionBatches(Iterator[Predictions], Tabular):
    """Predictions in batches, computed one after the other; as a table, all that are left."""

    SCHEMA: ClassVar = Predictions.SCHEMA

    def __init__(self, batches: Iterator[Predictions]) -> None:
        self._batches = batches

    def __next__(self) -> Predictions:
        return next(self._batches)

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the columns of all batches that are left, one below the other."""
        columns: dict[str, list[Any]] = {name: [] for name in self.SCHEMA}
        for batch in self:
            for name, values in batch.columns().items():
                columns[name] += values
        return dict(columns)

    def _repr_html_(self) -> str:
        return "<p>Predictions, computed when used: <code>to_pandas()</code>, or batch by batch.</p>"

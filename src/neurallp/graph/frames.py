"""Results as tables: Arrow, pandas, and HTML for notebooks."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

from ..errors import import_extra
from .spelling import as_html

#: Rows of a table that HTML shows.
MAX_ROWS = 20

CELL = "text-align:left;padding:.15em .8em .15em 0"
FOR, AGAINST = "#3f6fb0", "#c05a1c"


class Tabular:
    """A result with rows and columns; `SCHEMA` has the columns and their Arrow types, `[type]` for lists."""

    SCHEMA: ClassVar[Mapping[str, str]] = {}
    #: The columns that HTML shows, and those with bars: what a full bar stands for (None: the largest value).
    SHOWN: ClassVar[Sequence[str]] = ()
    BARS: ClassVar[Mapping[str, float | None]] = {}

    def columns(self) -> dict[str, Sequence[Any]]:
        """Return the values of each column of `SCHEMA`."""
        raise NotImplementedError

    def to_arrow(self) -> Any:
        """Return a pyarrow.Table; an empty result has the same columns and types."""
        pa = import_extra("pyarrow", "formats")
        columns = self.columns()
        return pa.table(
            {name: pa.array(columns[name], _arrow_type(pa, kind)) for name, kind in self.SCHEMA.items()}
        )

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame."""
        import_extra("pandas", "formats")
        return self.to_arrow().to_pandas()

    def _repr_html_(self) -> str:
        columns = self.columns()
        return html_table({name: columns[name] for name in self.SHOWN or self.SCHEMA}, self.BARS)


def _arrow_type(pa: Any, kind: str) -> Any:
    if kind.startswith("["):
        return pa.list_(_arrow_type(pa, kind[1:-1]))
    return pa.type_for_alias(kind)


def in_columns(records: Iterable[Mapping[str, Any]], names: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Return the columns of records, in the order of `names`.

    >>> in_columns([{"a": 1, "b": 2, "c": 3}, {"a": 4, "b": 5, "c": 6}], ["b", "a"])
    {'b': [2, 5], 'a': [1, 4]}
    """
    rows = list(records)
    return {name: [row[name] for row in rows] for name in names}


def html_table(columns: Mapping[str, Sequence[Any]], bars: Mapping[str, float | None] | None = None) -> str:
    """Return an HTML table of the first rows; columns without any value are left out.

    A value of a column in `bars` has a bar beside its number, as long as its share of what a full bar stands
    for, or of the column's largest value; negative ones are in another colour.
    """
    shown = {
        name: list(values[:MAX_ROWS])
        for name, values in columns.items()
        if not len(values) or any(value is not None for value in values)
    }
    full = {
        name: scale or max((abs(value) for value in shown.get(name, ()) if value), default=1.0)
        for name, scale in (bars or {}).items()
    }
    head = "".join(f'<th style="{CELL}">{as_html(name.replace("_", " "))}</th>' for name in shown)
    rows = [
        "".join(_cell(value, full.get(name)) for name, value in zip(shown, row, strict=True))
        for row in zip(*shown.values(), strict=True)
    ]
    body = "".join(f"<tr>{row}</tr>" for row in rows)
    num_rows = len(next(iter(columns.values()), ()))
    more = f"<p>… and {num_rows - MAX_ROWS:,} more rows</p>" if num_rows > MAX_ROWS else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: Any, full: float | None) -> str:
    text = as_html(show(value))
    if full is None or value is None:
        return f'<td style="{CELL}">{text}</td>'
    colour = AGAINST if value < 0 else FOR
    width = 5 * min(1.0, abs(float(value)) / full)
    bar = f"display:inline-block;height:.7em;width:{width:.2f}em;margin-left:.5em;background:{colour}"
    return f'<td style="{CELL};white-space:nowrap">{text}<span style="{bar}"></span></td>'


def show(value: Any) -> str:
    """Return a value as a table shows it: numbers with three digits, nothing for None.

    >>> show(0.12345), show(1234567), show(None), show(("a", "b")), show(True)
    ('0.123', '1,234,567', '', 'a, b', 'yes')
    """
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, int):
        return f"{value:,}"
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)

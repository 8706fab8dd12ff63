"""Tables that stay readable in a narrow terminal."""

from typing import TYPE_CHECKING, Any

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from .folding import filled

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

#: Characters of a column of text below which its words would be cut.
MIN_TEXT = 20


class FoldingTable(Table):
    """A table that prints each row as a paragraph where its columns would be cut."""

    def add_column(self, *args: Any, **options: Any) -> None:
        """Add a column, in which a long name goes on in the next line instead of being cut."""
        super().add_column(*args, **{"overflow": "fold", **options})

    def __rich_console__(self, console: "Console", options: "ConsoleOptions") -> "RenderResult":
        if self._needed() <= options.max_width:
            yield from super().__rich_console__(console, options)
            return
        for number in range(self.row_count):
            yield from self._paragraph(number, options.max_width - 2)

    def _needed(self) -> int:
        """Return the characters that a row takes at least: numbers are not cut, and text is wrapped."""
        total = 0
        for column in self.columns:
            cells = [Text.from_markup(str(cell)) for cell in (column.header, *column.cells)]
            widest = max(line.cell_len for cell in cells for line in cell.split() or [Text()])
            total += 2 + (widest if column.justify == "right" else min(widest, MIN_TEXT))
        return total

    def _paragraph(self, number: int, width: int) -> "RenderResult":
        """Yield the texts of a row, and below them its numbers, each with its header."""
        cells = [(column, str(list(column.cells)[number])) for column in self.columns]
        texts = [cell for column, cell in cells if column.justify != "right" and cell]
        yield Text.from_markup("  ".join(texts) or "·")
        pairs = [f"{column.header} {cell}" for column, cell in cells if column.justify == "right" and cell]
        for line in filled(pairs, width):
            yield Padding(Text(line), (0, 0, 0, 2))

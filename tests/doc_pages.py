"""The documentation as the tests read it: its pages, code spans, code blocks and table rows."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"

#: What was tried once names options and modules of its time, so it is checked for links alone.
HISTORY = (DOCS / "lab-notes.md", ROOT / "CHANGELOG.md")
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted(DOCS.glob("*.md"))]
CURRENT = [page for page in PAGES if page not in HISTORY]


class Span(NamedTuple):
    """Some code in a page, and where it is."""

    page: Path
    line: int
    text: str

    @property
    def place(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def code_spans(page: Path) -> Iterator[Span]:
    """Yield what stands between single backticks, outside code blocks."""
    in_block = False
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            in_block = not in_block
        elif not in_block:
            yield from (Span(page, number, text) for text in re.findall(r"`([^`]+)`", line))


#: Languages of code blocks that hold no commands: Python, notebooks, files, and what Sphinx fills in.
NO_COMMANDS = ("python", "text", "{code-cell}", "{file}", "{toctree}", "{glossary}")


def block_lines(page: Path) -> Iterator[Span]:
    """Yield the lines of code blocks that may hold commands; lines that end in a backslash are joined."""
    in_block, language, pending = False, "", ""
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            in_block, language = not in_block, line[3:]
        elif in_block and not language.startswith(NO_COMMANDS):
            if line.endswith("\\"):
                pending += line[:-1] + " "
            else:
                yield Span(page, number, pending + line)
                pending = ""


def python_blocks(page: Path) -> list[str]:
    """Return the code blocks of a page that are Python."""
    return re.findall(r"^```python\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)


def table_rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of every row of every table; a bar in a code span must be written as `\\|`."""
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("|"):
            yield [cell.strip() for cell in line.strip("|").split("|")]

"""Folding of rules, facts and proofs that are too long for a line of the terminal."""

import re
from collections.abc import Iterator, Sequence

from rich.cells import cell_len

#: Where lines of rules and facts end: after an atom with what follows it.
ATOM_END = re.compile(r"(?<=\),) |(?<=\)) (?=as |but |and )|(?<=,) (?=\w+ != )")

#: The least width of rules and facts beside other columns.
MIN_WIDTH = 20

#: A line of a proof up to its facts: a word, a contribution and a bar. And the least beside it for the facts.
BEFORE_FACTS = re.compile(r" {2}(?:\w+)? +[+-][\d.]+ [█▏▎▍▌▋▊▉ ]{10} ")
MIN_BESIDE_BAR = 40

#: By how much the second line of a sentence is indented.
INDENT = 4


def filled(parts: Sequence[str], width: int, gap: str = "  ") -> Iterator[str]:
    """Yield lines of parts, none longer than `width` unless a part alone is."""
    line = ""
    for part in parts:
        longer = f"{line}{gap}{part}" if line else part
        if line and cell_len(longer) > width:
            yield line
            longer = part
        line = longer
    if line:
        yield line


def lines_of_atoms(text: str, width: int) -> list[str]:
    """Return rules or facts in lines that end after an atom, or after a word where an atom is too long."""
    parts: list[str] = []
    width = max(MIN_WIDTH, width)
    for part in ATOM_END.split(text):
        parts += [part] if cell_len(part) <= width else part.split(" ")
    return list(filled(parts, width, " "))


def lines_of_proof(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a proof; where one is too long, its facts go on below where they begin."""
    for line in text.split("\n"):
        if cell_len(line) <= width:
            yield line
            continue
        found = BEFORE_FACTS.match(line)
        before, facts = (found[0], line[found.end() :]) if found else ("", line)
        if before and width - len(before) < MIN_BESIDE_BAR:
            yield before.rstrip()
            before = " " * INDENT
        indent = " " * (len(before) or INDENT)
        first, *others = lines_of_atoms(facts, width - len(indent))
        yield before + first
        yield from (indent + other for other in others)

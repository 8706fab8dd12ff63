"""Input that would break an RDF parser: deep nesting ends the process, and XML entities can fill memory.

So both are looked for before a file is parsed.
"""

import re
from pathlib import Path
from typing import Any

from ...errors import FormatError, brief, quoted
from ..files import suffix_of
from ..limits import require_within

#: Elements or quoted triples within each other, at most.
MAX_DEPTH = 1000

#: Strings, IRIs and comments, which may contain any marks.
OPAQUE = re.compile(
    rb'"""(?s:\\.|[^\\])*?"""|' + rb"'''(?s:\\.|[^\\])*?'''|" + rb'"(?:\\.|[^"\\\n])*"|'
    rb"'(?:\\.|[^'\\\n])*'|<[^<>\s]*>|#[^\n]*"
)


def require_shallow(path: Path, content: bytes) -> None:
    """Raise where a file is nested too deeply, or its entities expand to too much."""
    if suffix_of(path) == ".rdf":
        _check_xml(path, content)
    elif content.count(b"<<") > MAX_DEPTH:
        _check_quoted(path, content)


def _check_quoted(path: Path, content: bytes) -> None:
    depth = 0
    for mark in re.finditer(rb"<<|>>", OPAQUE.sub(b" ", content)):
        depth = depth + 1 if mark[0] == b"<<" else max(depth - 1, 0)
        if depth > MAX_DEPTH:
            raise _too_deep(path)


def _check_xml(path: Path, content: bytes) -> None:
    """Read the elements and entities of XML with a parser that keeps nothing and has limits of its own."""
    from xml.parsers import expat

    checker = _Checker(path, len(content))
    parser = expat.ParserCreate()
    parser.StartElementHandler = checker.start
    parser.EndElementHandler = checker.end
    parser.EntityDeclHandler = checker.declare
    try:
        parser.Parse(content, True)
    except expat.ExpatError as error:
        message = expat.ErrorString(error.code)
        raise FormatError(f"{path}:{error.lineno}: not RDF/XML ({message}).") from error
    except ValueError as error:
        raise FormatError(f"{path}: not RDF/XML ({brief(error)}).") from error


class _Checker:
    def __init__(self, path: Path, size: int) -> None:
        self.path, self.size = path, size
        self.depth = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep(self.path)
        # Attributes arrive with their entities expanded.
        require_within(self.path, sum(map(len, attributes.values())), self.size)

    def end(self, name: str) -> None:
        self.depth -= 1

    def declare(self, name: str, is_parameter: int, value: str | None, *_: Any) -> None:
        """Refuse an entity that is made of others, or that is in another file."""
        if is_parameter or value is None or "&" in value:
            raise FormatError(
                f"{self.path}: the entity {quoted(name, 40)} is not plain text, so its size is not known. "
                "Write the file without it."
            )


def _too_deep(path: Path) -> FormatError:
    return FormatError(f"{path}: nested more than {MAX_DEPTH:,} deep. Write it without nesting, as .nt.")

"""Triples in RDF: N-Triples, Turtle and RDF/XML; N-Quads and TriG are read.

An IRI is its own name, shortened where its prefix is well known: `rdf:type` (`graph.iris`). A name that is
not an IRI is written as one under `urn:neurallp:`, percent-encoded, and decoded when it is read.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...errors import FormatError, brief, import_extra, quoted
from ...graph.iris import OWN, PREFIXES, shorten
from ...graph.knowledge_base import Triple
from ...graph.numbers import parse_value
from ..files import TripleFile, atomic_write, read_bytes, suffix_of
from ..schema import as_error
from .rdf_depth import require_shallow

#: pyoxigraph's name of the format, by suffix.
SUFFIXES = {".nt": "N_TRIPLES", ".ttl": "TURTLE", ".rdf": "RDF_XML", ".nq": "N_QUADS", ".trig": "TRIG"}

#: The formats of triples in named graphs, which are only read; the names of graphs are left out.
QUADS = (".nq", ".trig")

#: The label that the parser draws for a node without one: a number of 128 bits, without zeros in front.
DRAWN = re.compile(r"_:[0-9a-f]{24,32}")


@dataclass(frozen=True)
class Names:
    """IRIs for names; `shorten(expand(name)) == name` for every name whose prefix is not declared here."""

    prefixes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def _known(self) -> dict[str, str]:
        return PREFIXES | dict(self.prefixes)

    def expand(self, name: str) -> str:
        """Return the IRI of a name: that of its prefix, the name itself, or one under `urn:neurallp:`."""
        prefix, colon, local = name.partition(":")
        if prefix in self.prefixes and _is_iri(iri := self.prefixes[prefix] + local):
            return iri
        iri = PREFIXES[prefix] + local if prefix in PREFIXES else name
        # If the IRI would not be shortened to this name again, use one under `urn:neurallp:`.
        return iri if colon and _is_iri(iri) and shorten(iri) == name else OWN + quote(name, safe="")

    def used_by(self, iris: Iterable[str]) -> dict[str, str]:
        """Return the prefixes that shorten any of `iris`."""
        namespaces = tuple(self._known.values())
        begun = [iri for iri in iris if iri.startswith(namespaces)]
        return {
            prefix: namespace
            for prefix, namespace in self._known.items()
            if any(iri.startswith(namespace) for iri in begun)
        }


def _is_iri(text: str) -> bool:
    try:
        import_extra("pyoxigraph", "formats").NamedNode(text)
    except ValueError:
        return False
    return True


#: A literal that is short and plain, as numbers and dates are.
PLAIN = re.compile(r'"([^"\\]{1,40})"(?:\^\^<[^<>]*>)?')


def read(path: Path, *, numbers: bool = False) -> TripleFile:
    """Return the triples of a file whose objects are entities; those with a literal object are counted.

    With `numbers`, literals that are numbers or dates are entities too.
    """
    terms, rows, prefixes, num_literals = _parse(path, numbers)
    short = {term: _name(term) for term in terms} | _number_drawn(terms, path)
    triples = [(short[head], short[relation], short[tail]) for head, relation, tail in rows]
    return TripleFile(path, triples, prefixes=prefixes, num_literals=num_literals)


def _name(term: str) -> str:
    """Return the name of a term in N-Triples notation."""
    if term.startswith('"'):
        return term[1 : term.index('"', 1)]
    return term if term.startswith("_:") else shorten(term[1:-1])


def _number_drawn(terms: Iterable[str], path: Path) -> dict[str, str]:
    """Return names for nodes without a label that are the same whenever the file is read."""
    file = re.sub(r"\W+", "-", path.name.split(".")[0])
    drawn = (term for term in terms if DRAWN.fullmatch(term))
    return {term: f"_:{file}-{number}" for number, term in enumerate(drawn, 1)}


def _is_value(term: str) -> bool:
    literal = PLAIN.fullmatch(term)
    return literal is not None and parse_value(literal[1]) is not None


def _parse(path: Path, numbers: bool = False) -> tuple[Iterable[str], list[Triple], dict[str, str], int]:
    """Return terms and triples in N-Triples notation, the prefixes, and the number of literal objects."""
    ox = import_extra("pyoxigraph", "formats")
    with _parsing(path) as parser:
        # Splitting lines of N-Triples takes a third of the time of reading terms from Triple objects.
        triples = (quad.triple for quad in parser) if suffix_of(path) in QUADS else parser
        lines = ox.serialize(triples, format=ox.RdfFormat.N_TRIPLES).decode().split("\n")[:-1]
    terms: dict[str, str] = {}
    one = terms.setdefault  # share one string object among all occurrences of a term
    rows = []
    for line in lines:
        head, relation, tail = line.removesuffix(" .").split(" ", 2)
        if not tail.startswith(('"', "<<")) or (numbers and _is_value(tail)):
            rows.append((one(head, head), one(relation, relation), one(tail, tail)))
    return terms, rows, dict(parser.prefixes), len(lines) - len(rows)


def read_literals(path: Path, iri: str) -> list[tuple[str, str, str | None]]:
    """Return the values of a property that are literals: the subject's name, value and language."""
    ox = import_extra("pyoxigraph", "formats")
    with _parsing(path) as parser:
        found = [
            (_name(str(quad.subject)), quad.object)
            for quad in parser
            if quad.predicate.value == iri and isinstance(quad.object, ox.Literal)
        ]
    return [(name, each.value, each.language) for name, each in found]


@contextmanager
def _parsing(path: Path) -> Iterator[Any]:
    """Yield the parser of a file that is not too deep for it; what it raises becomes one error of ours."""
    content = read_bytes(path)
    require_shallow(path, content)
    with as_error(
        lambda why: FormatError(f"{path}: not RDF ({why}). Write or download it again."), SyntaxError
    ):
        try:
            yield import_extra("pyoxigraph", "formats").parse(input=content, format=_format(path))
        except SyntaxError as error:
            where = f"{path}:{error.lineno}" if error.lineno else path
            raise FormatError(f"{where}: {brief(error.msg)}.") from error


def _format(path: Path) -> Any:
    return getattr(import_extra("pyoxigraph", "formats").RdfFormat, SUFFIXES[suffix_of(path)])


def write(path: Path, triples: Sequence[Triple], prefixes: Mapping[str, str]) -> None:
    """Write triples so that `read` returns them; `prefixes` map the prefixes of their names to IRIs."""
    ox = import_extra("pyoxigraph", "formats")
    names = Names(prefixes)
    relations = {name: ox.NamedNode(names.expand(name)) for name in dict.fromkeys(row[1] for row in triples)}
    entities = {
        name: _entity(name, names) for name in dict.fromkeys(name for row in triples for name in row[::2])
    }
    if _format(path) == ox.RdfFormat.RDF_XML:
        _require_element_names(path, relations)
    content = ox.serialize(
        (ox.Triple(entities[head], relations[relation], entities[tail]) for head, relation, tail in triples),
        format=_format(path),
        prefixes={"": OWN} | names.used_by(term.value for term in [*entities.values(), *relations.values()]),
    )
    atomic_write(path, content)


def _entity(name: str, names: Names) -> Any:
    ox = import_extra("pyoxigraph", "formats")
    try:
        return (
            ox.BlankNode(name.removeprefix("_:"))
            if name.startswith("_:")
            else ox.NamedNode(names.expand(name))
        )
    except ValueError:  # not a valid label of a blank node
        return ox.NamedNode(names.expand(name))


def _require_element_names(path: Path, relations: Mapping[str, Any]) -> None:
    """Raise where a relation cannot be an XML element, as RDF/XML must write it."""
    faults = [
        f"{path}: relation {quoted(name)} cannot be an XML element. Rename it, or write .ttl or .nt."
        for name, term in relations.items()
        if not re.search(r"[^\W\d][\w.-]*$", term.value)
    ]
    if faults:
        raise FormatError.collected(faults)

"""Labels: what to call entities in answers, proofs and examples instead of their names."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

from ..errors import FormatError, quoted
from .files import AnyPath, read_bytes, read_utf8, suffix_of
from .triples import find_parts
from .triples.packed import is_packed
from .triples.rdf import SUFFIXES, read_literals

#: The property that RDF has labels in.
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"

#: The language that is taken where an entity has labels in several.
LANGUAGE = "en"


def load_labels(data: AnyPath, given: AnyPath | None = None) -> dict[str, str]:
    """Return what to call entities: the labels of a file that is given, or else of RDF data itself.

    A label that several entities have is followed by the name: `Paris (wd:Q90)`.
    """
    if given is not None:
        found = read_labels(given)
    elif is_packed(data):
        return {}
    else:
        files = (file for file in find_parts(Path(data)).values() if suffix_of(file) in SUFFIXES)
        found = {name: label for file in files for name, label in _of_rdf(file).items()}
    counts = Counter(found.values())
    return {name: label if counts[label] == 1 else f"{label} ({name})" for name, label in found.items()}


def read_labels(path: AnyPath) -> dict[str, str]:
    """Return the labels of a file: RDF, or lines of a name, a tab and a label."""
    path = Path(path)
    return _of_rdf(path) if suffix_of(path) in SUFFIXES else _of_lines(path)


def _of_lines(path: Path) -> dict[str, str]:
    found = {}
    for number, line in enumerate(read_utf8(path).splitlines(), 1):
        name, _, label = (part.strip() for part in line.partition("\t"))
        if not line.strip():
            continue
        if not (name and label):
            raise FormatError(f"{path}:{number}: expected a name, a tab and a label, got {quoted(line, 60)}.")
        found[name] = label
    return found


def _of_rdf(path: Path) -> dict[str, str]:
    """Return the labels of RDF data, the English ones where there are several."""
    if b"label" not in read_bytes(path):
        return {}
    found: dict[str, tuple[bool, str]] = {}
    for name, label, language in read_literals(path, LABEL):
        chosen = language == LANGUAGE, label
        if name not in found or chosen[0] > found[name][0]:
            found[name] = chosen
    return {name: label for name, (_, label) in found.items()}


def name_of(text: str, labels: Mapping[str, str], names: Iterable[str]) -> str:
    """Return the name of the entity that a user calls by its name or by its label.

    >>> name_of("Anna", {"e1": "Anna"}, ["e1", "e2"])
    'e1'
    """
    if not labels or text in set(names):
        return text
    called = {label: name for name, label in labels.items()}
    return called.get(text, text)

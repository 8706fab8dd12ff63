"""Triples as facts of Prolog (.pl) and ProbLog (.problog); written only."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from ...graph.knowledge_base import Triple
from ..files import atomic_write, suffix_of
from ..rules.logic import quote_atom


def write(path: Path, triples: Sequence[Triple], prefixes: Mapping[str, str]) -> None:
    """Write each triple as fact(head, relation, tail); ProbLog has no directive for the encoding."""
    directive = ":- encoding(utf8).\n" if suffix_of(path) == ".pl" else ""
    facts = (f"fact({', '.join(map(quote_atom, triple))}).\n" for triple in triples)
    atomic_write(path, directive + "".join(facts))

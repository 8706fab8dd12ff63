"""IRIs as names: shortened by well-known prefixes alone, so that a graph has the same names in every format.

The prefixes that a file declares decide nothing: N-Triples has none, and files may declare different ones.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from urllib.parse import unquote

#: The namespace of names that are not IRIs, percent-encoded.
OWN = "urn:neurallp:"

PREFIXES = {
    "dbo": "http://dbpedia.org/ontology/",
    "dbr": "http://dbpedia.org/resource/",
    "dcterms": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "schema": "http://schema.org/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "wd": "http://www.wikidata.org/entity/",
    "wdt": "http://www.wikidata.org/prop/direct/",
}


def shorten(iri: str) -> str:
    """Return the name of an IRI: decoded if under `urn:neurallp:`, else with a well-known prefix or in full.

    Other text stays as it is.

    >>> shorten("http://www.wikidata.org/entity/Q42"), shorten("http://ex.org/anna")
    ('wd:Q42', 'http://ex.org/anna')
    """
    if iri.startswith(OWN):
        return unquote(iri.removeprefix(OWN))
    for prefix, namespace in PREFIXES.items():
        if iri.startswith(namespace):
            return f"{prefix}:{iri.removeprefix(namespace)}"
    return iri


def local_name(name: str) -> str:
    """Return what follows the namespace of an IRI, or of a name with a well-known prefix; nothing of others.

    >>> local_name("http://ex.org/club#anna"), local_name("wd:Q42"), local_name("anna:b")
    ('anna', 'Q42', '')
    """
    if "://" in name:
        return name.replace("#", "/").rpartition("/")[2]
    prefix, _, local = name.partition(":")
    return local if prefix in PREFIXES else ""


def other_spellings(text: str, prefixes: Mapping[str, str]) -> list[str]:
    """Return the names that an IRI, perhaps in angle brackets, or a name with a declared prefix means."""
    prefix, colon, local = text.partition(":")
    declared = [prefixes[prefix] + local] if colon and prefix in prefixes else []
    return [shorten(iri) for iri in (text.removeprefix("<").removesuffix(">"), *declared)]


def same_local_name(text: str, names: Iterable[str]) -> list[str]:
    """Return the names of IRIs whose local name a text is."""
    return [name for name in names if text and name.endswith(text) and local_name(name) == text]


def unambiguous(names: Collection[str]) -> dict[str, str]:
    """Return the local names of IRIs by which they can be asked for: those that no other name has.

    >>> unambiguous(["http://a.org/x", "http://b.org/x", "http://b.org/y"])
    {'http://b.org/y': 'y'}
    """
    local = {name: local_name(name) for name in names if "://" in name}
    counts = Counter(local.values())
    counts.update(name if "://" not in name else "" for name in names)
    return {name: short for name, short in local.items() if short and counts[short] == 1}

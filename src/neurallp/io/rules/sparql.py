"""Rules as a SPARQL query over RDF."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...rules.rule import Rule
from ..triples.rdf import Names
from .atoms import Atom, body_atoms


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return one CONSTRUCT query; `prefixes` map the prefixes of names such as `ex:father` to IRIs."""
    names = Names(prefixes)
    groups = "\n  UNION\n".join(f"  {{ {' '.join(_patterns(rule, names))} }}" for rule in rules)
    return f"CONSTRUCT {{ ?X ?relation ?Y }} WHERE {{\n{groups}\n}}\n"


def _patterns(rule: Rule, names: Names) -> Iterator[str]:
    atoms = body_atoms(rule)
    yield from (f"?{atom.head} <{names.expand(atom.relation)}> ?{atom.tail} ." for atom in atoms)
    if not atoms:
        yield "{ ?X ?p ?o FILTER(!isLiteral(?o)) } UNION { ?s ?p ?X FILTER(!isLiteral(?X)) } BIND(?X AS ?Y)"
    yield from (f"FILTER(!isLiteral(?{variable}))" for variable in _only_tails(atoms))
    yield from (f"FILTER(?{one} != ?{other})" for one, other in rule.unequal_variables)
    yield f"BIND(<{names.expand(rule.target)}> AS ?relation)"


def _only_tails(atoms: Iterable[Atom]) -> list[str]:
    """Return the variables that occur only as tails: a literal could match there, and is not an entity."""
    heads = {atom.head for atom in atoms}
    return sorted({atom.tail for atom in atoms} - heads)

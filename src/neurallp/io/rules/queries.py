"""Rules as queries: a SPARQL CONSTRUCT over RDF, and an SQL view over a table of facts."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING

from ...graph.vocabulary import INVERSE_MARK
from ..triples.rdf import Names
from .atoms import Atom, body_atoms, decimal

if TYPE_CHECKING:
    from ...rules.rule import Rule

SQL_HEADER = """\
-- What the rules conclude from a table facts(head, relation, tail).
CREATE VIEW derived AS
"""

ENTITIES = "(SELECT head AS entity FROM facts UNION SELECT tail FROM facts) AS f0"


def render_sql(rules: Iterable["Rule"]) -> str:
    """Return rules as one view of head, relation, tail and confidence; targets are no inverses."""
    return SQL_HEADER + "\nUNION ALL\n".join(_select(rule) for rule in rules) + ";\n"


def _select(rule: "Rule") -> str:
    columns = [_columns(place, operator) for place, operator in enumerate(rule.body)]
    entities = [columns[0][0], *(left for _, left in columns)] if columns else ["f0.entity"]
    conditions = [
        *(f"f{i}.relation = {_literal(name.removeprefix(INVERSE_MARK))}" for i, name in enumerate(rule.body)),
        *(f"{before[1]} = {after[0]}" for before, after in pairwise(columns)),
        *(f"{entities[i]} <> {entities[j]}" for i, j in rule.all_inequalities),
    ]
    tables = ", ".join(f"facts AS f{i}" for i in range(len(columns))) or ENTITIES
    what = f"{entities[0]} AS head, {_literal(rule.target)} AS relation, {entities[-1]} AS tail"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT DISTINCT {what}, {decimal(rule.confidence)} AS confidence FROM {tables}{where}"


def _columns(place: int, operator: str) -> tuple[str, str]:
    """Return the columns by which an atom is entered and left."""
    head, tail = f"f{place}.head", f"f{place}.tail"
    return (tail, head) if operator.startswith(INVERSE_MARK) else (head, tail)


def _literal(name: str) -> str:
    return "'" + name.replace("'", "''") + "'"


def render_sparql(rules: Iterable["Rule"], prefixes: Mapping[str, str] | None = None) -> str:
    """Return rules as one CONSTRUCT query; `prefixes` say which IRIs names such as `ex:father` stand for."""
    names = Names(prefixes or {})
    groups = "\n  UNION\n".join(f"  {{ {' '.join(_patterns(rule, names))} }}" for rule in rules)
    return f"CONSTRUCT {{ ?X ?relation ?Y }} WHERE {{\n{groups}\n}}\n"


def _patterns(rule: "Rule", names: Names) -> Iterator[str]:
    atoms = body_atoms(rule)
    yield from (f"?{atom.head} <{names.expand(atom.relation)}> ?{atom.tail} ." for atom in atoms)
    if not atoms:
        yield "{ ?X ?p ?o FILTER(!isLiteral(?o)) } UNION { ?s ?p ?X FILTER(!isLiteral(?X)) } BIND(?X AS ?Y)"
    yield from (f"FILTER(!isLiteral(?{variable}))" for variable in _only_tails(atoms))
    yield from (f"FILTER(?{one} != ?{other})" for one, other in rule.unequal_variables)
    yield f"BIND(<{names.expand(rule.target)}> AS ?relation)"


def _only_tails(atoms: Iterable[Atom]) -> list[str]:
    """Return the variables that only tails bind: a literal could stand there, and is no entity."""
    heads = {atom.head for atom in atoms}
    return sorted({atom.tail for atom in atoms} - heads)

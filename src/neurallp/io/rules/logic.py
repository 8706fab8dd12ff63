"""What the logic programs share: Prolog, ProbLog and Soufflé's Datalog.

In each, `fact` holds what is known and `derived` what the rules conclude from it. They are two predicates, so
no rule uses the conclusions of another, as in this package, and every program terminates.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ...graph.vocabulary import is_inverse, relation_of
from ...rules.rule import Rule
from .atoms import body_atoms

ENTITIES = "entity(X) :- fact(X, _, _).\nentity(X) :- fact(_, _, X).\n"


def quote_atom(name: str) -> str:
    r"""Return a name as an atom of Prolog: `father`, `'Anna B.'`, `'it\u0027s'`.

    ProbLog ends an atom at the first quote without a backslash before it, so quotes and backslashes are
    written as code points.
    """
    if re.fullmatch("[a-z][A-Za-z0-9_]*", name):
        return name
    return "'" + "".join(c if c.isprintable() and c not in "'\\" else _escape(c) for c in name) + "'"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def operator_term(name: str) -> str:
    """Return an operator as a term: `uncle`, or `inv(uncle)` for its inverse."""
    atom = quote_atom(relation_of(name))
    return f"inv({atom})" if is_inverse(name) else atom


@dataclass(frozen=True)
class Dialect:
    """How a language writes names and inequality."""

    quote: Callable[[str], str]
    not_equal: str

    def body(self, rule: Rule) -> str:
        """Return the body of a clause; a rule without atoms relates each entity to itself."""
        atoms = [f"fact({a.head}, {self.quote(a.relation)}, {a.tail})" for a in body_atoms(rule)]
        differ = [f"{one} {self.not_equal} {other}" for one, other in rule.unequal_variables]
        return ", ".join([*(atoms or ["entity(X)", "X = Y"]), *differ])


PROLOG = Dialect(quote_atom, r"\=")


def entity_clauses(rules: Iterable[Rule]) -> str:
    """Return the clauses that define `entity`, which only rules without a body need, or nothing."""
    return "" if all(rule.body for rule in rules) else ENTITIES

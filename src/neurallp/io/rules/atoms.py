"""Rules as atoms over variables, the form that other programs use, and back to chains."""

from collections.abc import Sequence
from typing import NamedTuple

from ...graph.vocabulary import inverse_name, is_inverse, relation_of
from ...rules.rule import Rule


class Atom(NamedTuple):
    """relation(head, tail) over variables."""

    relation: str
    head: str
    tail: str


def body_atoms(rule: Rule) -> list[Atom]:
    """Return the body as atoms from X to Y; an inverse has its variables swapped."""
    links = zip(rule.body, rule.variables, rule.variables[1:], strict=False)
    return [_orient(operator, source, answer) for operator, source, answer in links]


def _orient(operator: str, source: str, answer: str) -> Atom:
    ends = (answer, source) if is_inverse(operator) else (source, answer)
    return Atom(relation_of(operator), *ends)


def find_chain(target: Atom, body: Sequence[Atom]) -> tuple[str, ...] | None:
    """Return the operators of the chain from the target's head to its tail that uses every atom once.

    Atoms may be in any order. A chain visits each variable once; for other bodies the result is None.
    """
    left, place, visited, operators = list(body), target.head, {target.head}, []
    while left:
        onward = [atom for atom in left if place in (atom.head, atom.tail)]
        if len(onward) != 1:
            return None
        atom = onward[0]
        left.remove(atom)
        operators.append(atom.relation if atom.head == place else inverse_name(atom.relation))
        place = atom.tail if atom.head == place else atom.head
        if place in visited:
            return None
        visited.add(place)
    return tuple(operators) if place == target.tail else None


def decimal(value: float) -> str:
    """Return a number that every language reads: with a point and without an exponent."""
    import numpy as np

    return np.format_float_positional(value, trim="0")

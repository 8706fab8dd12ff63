"""Rules as atoms over variables, which is how everybody else writes them, and back to chains."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...graph.vocabulary import INVERSE_MARK

if TYPE_CHECKING:
    from ...rules.rule import Rule


class Atom(NamedTuple):
    """relation(head, tail) over variables."""

    relation: str
    head: str
    tail: str


def body_atoms(rule: "Rule") -> list[Atom]:
    """Return the body as atoms from X to Y; an inverse has its variables swapped."""
    links = zip(rule.body, rule.variables, rule.variables[1:], strict=False)
    return [_orient(operator, source, answer) for operator, source, answer in links]


def _orient(operator: str, source: str, answer: str) -> Atom:
    if operator.startswith(INVERSE_MARK):
        return Atom(operator.removeprefix(INVERSE_MARK), answer, source)
    return Atom(operator, source, answer)


def find_chain(target: Atom, body: Sequence[Atom]) -> tuple[str, ...] | None:
    """Return the operators that lead from the target's head to its tail through every atom, in any order.

    A chain meets each variable once; other bodies say more than a chain can, and give None.
    """
    left, place, met, operators = list(body), target.head, {target.head}, []
    while left:
        onward = [atom for atom in left if place in (atom.head, atom.tail)]
        if len(onward) != 1:
            return None
        atom = onward[0]
        left.remove(atom)
        operators.append(atom.relation if atom.head == place else INVERSE_MARK + atom.relation)
        place = atom.tail if atom.head == place else atom.head
        if place in met:
            return None
        met.add(place)
    return tuple(operators) if place == target.tail else None


def decimal(value: float) -> str:
    """Return a number that every language reads: with a point and without an exponent."""
    return np.format_float_positional(value, trim="0")

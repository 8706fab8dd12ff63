"""Vocabularies: names of entities and relations, and their ids."""

from collections.abc import Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, TypeVar

from ..errors import DataError, UnknownNameError

if TYPE_CHECKING:
    from .arrays import Ids

INVERSE_MARK = "~"

Operator = TypeVar("Operator", int, "Ids")


def inverse_operator(operators: Operator, num_relations: int) -> Operator:
    """Return the inverse of one operator, or of each in an array: r and r + R are inverse to each other."""
    return (operators + num_relations) % (2 * num_relations)


def is_inverse(operator: str) -> bool:
    """Return whether an operator's name is that of an inverse, `~name`."""
    return operator.startswith(INVERSE_MARK)


def relation_of(operator: str) -> str:
    """Return the relation of an operator: `name` for both `name` and `~name`."""
    return operator.removeprefix(INVERSE_MARK)


def inverse_name(operator: str) -> str:
    """Return the name of the inverse operator.

    >>> inverse_name("father"), inverse_name("~father")
    ('~father', 'father')
    """
    return relation_of(operator) if is_inverse(operator) else INVERSE_MARK + operator


class Vocabulary(Sequence[str]):
    """Distinct names in order; the position of a name is its id."""

    kind = "entity"
    owner = "The knowledge base"

    def __init__(self, names: Iterable[str]) -> None:
        self.names = tuple(names)
        self._ids = {name: i for i, name in enumerate(self.names)}
        if len(self._ids) != len(self.names):
            raise DataError(f"A vocabulary needs distinct names; some {self.kind} is given twice.")

    def __len__(self) -> int:
        return len(self.names)

    def __getitem__(self, index: Any) -> Any:
        return self.names[index]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Vocabulary) and self.names == other.names

    def __hash__(self) -> int:
        return hash(self.names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self):,} names)"

    def extended(self, names: Iterable[str]) -> "Vocabulary":
        """Return the vocabulary with new names at the end; ids stay, and nothing is numbered again."""
        added = [name for name in dict.fromkeys(names) if name not in self]
        if not added:
            return self
        extended = copy(self)
        extended.names = (*self.names, *added)
        extended._ids = self._ids | {name: len(self) + i for i, name in enumerate(added)}
        return extended

    def id(self, name: str) -> int:
        """Return the id of `name`, or raise with the nearest name."""
        try:
            return self._ids[name]
        except KeyError:
            raise UnknownNameError.among(self.kind, name, self.names, self.owner) from None

    def find(self, name: str) -> int:
        """Return the id of `name`, or -1."""
        return self._ids.get(name, -1)


class Relations(Vocabulary):
    """The relations' names, and the operators they give: relation r is operator r, its inverse r + R."""

    kind = "relation"

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        marked = list(filter(is_inverse, self.names))
        if marked:
            raise DataError(
                f"Relation {marked[0]!r} starts with {INVERSE_MARK!r}, which marks an inverse. Rename it."
            )

    @property
    def num_operators(self) -> int:
        return 2 * len(self)

    def inverse(self, operator: int) -> int:
        """Return the operator that follows the edges of `operator` from target to source."""
        return inverse_operator(operator, len(self))

    def operator_name(self, operator: int) -> str:
        """Return `name`, or `~name` for an inverse."""
        if operator < len(self):
            return self.names[operator]
        return INVERSE_MARK + self.names[operator - len(self)]

    def operator_id(self, name: str) -> int:
        """Return the operator called `name` or `~name`."""
        relation = self.id(relation_of(name))
        return self.inverse(relation) if is_inverse(name) else relation

"""Vocabularies: names of entities and relations, and their ids."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any, Self, TypeVar

from ..errors import DataError, UnknownNameError, quoted
from .iris import other_spellings, same_local_name

if TYPE_CHECKING:
    from .arrays import Ids
    from .numbers import Bins

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

    #: Prefixes that the files of RDF declared; they may be used to ask, and occur in no name.
    prefixes: Mapping[str, str] = {}

    #: The bins that numbers and dates were put in, by relation.
    bins: Mapping[str, "Bins"] = {}

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

    def with_prefixes(self, prefixes: Mapping[str, str]) -> Self:
        """Return the vocabulary with prefixes by which its names may be asked for."""
        if not prefixes:
            return self
        known = copy(self)
        known.prefixes = {**self.prefixes, **prefixes}
        return known

    def with_names(self, names: Iterable[str]) -> "Vocabulary":
        """Return a vocabulary of other names with the same prefixes and bins."""
        renamed = Vocabulary(names)
        renamed.prefixes, renamed.bins = self.prefixes, self.bins
        return renamed

    def id(self, name: str) -> int:
        """Return the id of a name, or of what stands for one (see `canonical`); raise where nothing does."""
        found = self.find(name)
        if found < 0 and (found := self.find(self.canonical(name))) < 0:
            raise self._unknown(name)
        return found

    def canonical(self, text: str) -> str:
        """Return the name that a text stands for, or the text itself.

        A name may be given as a full IRI, with a prefix that its file declares, or by what follows the
        namespace; raises where several names end in that.
        """
        if self.find(text) >= 0:
            return text
        spellings = other_spellings(text, self.prefixes)
        for name in spellings:
            if self.find(name) >= 0:
                return name
        # Comparing takes a scan of all names; past this many it would take seconds.
        found = same_local_name(text, self.names) if len(self) <= 1_000_000 else []
        if len(found) > 1:
            raise UnknownNameError.ambiguous(self.kind, text, found)
        return found[0] if found else spellings[-1]

    def object_id(self, text: str, relation: str) -> int:
        """Return the id of an object of a relation; raise where none is called so."""
        return self.id(self.canonical_object(text, relation))

    def canonical_object(self, text: str, relation: str) -> str:
        """Return the name that a text stands for as an object of a relation: a number stands for its bin."""
        bins = self.bins.get(relation)
        return (bins and bins.name_of(text)) or self.canonical(text)

    def _unknown(self, name: str) -> UnknownNameError:
        return UnknownNameError.among(self.kind, name, self.names, self.owner)

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
            name = quoted(marked[0])
            raise DataError(
                f"Relation {name} starts with {INVERSE_MARK!r}, which marks an inverse. Rename it."
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

    def canonical_operator(self, text: str) -> str:
        """Return the operator, `name` or `~name`, that a text stands for, or the text itself."""
        mark = INVERSE_MARK if is_inverse(text) else ""
        return mark + self.canonical(relation_of(text))

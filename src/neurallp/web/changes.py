"""Changes that are part of the address of a page: facts added, facts removed, rules left out."""

from dataclasses import dataclass, replace
from typing import Annotated

from fastapi import Query
from pydantic import StringConstraints

from ..graph.knowledge_base import Triple

#: Facts and rules that one address may change.
MAX_CHANGES = 20

#: The characters of one name in an address.
MAX_NAME = 500

SEPARATOR = "\t"

_FACT = StringConstraints(max_length=3 * MAX_NAME, pattern="^[^\t]+\t[^\t]+\t[^\t]+$")
_RULE = StringConstraints(max_length=MAX_NAME, pattern=r"^.+:[0-9]{1,9}$")

Facts = Annotated[
    list[Annotated[str, _FACT]],
    Query(max_length=MAX_CHANGES, description="Facts as head, relation and tail with tabs between them."),
]
Part = Annotated[
    str,
    Query(
        max_length=MAX_NAME,
        pattern="^[^\t]*$",
        description="A fact to add, as a form sends it: part by part.",
    ),
]
Vetoes = Annotated[
    list[Annotated[str, _RULE]],
    Query(max_length=MAX_CHANGES, description="Rules to leave out, as query:number (`uncle:3`)."),
]


@dataclass(frozen=True)
class Changes:
    """What differs from the stored facts and rules. An address holds all of it; nothing is kept."""

    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()
    veto: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.add or self.remove or self.veto)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """The parameters of an address that have these changes."""
        return [(name, each) for name in ("add", "remove", "veto") for each in getattr(self, name)]

    def adding(self, fact: Triple) -> "Changes":
        """Return the changes with one more fact; one that was removed comes back."""
        text = SEPARATOR.join(fact)
        if text in self.remove:
            return replace(self, remove=_without(self.remove, text))
        return replace(self, add=_with(self.add, text))

    def removing(self, fact: Triple) -> "Changes":
        """Return the changes with one fact less; one that was added goes."""
        text = SEPARATOR.join(fact)
        if text in self.add:
            return replace(self, add=_without(self.add, text))
        return replace(self, remove=_with(self.remove, text))

    def switching(self, rule: str) -> "Changes":
        """Return the changes with a rule left out, or back again."""
        change = _without if rule in self.veto else _with
        return replace(self, veto=change(self.veto, rule))


#: The facts and rules as they are.
UNCHANGED = Changes()


def _with(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*texts, text)))


def _without(texts: tuple[str, ...], text: str) -> tuple[str, ...]:
    return tuple(each for each in texts if each != text)


def read_changes(
    add: Facts = [],  # noqa: B006
    remove: Facts = [],  # noqa: B006
    veto: Vetoes = [],  # noqa: B006
    add_head: Part = "",
    add_relation: Part = "",
    add_tail: Part = "",
) -> Changes:
    """Return the changes that an address has."""
    given = Changes(*(tuple(dict.fromkeys(each)) for each in (add, remove, veto)))
    parts = add_head, add_relation, add_tail
    return given.adding(parts) if all(parts) else given


def as_fact(text: str) -> Triple:
    """Return the fact that a parameter holds."""
    head, relation, tail = text.split(SEPARATOR)
    return head, relation, tail

"""Find: entities and relations by the beginning of their name, by any of their words, or with typos."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from ...reasoning.answers import FoundEntity
from ..explorer import Explorer
from .parameters import Search

LIMIT = 20


@dataclass(frozen=True)
class FindPage:
    """What a text may mean, the best match first."""

    text: str
    entities: list[FoundEntity]
    relations: list[str]

    @property
    def rows(self) -> list[FoundEntity]:
        """The entities of the table."""
        return self.entities


def find(
    explorer: Explorer,
    text: Search = "",
    limit: Annotated[int, Query(ge=1, le=50, description="Names of each kind, at most.")] = LIMIT,
) -> FindPage:
    """Entities and relations whose names begin with a text, have its words, or resemble it."""
    if not text.strip():
        return FindPage(text, [], [])
    return FindPage(text, explorer.reasoner.find_entities(text, limit), explorer.find_relations(text, limit))

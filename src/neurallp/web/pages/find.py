"""Find: entities and relations by the beginning of their name, by any of their words, or with typos."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Query

from ..explorer import Explorer
from .parameters import Search

LIMIT = 20


@dataclass(frozen=True)
class FindPage:
    """What a text may mean."""

    text: str
    entities: list[str]
    relations: list[str]


def find(
    explorer: Explorer,
    text: Search = "",
    limit: Annotated[int, Query(ge=1, le=50, description="Names of each kind, at most.")] = LIMIT,
) -> FindPage:
    """Entities and relations whose names begin with a text, have its words, or resemble it."""
    entities = explorer.names.find(text, limit)
    relations = explorer.relation_names.find(text, limit)
    return FindPage(text, entities, relations)

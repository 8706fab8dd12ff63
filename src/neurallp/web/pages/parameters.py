"""Parameters that several pages take, and parts that several pages show."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Generic, Literal, TypeVar

from fastapi import Depends, Query

from ..changes import MAX_NAME, Changes, read_changes

R = TypeVar("R")

Name = Annotated[str, Query(max_length=MAX_NAME)]
Search = Annotated[str, Query(max_length=100, description="Words that a row must have.")]
PageNumber = Annotated[int, Query(ge=1, le=100_000, description="The page of a long table, from 1 on.")]
NumAnswers = Annotated[int, Query(ge=1, le=100, description="Answers, at most.")]
Asked = Annotated[
    Literal["tail", "head"],
    Query(description="Asked for: the tail of (entity, relation, ?), or the head of (?, relation, entity)."),
]
World = Annotated[Changes, Depends(read_changes)]


@dataclass(frozen=True)
class Slice(Generic[R]):
    """The rows of one page of a long table."""

    rows: list[R]
    number: int
    num_pages: int
    total: int


def slice_of(rows: Sequence[R], number: int, size: int) -> Slice[R]:
    """Return one page of rows; a number beyond the last page gives the last one.

    >>> slice_of("abcde", 9, 2)
    Slice(rows=['e'], number=3, num_pages=3, total=5)
    """
    num_pages = max(1, -(-len(rows) // size))
    number = min(number, num_pages)
    return Slice(list(rows[(number - 1) * size : number * size]), number, num_pages, len(rows))


def matches(search: str, *texts: str) -> bool:
    """Return whether every word of a search occurs in some of the texts, in any case."""
    whole = " ".join(texts).casefold()
    return all(word in whole for word in search.casefold().split())


@dataclass(frozen=True)
class Fact:
    """A fact by name."""

    head: str
    relation: str
    tail: str

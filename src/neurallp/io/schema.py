"""JSON: written with indentation, read into typed values. Here errors of libraries become ours.

Values are checked against the types of dataclasses while they are parsed (msgspec: a single wheel without
dependencies, which imports in milliseconds).
"""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass, replace
from typing import Any, TypeVar, cast

import msgspec

from ..errors import NeuralLPError, brief

T = TypeVar("T")


def to_json(value: Any) -> str:
    """Return a value as indented JSON."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def decode_json(text: bytes | str) -> Any:
    """Return a JSON value of any type; raise ValueError or RecursionError."""
    return msgspec.json.decode(text)


def parse_json(text: bytes | str, kind: type[T]) -> T:
    """Return JSON as a value of a type, such as a dataclass or `list[str]`; raise ValueError if it is not.

    An object for a dataclass must have all of its fields and no others.

    >>> parse_json("[1, 2]", tuple[int, ...])
    (1, 2)
    """
    value = msgspec.json.decode(text, type=kind)
    # With the defaults of missing fields.
    whole = asdict(value) if is_dataclass(value) and not isinstance(value, type) else value
    if msgspec.json.decode(msgspec.json.encode(whole)) != msgspec.json.decode(text):
        raise ValueError("a field is missing or unknown")
    return value


def convert(value: Any, kind: type[T]) -> T:
    """Return a parsed JSON value as a value of a type; raise ValueError if it is not.

    Fields of a dataclass that are missing have their defaults, and unknown ones are ignored.
    """
    found = msgspec.convert(value, kind)
    # msgspec sets no missing fields.
    return found if not is_dataclass(found) else cast(T, replace(found))  # type: ignore[type-var]


@contextmanager
def as_error(report: Callable[[str], NeuralLPError], *passing: type[BaseException]) -> Iterator[None]:
    """Turn whatever a library raises on damaged content into the error that `report` makes of the reason.

    Errors of the types `passing`, and those of the type that `report` returns, are raised as they are.
    """
    try:
        yield
    except (*passing, type(report(""))):
        raise
    except MemoryError as error:
        raise report("it needs more memory than there is") from error
    except RecursionError as error:
        raise report("it is nested too deeply") from error
    except Exception as error:
        raise report(brief(error)) from error

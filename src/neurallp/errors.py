"""Every error a user can cause, as one tree.

NeuralLPError                 anything this package raises on purpose
├── DataError                 the triples are not what they should be
│   ├── UnknownNameError      an entity or relation that the data or the model does not have
│   ├── QuestionError         a question in words that cannot be understood or answered
│   └── FormatError           a file that cannot be read in the format of its name
├── ConfigError               a setting outside what is allowed
└── ModelError                a model folder that cannot be used
"""

from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


#: Characters of a name that a message shows, and of each where it lists several.
MAX_NAME, MAX_LISTED = 200, 60


class NeuralLPError(Exception):
    """Anything this package raises on purpose; the message says what to do."""


def brief(reason: object, limit: int = 200) -> str:
    r"""Return a reason on one line and of at most `limit` characters, without a full stop at its end.

    >>> brief("a very\nlong reason.", 12)
    'a very long…'
    """
    text = " ".join(str(reason).split()).removesuffix(".") or type(reason).__name__
    return text if len(text) <= limit else text[: limit - 1].rstrip() + "…"


def quoted(name: str, limit: int = MAX_NAME) -> str:
    """Return a name or a line of a file as messages show it: in quotes, at most `limit` characters of it.

    >>> print(quoted("anna"), quoted("a very long name", 6))
    'anna' 'a very'…
    """
    shown = repr(name[:limit])
    if len(name) <= limit and len(shown) <= limit + 2:
        return shown
    quote = shown[0]
    return shown[: limit + 1].removesuffix(quote) + quote + "…"  # escapes may be longer than the name


def listed(names: "Iterable[str]") -> str:
    """Return names as a message lists them."""
    return ", ".join(quoted(name, MAX_LISTED) for name in names)


class DataError(NeuralLPError):
    """The triples are not what they should be."""


class UnknownNameError(DataError):
    """An entity or relation that the knowledge base or the model does not have."""

    @classmethod
    def among(cls, kind: str, name: str, known: "Sequence[str]", owner: str) -> "UnknownNameError":
        """Return the error for `name`, with the nearest known name as a suggestion."""
        # A close match costs a scan of all names; past this many, or with a long name, it would take seconds.
        is_quick = len(known) <= 200_000 and len(name) <= MAX_NAME
        near = get_close_matches(name, known, n=1) if is_quick else []
        hint = f" Did you mean {quoted(near[0])}?" if near else ""
        plural = {"entity": "entities"}.get(kind, f"{kind}s")
        return cls(f"Unknown {kind} {quoted(name)}.{hint} {owner} has {len(known):,} {plural}.")

    @classmethod
    def ambiguous(cls, kind: str, name: str, found: "Sequence[str]") -> "UnknownNameError":
        """Return the error for a short name that stands for several names."""
        plural = {"entity": "entities"}.get(kind, f"{kind}s")
        more = f" and {len(found) - 3:,} more" if len(found) > 3 else ""
        names = ", ".join(map(brief, found[:3]))
        return cls(f"{quoted(name)} may be any of {len(found):,} {plural}: {names}{more}. Give one in full.")


class QuestionError(DataError):
    """A question in words that cannot be understood, or that the knowledge base cannot answer."""


class FormatError(DataError):
    """A file that cannot be read; carries every fault of it, each with its line."""

    #: Faults that a message lists; further ones are only counted.
    most_shown = 10

    @classmethod
    def collected(cls, faults: "Sequence[str]") -> "FormatError":
        """Return one error that lists `faults`."""
        shown = list(faults[: cls.most_shown])
        if len(faults) > len(shown):
            shown.append(f"… and {len(faults) - len(shown):,} more faults.")
        return cls("\n".join(shown))


class ConfigError(NeuralLPError):
    """A setting outside what is allowed."""


def require_positive(name: str, value: int, limit: int | None = None) -> None:
    """Raise unless `value` is at least 1, and at most `limit` where there is one."""
    if value < 1:
        raise ConfigError(f"{name} must be at least 1, got {value}.")
    if limit is not None and value > limit:
        raise ConfigError(f"{name} must be at most {limit}, got {value}.")


def require_choice(name: str, value: str, choices: "Sequence[str]") -> None:
    """Raise unless `value` is one of `choices`, with the nearest of them."""
    if value not in choices:
        near = get_close_matches(value, choices, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ConfigError(f"{name} must be one of {', '.join(choices)}, got {quoted(value)}.{hint}")


def import_extra(module: str, extra: str) -> Any:
    """Return a module that not every user needs, or raise with the command that installs it."""
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(
            f"This needs {module}, which is not there: pip install 'neurallp[{extra}]'"
        ) from error


class ModelError(NeuralLPError):
    """A model folder that is incomplete, damaged or of another format version."""


class DataWarning(UserWarning):
    """Data that can be used, but probably contains a mistake."""

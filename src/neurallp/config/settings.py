"""What configurations are made of: a setting with its description, and checks of its value."""

from dataclasses import field
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ..errors import ConfigError, require_choice, require_positive

LIMITS = {"num_steps": 100, "max_length": 100, "num_controllers": 100}  # more would never end


def setting(default: Any, help: str = "", *, flag: str = "", unset: str = "") -> Any:  # noqa: A002
    """Return a field of a configuration with its description for the command line.

    `flag` is the option's name where it is not the field's name; `unset` describes a default of None or ().
    """
    return field(default=default, metadata={"help": help, "flag": flag, "unset": unset})


def choices_of(annotation: Any) -> tuple[str, ...]:
    """Return the values that a type allows, or () where it is not a Literal.

    >>> choices_of(Literal["valid", "test"])
    ('valid', 'test')
    """
    return get_args(annotation) if get_origin(annotation) is Literal else ()


def require_choices(config: Any) -> None:
    """Raise unless every setting with a Literal type has one of its values."""
    for name, annotation in get_type_hints(type(config)).items():
        if choices := choices_of(annotation):
            require_choice(name, getattr(config, name), choices)


def require_all_positive(config: Any, *names: str) -> None:
    """Raise unless each of some settings is positive and within its limit, or not set."""
    for name in names:
        if (value := getattr(config, name)) is not None:
            require_positive(name, value, LIMITS.get(name))


def require_learning_rate(rate: float) -> None:
    """Raise unless a learning rate is positive and finite."""
    if not 0 < rate < float("inf"):
        raise ConfigError(f"learning_rate must be above 0 and finite, got {rate}.")


def require_dropout(dropout: float) -> None:
    """Raise unless dropout is a probability that leaves rules to fit."""
    if not 0 <= dropout < 1:
        raise ConfigError(f"dropout must be at least 0 and below 1, got {dropout}.")


def require_seed(seed: int) -> None:
    """Raise unless a seed can be used by every generator of random numbers."""
    if not 0 <= seed < 2**63:
        raise ConfigError(f"seed must be at least 0 and below 2^63, got {seed}.")

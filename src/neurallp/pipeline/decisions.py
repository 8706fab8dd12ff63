"""What a plan decides, one setting after the other, and with which options."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from ..config import KINDS, WeightingConfig
from ..weighting.masking import NEARLY_ALL
from .survey import Survey

#: Bodies are tried up to this length, as long as no more walks leave the end of a fact.
MAX_LENGTH = 5
MAX_WALKS = 3e7

#: Bodies begin with the length that reaches this share of the validation pairs that can be reached.
ENOUGH_REACHED = 0.95

#: The probability that dropout leaves out a rule, where it is chosen.
DROPOUT = 0.3

#: Kinds of rules that are not tried: the plan decides from the facts whether it has them.
DECIDED_FROM_FACTS = ("linked",)

Change = Callable[[WeightingConfig], WeightingConfig]


class Option(NamedTuple):
    """One value of a setting, in words, and how it changes the settings."""

    words: str
    change: Change


class Decision(NamedTuple):
    """A setting to decide: its options in order. A ladder ends with the first option that is not better."""

    #: What it is about: where one of these is given, nothing is decided.
    settings: tuple[str, ...]
    options: Callable[[Survey, WeightingConfig], Iterator[Option]]
    is_ladder: bool = False
    #: Whether it is tried only where trials refine queries: on few questions its gain would be chance.
    needs_refined: bool = False


def first_length(found: Survey) -> int:
    """Return the shortest length that reaches nearly all validation pairs that can be reached; 2 or more."""
    enough = [n for n, share in enumerate(found.reached, 1) if share >= ENOUGH_REACHED * found.reached[-1]]
    length = max(2, min(enough, default=2))
    while length > 2 and found.walks[length - 1] > MAX_WALKS:
        length -= 1
    return length


def longer_bodies(found: Survey, config: WeightingConfig) -> Iterator[Option]:
    """Yield greater lengths, as long as bodies have not too many walks."""
    for length in range(config.max_length + 1, MAX_LENGTH + 1):
        if found.walks[length - 1] > MAX_WALKS:
            return
        yield Option(f"bodies up to {length}", _setting(max_length=length))


def other_lengths(found: Survey, config: WeightingConfig) -> Iterator[Option]:
    """Yield a shorter and a longer length that queries may choose besides."""
    for length in (config.max_length - 1, config.max_length + 1):
        if 2 <= length <= MAX_LENGTH and found.walks[length - 1] <= MAX_WALKS:
            yield Option(f"bodies up to {length} for some queries", partial(_with_length, length))


def _with_length(length: int, config: WeightingConfig) -> WeightingConfig:
    """Return the settings with one more length to choose from."""
    return replace(config, other_lengths=(*config.other_lengths, length))


def more_kinds(found: Survey, config: WeightingConfig) -> Iterator[Option]:
    """Yield all further kinds together, then each of them: together they may gain what none gains alone."""
    further = tuple(kind for kind in KINDS if kind not in (*config.kinds, *DECIDED_FROM_FACTS))
    together = [further] if len(further) > 1 else []
    for kinds in (*together, *((kind,) for kind in further)):
        plural = "s" if len(kinds) > 1 else ""
        yield Option(f"kind{plural} {', '.join(kinds)}", partial(_with_kinds, more=kinds))


def _with_kinds(config: WeightingConfig, more: Sequence[str]) -> WeightingConfig:
    """Return the settings with more kinds of rules."""
    return replace(config, kinds=tuple(dict.fromkeys((*config.kinds, *more))))


def other_masking(found: Survey, config: WeightingConfig) -> Iterator[Option]:
    """Yield the other way of masking where some validation pairs are linked by known facts, but not all."""
    if 0 < found.linked_share < 1:
        masking = "fact" if found.linked_share >= NEARLY_ALL else "both"
        yield Option(f"masking {masking}", _setting(masking=masking))


def dropout(found: Survey, config: WeightingConfig) -> Iterator[Option]:
    """Yield dropout."""
    yield Option(f"dropout {DROPOUT}", _setting(dropout=DROPOUT))


def _setting(**settings: Any) -> Change:
    return lambda config: replace(config, **settings)


DECISIONS = (
    Decision(("max_length",), longer_bodies, is_ladder=True),
    Decision(("kinds",), more_kinds),
    Decision(("masking",), other_masking),
    Decision(("dropout",), dropout, needs_refined=True),
    Decision(("other_lengths", "max_length"), other_lengths, needs_refined=True),
)

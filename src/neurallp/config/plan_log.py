"""How a plan was made; stored with the model, so it holds no times."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Comparison:
    """One setting that was tried on validation questions before learning, and whether the plan has it."""

    setting: str  # in words: "bodies up to 3"
    mrr: float
    gain: float  # over the settings chosen before it, on the same questions
    error: float  # the standard error of the gain
    chosen: bool

    def __str__(self) -> str:
        mark = "chosen" if self.chosen else "left out"
        return f"{self.setting}: MRR {self.mrr:.3f} ({self.gain:+.3f} ± {self.error:.3f}), {mark}"


@dataclass(frozen=True)
class PlanLog:
    """How a plan was made: what the data looks like, what was tried, and what a time limit cut.

    It holds no times, so equal runs write equal files.
    """

    survey: Mapping[str, Any] = field(default_factory=dict)  # `tried_on`: what each trial asked
    trials: tuple[Comparison, ...] = ()
    minutes: float | None = None
    cut: tuple[str, ...] = ()

    def and_cut(self, *what: str) -> "PlanLog":
        """Return the log with more that was cut."""
        return replace(self, cut=(*self.cut, *what))

"""Calibration: predicted probabilities against how often the answers are right, on the test part."""

from collections.abc import Mapping
from dataclasses import dataclass

from ...reasoning.reliability import Reliability
from ..explorer import Explorer

#: The choice of answers that is drawn: what a person sees who asks about any source.
CHOICE = "shown"


@dataclass(frozen=True)
class Point:
    """A point of a curve."""

    x: float
    y: float


@dataclass(frozen=True)
class Curve:
    """A named curve."""

    name: str
    points: list[Point]


@dataclass(frozen=True)
class ReliabilityRow:
    """The errors of probabilities for one group of sources and one choice of answers."""

    source: str
    answers: str
    ece: float
    brier: float
    num_answers: int
    num_right: int


@dataclass(frozen=True)
class CalibrationPage:
    """How reliable probabilities are; empty where there are none, or nothing to test them on."""

    curves: list[Curve]
    rows: list[ReliabilityRow]


def calibration(explorer: Explorer) -> CalibrationPage:
    """How reliable the probabilities are on the test part; measured when first asked for."""
    found = explorer.reliability()
    rows = [
        ReliabilityRow(group, choice, each.ece, each.brier, int(each.counts.sum()), each.num_right)
        for group, choices in found.items()
        for choice, each in choices.items()
    ]
    return CalibrationPage(as_curves(found), rows)


def as_curves(found: Mapping[str, Mapping[str, Reliability]]) -> list[Curve]:
    """Return a curve for each group of sources: predicted probability and fraction right."""
    return [
        Curve(
            f"source with {group}",
            [
                Point(*map(float, each))
                for each in zip(choices[CHOICE].predicted, choices[CHOICE].observed, strict=True)
            ],
        )
        for group, choices in found.items()
    ]

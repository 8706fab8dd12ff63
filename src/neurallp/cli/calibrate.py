"""`calibrate`: probabilities for the answers of a model."""

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .options import Data, Json, Model, load_split
from .output import console, print_json, reliability_table, watched

if TYPE_CHECKING:
    from ..config import Part
    from ..graph.knowledge_base import Split
    from ..pipeline.program import Answering
    from ..reasoning.calibration import Sample


class MethodName(StrEnum):
    """How normalised scores become probabilities."""

    isotonic = "isotonic"
    platt = "platt"


def calibrate(
    model: Model,
    data: Data,
    method: Annotated[
        MethodName, typer.Option(help="Any rising curve, or for little validation one of two numbers.")
    ] = MethodName.isotonic,
    as_json: Json = False,
) -> None:
    """Fit on DATA's validation how probable MODEL's answers are.

    From then on `ask` and `explain` say it. The table tells how far it is off (ECE: the expected calibration
    error): on validation, each half judged by what fits the other, and on test.
    """
    from ..io.models.calibration import write_calibration
    from ..pipeline.program import load_model
    from ..reasoning.calibration import fit_calibration, measure_reliability

    program = load_model(model)
    split = load_split(data, program.seed)
    samples = sample_watched(program, split, ["valid", "test"] if len(split.test) else ["valid"], as_json)
    calibration = fit_calibration(samples["valid"], method.value)
    found = {part: measure_reliability(part, sample, calibration) for part, sample in samples.items()}
    write_calibration(model, calibration)
    if as_json:
        parts = {part: {name: each.as_dict() for name, each in of.items()} for part, of in found.items()}
        print_json({"model": str(model), "method": method.value, **parts})
        return
    console.print(reliability_table(found))
    console.print(f"Answers from {escape(str(model))} now have a probability.", soft_wrap=True)


def sample_watched(
    program: "Answering", split: "Split", parts: "Sequence[Part]", quiet: bool
) -> "dict[str, Sample]":
    """Return the answers shown to the questions of parts, asked under a progress bar."""
    with watched("Asking", 2 * sum(len(getattr(split, part)) for part in parts), quiet) as advance:
        return {part: program.sample(split, part, advance) for part in parts}

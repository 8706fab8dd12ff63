"""`calibrate`: probabilities for the answers of a model."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from ..config import CalibrationMethod, Part
from .options import Data, Json, Model, load_split
from .output import console, print_json, progress, reliability_table

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import Program
    from ..reasoning.calibration import Sample


def calibrate(
    model: Model,
    data: Data,
    method: Annotated[
        CalibrationMethod,
        typer.Option(help="Any increasing function, or a sigmoid (for little data)."),
    ] = "isotonic",
    as_json: Json = False,
) -> None:
    """Fit the probabilities of MODEL's answers on DATA's validation part.

    `ask` and `explain` print them from then on. The table has their expected calibration error (ECE): on
    validation, where each half is evaluated with a fit on the other half, and on test.
    """
    from ..io.models.calibration import write_calibration
    from ..pipeline.program import load_model
    from ..reasoning.calibration import fit_calibration, measure_reliability

    program = load_model(model)
    split = load_split(data, program.seed)
    samples = sample_parts(program, split, ["valid", "test"] if len(split.test) else ["valid"], as_json)
    calibration = fit_calibration(samples["valid"], method)
    found = {part: measure_reliability(part, sample, calibration) for part, sample in samples.items()}
    write_calibration(model, calibration)
    if as_json:
        parts = {part: {name: each.as_dict() for name, each in of.items()} for part, of in found.items()}
        print_json({"model": str(model), "method": method, **parts})
        return
    console.print(reliability_table(found))
    console.print(f"Answers from {escape(str(model))} now have a probability.", soft_wrap=True)


def sample_parts(
    program: "Program", split: "Split", parts: Sequence[Part], quiet: bool
) -> "dict[str, Sample]":
    """Return the best answers to the questions of parts, with a progress bar."""
    with progress("Asking", 2 * sum(len(getattr(split, part)) for part in parts), quiet=quiet) as bar:
        return {part: program.sample(split, part, bar.advance) for part in parts}

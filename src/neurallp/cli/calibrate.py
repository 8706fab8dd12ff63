"""`calibrate`: probabilities for the answers of a model or of rules."""

from .options import Data, Json, Source, load_split
from .output import console, print_json, print_line, progress, reliability_table


def calibrate(model: Source, data: Data, as_json: Json = False) -> None:
    """Fit the probabilities of MODEL's answers on DATA.

    `learn` does so already. It is needed for rules that were imported or written by hand, and where facts
    have changed much. Probabilities are fitted on the validation part; where there is none, on a tenth of the
    facts. The table has their expected calibration error (ECE) on test.
    """
    from contextlib import nullcontext

    from ..io.models.calibration import write_calibration
    from ..io.models.store import locked
    from ..pipeline.calibrating import measure
    from ..pipeline.program import load_program

    with locked(model) if model.is_dir() else nullcontext():
        program = load_program(model)
        split = load_split(data, program.seed, program=program)
        with progress("Calibrating", quiet=as_json) as bar:
            program.calibrate(split, bar.advance)
            assert program.calibration is not None
            found = measure(program.basis, program.calibration, split, bar.advance) if len(split.test) else {}
        write_calibration(model, program.calibration)
    if as_json:
        test = {name: {choice: each.as_dict() for choice, each in of.items()} for name, of in found.items()}
        print_json({"model": str(model), "test": test})
        return
    if found:
        console.print(reliability_table(found))
        console.print()
    print_line(f"Answers from {model} now have a probability.")

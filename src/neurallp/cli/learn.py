"""`learn`: a plan for the data, learning with progress, and a model that is usable whenever the run ends."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..config import ModelConfig, Preset, TrainingConfig, WeightingConfig, make_plan
from .evaluate import evaluate_parts
from .options import (
    Data,
    Device,
    Engine,
    Force,
    Json,
    Resume,
    Workers,
    load_split,
    open_workers,
    require_new,
    with_settings,
)
from .output import console, counted, print_json, print_line, say, show_warning
from .stopping import exit_code

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import LearnedProgram
    from .callbacks import LearningProgress

#: The defaults of settings that trials choose.
CHOSEN = dict.fromkeys(
    ("max_length", "num_candidates", "num_pairs", "max_questions", "kinds", "masking"), "chosen"
)

#: Numbers among the names of more entities are not looked for: `describe` does.
MAX_LOOKED_AT = 200_000

#: What is said of a model that has no rule but those that only order answers.
NOTHING_LEARNED = "No rule that predicts an answer was learned: answers are ordered by how common they are."

#: Validation facts that are measured under a time limit.
NUM_VALIDATED = 500


@with_settings(ModelConfig, TrainingConfig, WeightingConfig, defaults=CHOSEN)
def learn(
    data: Data,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")] = Path("model"),
    minutes: Annotated[
        float | None, typer.Option(help="Time limit of the whole run.", show_default="none")
    ] = None,
    preset: Annotated[Preset, typer.Option(help="`paper` learns as published.")] = "default",
    train: Annotated[
        bool | None,
        typer.Option(
            "--train/--no-train",
            show_default="if a trial shows that it helps, or one of its settings is given",
            help="Train the neural model, and weigh its rules with the mined ones.",
        ),
    ] = None,
    numbers: Annotated[
        Literal["entities", "bins"],
        typer.Option(help="Numbers and dates: entities as they are, or ranges (bins) with an order."),
    ] = "entities",
    weigh: Annotated[
        bool | None,
        typer.Option(
            "--weigh/--no-weigh",
            show_default="weigh, but not --preset paper",
            help="Weigh rules against all wrong answers.",
        ),
    ] = None,
    *,
    settings: dict[str, Any],
    device: Device = "auto",
    workers: Workers = "1",
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, show_default="all", help="Learn from about this many facts, sampled with their neighbours."
        ),
    ] = None,
    engine: Engine = "auto",
    resume: Resume = False,
    force: Force = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan with its time and memory, and stop.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn rules from DATA and keep them in a model folder.

    Settings that are not given are chosen on the validation part (a part of train where there is
    none). Learning never uses the test part; `neurallp evaluate` ranks it.
    """
    from ..io.models.store import locked, require_writable
    from ..neural.processes import is_follower
    from ..pipeline.callbacks import Clock

    clock = Clock(minutes)
    wanted: dict[str, Any] = {"preset": preset, "train": train, "weigh": weigh}
    wanted |= _with_checkpoint(settings, out, resume)
    checked = make_plan(**wanted | {"train": train is not False})  # before anything is read
    if not (dry_run or is_follower()):
        require_new(out, force=force, resume=resume)
        require_writable(out)
    split = load_split(data, checked.seed, sample, numbers=numbers == "bins")
    where = "cpu" if workers != "1" else device
    wanted |= {"numbers": numbers, "engine": engine, "device": where}

    from ..pipeline.learn import learn as learn_program
    from .callbacks import LearningProgress

    if is_follower():
        if not dry_run:
            learn_program(split, **wanted)
        return
    if not as_json:
        say(_describe(split))
    _warn(split, numbers)
    with nullcontext() if dry_run else locked(out):
        with (
            open_workers(workers, out) as found,
            LearningProgress(out, resume=resume, dry_run=dry_run, quiet=as_json) as callbacks,
        ):
            program = learn_program(split, minutes=clock, callbacks=callbacks, workers=found, **wanted)
            in_time = not (clock.is_over or callbacks.is_interrupted)
            metrics = _validate(program, split, engine, as_json, clock.is_limited) if in_time else {}
        _save(program, out, metrics, callbacks)
    _report(program, out, metrics, as_json)
    if callbacks.stopped_by is not None:
        raise typer.Exit(exit_code(callbacks.stopped_by))


def _with_checkpoint(given: dict[str, Any], out: Path, resume: bool) -> dict[str, Any]:
    """Return the settings; a resumed run keeps those of its checkpoint except those given."""
    if not resume:
        return given
    from ..io.models.checkpoints import read_settings

    return read_settings(out) | given


def _describe(split: "Split") -> str:
    entities = counted(len(split.entities), "entity", "entities")
    sizes = f"{entities} and {counted(len(split.relations), 'relation')}"
    lost = f" ({counted(split.num_duplicates, 'repetition')} dropped)" if split.num_duplicates else ""
    return (
        f"{counted(len(split.known.facts), 'fact')} about {sizes}{lost}; "
        f"{len(split.valid):,} to validate, {len(split.test):,} to test."
    )


def _warn(split: "Split", numbers: str) -> None:
    """Note facts that are too few to learn from, and numbers that are entities."""
    from ..graph.numbers import find_numeric
    from ..graph.statistics import FEW

    if len(split.known.facts) < FEW:
        num = len(split.known.facts)
        verb = "is" if num == 1 else "are"
        show_warning(f"{counted(num, 'fact')} {verb} too few to learn reliable rules from.")
    looks = numbers != "bins" and len(split.entities) <= MAX_LOOKED_AT
    found = [*find_numeric(split.known)] if looks else []
    if found:
        more = f" and {len(found) - 5:,} more" if len(found) > 5 else ""
        names = ", ".join(found[:5]) + more
        show_warning(f"{names}: objects are numbers or dates. --numbers bins makes ranges of them.")


def _validate(
    program: "LearnedProgram", split: "Split", engine: str, quiet: bool, limited: bool
) -> dict[str, Any]:
    """Return the measures of the validation part, which do not depend on the test part.

    Under a time limit a sample is measured.
    """
    blind = split.without_test()
    if limited and len(blind.valid) > NUM_VALIDATED:
        blind = _with_fewer(blind, program.seed)
    return evaluate_parts(program, blind, ["valid"], engine, quiet) if len(blind.valid) else {}


def _with_fewer(split: "Split", seed: int) -> "Split":
    """Return the split with a sample to validate."""
    import numpy as np

    order = np.random.default_rng(seed).permutation(len(split.valid))
    return replace(split, valid=split.valid[order[:NUM_VALIDATED]])


def _save(
    program: "LearnedProgram", out: Path, metrics: dict[str, Any], callbacks: "LearningProgress"
) -> None:
    """Save the program; one that was cut before anything was learned does not replace another model."""
    from ..io.models.store import holds_model

    if callbacks.is_interrupted and _is_empty(program) and holds_model(out):
        print_line(f"Nothing was learned yet: {out} keeps its earlier model.")
        raise typer.Exit(exit_code(callbacks.stopped_by or 0))
    program.save(out, metrics)


def _is_empty(program: "LearnedProgram") -> bool:
    weighted = program.weighted_rules
    return not program.has_model and (weighted is None or not weighted.predicts)


def _report(program: "LearnedProgram", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    cut = program.plan.log.cut
    if as_json:
        weighted = program.weighted_rules
        found = {"model": str(out), "epochs": len(program.history), "cut": list(cut), **metrics}
        print_json(found | ({} if weighted is None else {"rules": len(weighted)}))
        return
    if program.history:
        best = max(epoch.number for epoch in program.history if epoch.is_best)
        seconds = sum(epoch.seconds for epoch in program.history)
        console.print(f"Best of {len(program.history)} epochs, in {seconds:.1f} s: number {best}.")
    if (weighted := program.weighted_rules) is not None:
        learned = f"{counted(len(weighted), 'weighted rule')}."
        print_line(NOTHING_LEARNED if _is_empty(program) else learned)
    if metrics:
        console.print(
            f"Validation: MRR {metrics['valid']['mrr']:.3f}, Hits@10 {metrics['valid']['hits@10']:.3f} "
            "(answers that only the test part knows count as wrong)."
        )
    if cut:
        print_line(f"Cut: {'; '.join(cut)}. The same command with more time learns the rest.")
    print_line(f"Model in {out}. Next: neurallp rules {out}")

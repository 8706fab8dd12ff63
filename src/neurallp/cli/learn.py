"""`learn`: learning with progress, checkpoints and a summary."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import ModelConfig, Plan, Preset, TrainingConfig, WeightingConfig, make_plan
from .evaluate import evaluate_parts, held_out
from .options import Data, Device, Engine, Json, Resume, choose_device, load_split, with_settings
from .output import console, measures_table, print_json, print_line, say

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import LearnedProgram


@with_settings(ModelConfig, TrainingConfig, WeightingConfig, defaults={"max_length": "as --steps"})
def learn(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model"),
    preset: Annotated[Preset, typer.Option(help="`paper` learns as published.")] = "default",
    weigh: Annotated[
        bool | None,
        typer.Option(
            "--weigh/--no-weigh",
            show_default="weigh, but not --preset paper",
            help="Weigh the model's rules and mined ones against all wrong answers.",
        ),
    ] = None,
    *,
    settings: dict[str, Any],
    device: Device = "auto",
    engine: Engine = "auto",
    resume: Resume = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the time and memory it would take, and stop.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn rules from DATA and keep them in a model folder."""
    plan = _make_plan(preset, weigh, settings, out if resume else None)
    split = load_split(data, plan.seed)
    if not as_json:
        say(_describe(split))

    from ..pipeline.learn import learn as learn_program
    from .callbacks import LearningProgress

    device = choose_device(device, engine)
    with LearningProgress(out, resume=resume, dry_run=dry_run, quiet=as_json) as callbacks:
        program = learn_program(split, plan, engine=engine, device=device, callbacks=callbacks)
    metrics = evaluate_parts(program, split, held_out(split), engine, as_json)
    program.save(out, metrics)
    _report(program, out, metrics, as_json)


def _make_plan(preset: Preset, weigh: bool | None, given: dict[str, Any], resumed: Path | None) -> Plan:
    """Return the plan; a resumed run keeps its settings except those given."""
    if resumed is None:
        return make_plan(preset, weigh=weigh, **given)
    from ..io.models.checkpoints import read_settings

    return make_plan(preset, weigh=weigh, **read_settings(resumed) | given)


def _describe(split: "Split") -> str:
    sizes = f"{len(split.entities):,} entities and {len(split.relations):,} relations"
    lost = f" ({split.num_duplicates:,} repetitions dropped)" if split.num_duplicates else ""
    return (
        f"{len(split.known.facts):,} facts about {sizes}{lost}; "
        f"{len(split.valid):,} to validate, {len(split.test):,} to test."
    )


def _report(program: "LearnedProgram", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    best = max(epoch.number for epoch in program.history if epoch.is_best)
    if as_json:
        print_json({"model": str(out), "epochs": len(program.history), "best_epoch": best, **metrics})
        return
    if metrics:
        console.print(measures_table(metrics))
        console.print()
    seconds = sum(epoch.seconds for epoch in program.history)
    console.print(f"Best of {len(program.history)} epochs, in {seconds:.1f} s: number {best}.")
    print_line(f"Model in {out}. Next: neurallp rules {out}")

"""`learn`: training with progress, checkpoints and a summary."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from .inspect import held_out, judge_watched
from .options import Data, Device, Engine, EngineName, Json, Preset, Resume, choose_device, load_split
from .output import console, log, measures_table, print_json, say
from .weigh import Kinds, parse_kinds, weigh_watched

if TYPE_CHECKING:
    from ..config import ModelConfig, TrainingConfig
    from ..graph.knowledge_base import Split
    from ..neural.training import Training
    from ..pipeline.program import Program


def learn(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model"),
    preset: Annotated[Preset, typer.Option(help="`paper` learns as published.")] = Preset.default,
    steps: Annotated[int | None, typer.Option(show_default="2", help="Longest rule body (T).")] = None,
    controllers: Annotated[
        int | None, typer.Option(show_default="1", help="Parallel controllers whose scores add.")
    ] = None,
    epochs: Annotated[
        int | None, typer.Option(show_default="20", help="Passes over the training questions, at most.")
    ] = None,
    batch_size: Annotated[int | None, typer.Option(show_default="128", help="Questions at a time.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(show_default="0.001", help="Adam's step size.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(show_default="4", help="Epochs without progress before stopping.")
    ] = None,
    objective: Annotated[
        str | None,
        typer.Option(
            metavar="<log-score|normalized>",
            show_default="normalized",
            help="What is made large: the answer's log score (the paper's), or its share of all scores.",
        ),
    ] = None,
    masking: Annotated[
        str | None,
        typer.Option(
            metavar="<fact|batch|train>",
            show_default="fact",
            help="What a question may not see: its own fact, its batch's, or all of train.",
        ),
    ] = None,
    facts: Annotated[
        str | None,
        typer.Option(
            metavar="<relation|unlinked>",
            show_default="relation",
            help="How a quarter of the facts is set apart to ask, where hiding is not `fact`.",
        ),
    ] = None,
    operators_per_query: Annotated[
        int | None,
        typer.Option(show_default="all", help="Use only those that share most entities with the query."),
    ] = None,
    normalize: Annotated[
        bool | None,
        typer.Option(
            "--normalize/--no-normalize", show_default="normalize", help="Divide each memory by its sum."
        ),
    ] = None,
    exclude_source: Annotated[
        bool | None,
        typer.Option(
            "--exclude-source/--allow-source",
            show_default="exclude-source",
            help="Never answer with the source itself where no fact does.",
        ),
    ] = None,
    memory_keys: Annotated[
        str | None,
        typer.Option(
            metavar="<previous|present>",
            show_default="present",
            help="What eq. 11 looks up: previous states (the paper's), or those up to the present one.",
        ),
    ] = None,
    seed: Annotated[
        int | None, typer.Option(show_default="0", help="Fixes weights, order and split.")
    ] = None,
    device: Device = "auto",
    engine: Engine = EngineName.auto,
    resume: Resume = False,
    weigh: Annotated[
        bool | None,
        typer.Option(
            "--weigh/--no-weigh",
            show_default="weigh, but not --preset paper",
            help="Weigh the rules, and those found between known pairs, against all wrong answers.",
        ),
    ] = None,
    max_rules: Annotated[
        int | None, typer.Option(min=1, show_default="all", help="Weighted rules kept for each query.")
    ] = None,
    kinds: Kinds = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what time and memory it would take, and stop.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Learn rules from DATA and keep them in a model folder."""
    given = {
        "num_steps": steps,
        "num_controllers": controllers,
        "num_epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "objective": objective,
        "training_masking": masking,
        "facts_apart": facts,
        "operators_per_query": operators_per_query,
        "normalize": normalize,
        "exclude_source": exclude_source,
        "memory_keys": memory_keys,
        "seed": seed,
    }
    weighting = {"max_rules": max_rules, **parse_kinds(kinds)}
    configs = _configure(preset.value, given, out if resume else None)
    split = load_split(data, configs[1].seed)
    if not as_json:
        say(_describe(split))
    training = _prepare(split, configs, engine.value, choose_device(device, engine), as_json, dry_run)
    program = _learn(training, out, resume, as_json)
    if preset is not Preset.paper if weigh is None else weigh:
        _weigh(program, split, weighting, choose_device(device), as_json)
    metrics = judge_watched(program, split, held_out(split), engine.value, as_json)
    program.save(out, metrics)
    _report(program, out, metrics, as_json)


def _configure(
    preset: str, given: dict[str, Any], resumed: Path | None
) -> "tuple[ModelConfig, TrainingConfig]":
    """Return both configurations; a resumed run keeps its settings but for those given."""
    from ..config import configure
    from ..io.models.folders import read_settings

    kept = {} if resumed is None else read_settings(resumed)
    return configure(preset, **kept | {name: value for name, value in given.items() if value is not None})


def _describe(split: "Split") -> str:
    sizes = f"{len(split.entities):,} entities and {len(split.relations):,} relations"
    lost = f" ({split.num_duplicates:,} repetitions dropped)" if split.num_duplicates else ""
    return (
        f"{len(split.known.facts):,} facts about {sizes}{lost}; "
        f"{len(split.valid):,} to validate, {len(split.test):,} to test."
    )


def _prepare(
    split: "Split", configs: Any, engine: str, device: str, quiet: bool, dry_run: bool
) -> "Training":
    """Say what the run will take before it begins; a dry run ends there."""
    from ..neural.estimate import estimate
    from ..pipeline.learn import prepare

    training = prepare(split, *configs, engine=engine, device=device)
    expected = estimate(training)
    if dry_run:
        print_json(vars(expected)) if quiet else console.print(str(expected))
        raise typer.Exit
    if not quiet:
        say(str(expected))
    return training


def _learn(training: "Training", out: Path, resume: bool, quiet: bool) -> "Program":
    """Train with progress and a checkpoint after every epoch; Ctrl-C ends training with the best so far."""
    from ..io.models import folders
    from ..io.models import neural as models
    from ..pipeline.learn import finish

    folders.make_folder(out)
    if resume:
        models.resume(out, training)
    try:
        for _ in watch(training, quiet):
            models.write_checkpoint(out, training)
    except KeyboardInterrupt:
        if not training.history:
            say("Stopped in the first epoch; nothing is kept.")
            raise
        say(f"Stopped after epoch {len(training.history)}; the best so far is kept. Go on with --resume.")
    return finish(training)


def _weigh(program: "Program", split: "Split", settings: Mapping[str, Any], device: str, quiet: bool) -> None:
    """Weigh what was learned; Ctrl-C leaves the model as it is."""
    from ..pipeline.learn import candidates_of, weighting_config

    config = weighting_config(program, **settings)
    given = candidates_of(program.model, config)
    try:
        program.weighted = weigh_watched(split, config, given, device, quiet)
    except KeyboardInterrupt:
        say("Stopped while weighting; the model is kept without weights.")


def watch(training: "Training", quiet: bool) -> Iterator[object]:
    """Yield the epochs of a run under a progress bar, which shows only on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(None), TimeRemainingColumn(), TextColumn("left"))
    with Progress(
        *columns, console=log, disable=quiet or not log.is_terminal, transient=True, expand=True
    ) as progress:
        total = training.config.num_epochs * training.examples.num_batches
        done = len(training.history) * training.examples.num_batches
        task = progress.add_task(_progress(training), total=total, completed=done)
        training.on_step = lambda: progress.advance(task)
        for epoch in training.epochs():
            progress.update(task, description=_progress(training))
            yield epoch


def _progress(training: "Training") -> str:
    """Return where a run stands, with the last epoch's measures."""
    number = min(len(training.history) + 1, training.config.num_epochs)
    epoch = f"Epoch {number} of {training.config.num_epochs}"
    if not training.history:
        return epoch
    last = training.history[-1]
    mrr = "" if last.valid_mrr is None else f", valid MRR {last.valid_mrr:.3f}"
    return f"{epoch}: loss {last.loss:.3f}{mrr}"


def _report(program: "Program", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    best = max(epoch.number for epoch in program.history if epoch.is_best)
    if as_json:
        print_json({"model": str(out), "epochs": len(program.history), "best_epoch": best, **metrics})
        return
    if metrics:
        console.print(measures_table(metrics))
        console.print()
    seconds = sum(epoch.seconds for epoch in program.history)
    console.print(f"Best of {len(program.history)} epochs, in {seconds:.1f} s: number {best}.")
    console.print(f"Model in {escape(str(out))}. Next: neurallp rules {escape(str(out))}", soft_wrap=True)

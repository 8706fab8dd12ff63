"""`learn`: training with progress, checkpoints and a summary."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import Data, Engine, EngineName, Json, Preset, load_split
from .printing import console, log, measures_table, print_json, say

if TYPE_CHECKING:
    from ..knowledge import Split
    from ..program import Program
    from ..training import Training


def learn(
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("model"),
    preset: Annotated[Preset, typer.Option(help="`paper` learns as published.")] = Preset.default,
    steps: Annotated[int | None, typer.Option(help="Longest rule body (T).")] = None,
    ranks: Annotated[int | None, typer.Option(help="Parallel controllers whose scores add.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Passes over the training questions, at most.")] = None,
    batch_size: Annotated[int | None, typer.Option(help="Questions at a time.")] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Adam's step size.")] = None,
    patience: Annotated[int | None, typer.Option(help="Epochs without progress before stopping.")] = None,
    objective: Annotated[str | None, typer.Option(help="log-score (the paper's) or share.")] = None,
    hiding: Annotated[
        str | None, typer.Option(help="What training hides: the asked fact, the batch, or all of train.")
    ] = None,
    facts: Annotated[
        str | None, typer.Option(help="How facts are set apart where needed: relation or unlinked.")
    ] = None,
    operators_per_query: Annotated[
        int | None, typer.Option(help="Use only the operators that share most entities with the query.")
    ] = None,
    normalize: Annotated[
        bool | None, typer.Option("--normalize/--no-normalize", help="Divide each memory by its sum.")
    ] = None,
    exclude_source: Annotated[
        bool | None,
        typer.Option(
            "--exclude-source/--allow-source", help="Never answer with the source itself where no fact does."
        ),
    ] = None,
    memory_keys: Annotated[
        str | None, typer.Option(help="Eq. 11 over previous states (the paper) or up to the present one.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Fixes weights, order and split.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda, or auto.")] = "auto",
    engine: Engine = EngineName.auto,
    resume: Annotated[bool, typer.Option("--resume", help="Go on from the last epoch in --out.")] = False,
    as_json: Json = False,
) -> None:
    """Learn rules from DATA and keep them in a model folder."""
    from ..program import configure

    settings = {
        "num_steps": steps,
        "num_ranks": ranks,
        "num_epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "objective": objective,
        "hiding": hiding,
        "facts_apart": facts,
        "operators_per_query": operators_per_query,
        "normalize": normalize,
        "exclude_source": exclude_source,
        "memory_keys": memory_keys,
        "seed": seed,
    }
    configs = configure(preset.value, **settings)
    split = load_split(data, configs[1].seed)
    if not as_json:
        say(split)
    program = _learn(split, configs, engine.value, _device(device), out, resume, as_json)
    metrics = _judge(program, split, engine.value)
    program.save(out, metrics)
    _report(program, split, out, metrics, as_json)


def _learn(
    split: "Split", configs: Any, engine: str, device: str, out: Path, resume: bool, quiet: bool
) -> "Program":
    """Train with progress and a checkpoint after every epoch; Ctrl-C ends training with the best so far."""
    from ..formats import models
    from ..program import finish, prepare

    training = prepare(split, *configs, engine=engine, device=device)
    if resume:
        models.resume(out, training)
    models.write_config(out, training.model, training.config)
    try:
        for _ in watch(training, quiet):
            models.write_checkpoint(out, training)
    except KeyboardInterrupt:
        if not training.history:
            raise
        say(f"Stopped after epoch {len(training.history)}; the best so far is kept. Go on with --resume.")
    return finish(training)


def watch(training: "Training", quiet: bool) -> Iterator[object]:
    """Yield the epochs of a run under a progress bar, which shows only on a terminal."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=log, disable=quiet or not log.is_terminal, transient=True) as progress:
        total = training.config.num_epochs * training.lesson.num_batches
        done = len(training.history) * training.lesson.num_batches
        task = progress.add_task("Learning", total=total, completed=done, note="")
        training.on_step = lambda: progress.advance(task)
        for epoch in training.epochs():
            progress.update(task, note=f"loss {epoch.loss:.3f}  valid MRR {epoch.valid_mrr:.3f}")
            yield epoch


def _judge(program: "Program", split: "Split", engine: str) -> dict[str, Any]:
    parts = [part for part in ("valid", "test") if len(getattr(split, part))]
    return {part: program.evaluate(split, part, engine=engine).as_dict() for part in parts}  # type: ignore[arg-type]


def _report(program: "Program", split: "Split", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    best = max(program.history, key=lambda epoch: epoch.valid_mrr)
    if as_json:
        print_json({"model": str(out), "epochs": len(program.history), "best_epoch": best.number, **metrics})
        return
    seconds = sum(epoch.seconds for epoch in program.history)
    console.print(measures_table(metrics))
    console.print(
        f"{len(program.history)} epochs in {seconds:.1f} s, the best was number {best.number}. "
        f"Model in {out}; next: neurallp rules {out}",
        highlight=False,
    )


def _device(name: str) -> str:
    if name != "auto":
        return name
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"

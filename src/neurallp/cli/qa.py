"""`qa learn`, `qa evaluate` and `qa ask`: questions in plain words."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..config import Preset
from .options import Device, Engine, Json, Resume, choose_device, load_known
from .output import console, log, print_json, question_measures_table, say, show_error

if TYPE_CHECKING:
    from ..config import QuestionConfig, QuestionTrainingConfig
    from ..graph.knowledge_base import KnowledgeBase
    from ..pipeline.questions import QuestionProgram
    from ..qa.answering import WordAnswers
    from ..qa.training import QuestionEpoch, QuestionTraining

qa = typer.Typer(
    help="Questions in plain words: learn, evaluate, ask.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Facts = Annotated[Path, typer.Argument(metavar="KB", help="A file of triples, or a folder of such files.")]
QuestionFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="QUESTIONS", help="Lines of `question<TAB>answer|answer`, [entity] marked or not."
    ),
]
Model = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that `neurallp qa learn` wrote.")]


@qa.command()
def learn(
    kb: Facts,
    questions: QuestionFiles,
    out: Annotated[Path, typer.Option(help="Where the model goes.")] = Path("qa-model"),
    preset: Annotated[Preset, typer.Option(help="`paper`: its encoder, chains up to two.")] = "default",
    encoder: Annotated[
        str | None,
        typer.Option(
            metavar="<order|mean>", show_default="order", help="All words in order, or the paper's."
        ),
    ] = None,
    steps: Annotated[int | None, typer.Option(show_default="3", help="Longest chain (T).")] = None,
    epochs: Annotated[int | None, typer.Option(show_default="30", help="Passes, at most.")] = None,
    batch_size: Annotated[int | None, typer.Option(show_default="64", help="Questions at a time.")] = None,
    learning_rate: Annotated[
        float | None, typer.Option(show_default="0.002", help="Adam's step size.")
    ] = None,
    patience: Annotated[
        int | None, typer.Option(show_default="3", help="Epochs without progress before stopping.")
    ] = None,
    may_return: Annotated[
        bool | None,
        typer.Option(
            "--may-return/--never-return",
            show_default="never-return",
            help="Whether a walk may come back to the entity asked about.",
        ),
    ] = None,
    seed: Annotated[int | None, typer.Option(show_default="0", help="Fixes weights and order.")] = None,
    device: Device = "auto",
    engine: Engine = "auto",
    resume: Resume = False,
    as_json: Json = False,
) -> None:
    """Learn to answer QUESTIONS from the facts of KB; no relation need be named."""
    from ..io.questions import load_questions
    from ..pipeline.questions import finish_questions, prepare_questions

    given = {
        "encoder": encoder,
        "num_steps": steps,
        "num_epochs": epochs,
        "batch_size": batch_size,
        "learning_rate": learning_rate,
        "patience": patience,
        "may_return": may_return,
        "seed": seed,
    }
    configs = _configure(preset, given, out if resume else None)
    facts = load_known(kb)
    asked = [question for path in questions for question in load_questions(path)]
    training = prepare_questions(facts, asked, *configs, engine=engine, device=choose_device(device, engine))
    _learn(training, out, resume, as_json)
    program = finish_questions(training, facts)
    best = training.best_epoch
    metrics = {"valid": {"accuracy": best.valid_accuracy, "hits@1": best.valid_hits_at_1}}
    program.save(out, metrics)
    _report(program, best, out, metrics, as_json)


def _configure(
    preset: str, given: dict[str, Any], resumed: Path | None
) -> "tuple[QuestionConfig, QuestionTrainingConfig]":
    """Return both configurations; a resumed run keeps its settings but for those given."""
    from ..config import configure_questions
    from ..io.models.checkpoints import read_settings

    kept = {} if resumed is None else read_settings(resumed)
    chosen = {name: value for name, value in given.items() if value is not None}
    return configure_questions(preset, **kept | chosen)


def _learn(training: "QuestionTraining", out: Path, resume: bool, quiet: bool) -> None:
    """Train with progress and a checkpoint after every epoch; Ctrl-C ends training with the best so far."""
    from ..io.models import folders
    from ..io.models import questions as question_models

    folders.make_folder(out)
    if resume:
        question_models.resume_questions(out, training)
    try:
        for _ in watch(training, quiet):
            question_models.write_question_checkpoint(out, training)
    except KeyboardInterrupt:
        if not training.history:
            say("Stopped in the first epoch; nothing is kept.")
            raise
        say(f"Stopped after epoch {len(training.history)}; the best so far is kept. Go on with --resume.")


def watch(training: "QuestionTraining", quiet: bool) -> "Iterator[QuestionEpoch]":
    """Yield the epochs of a run under a progress bar, which shows only on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(None), TimeRemainingColumn(), TextColumn("left"))
    shown = log.is_terminal and not quiet
    with Progress(*columns, console=log, disable=not shown, transient=True, expand=True) as progress:
        total = training.config.num_epochs * training.num_batches
        done = len(training.history) * training.num_batches
        task = progress.add_task(f"Epoch {len(training.history) + 1}", total=total, completed=done)
        training.on_step = lambda: progress.advance(task)
        for epoch in training.epochs():
            last = f"loss {epoch.loss:.3f}, valid Hits@1 {epoch.valid_hits_at_1:.3f}"
            progress.update(task, description=f"Epoch {epoch.number + 1}: {last}")
            yield epoch


def _report(
    program: "QuestionProgram", best: "QuestionEpoch", out: Path, metrics: dict[str, Any], as_json: bool
) -> None:
    if as_json:
        summary = {"model": str(out), "epochs": len(program.history), "best_epoch": best.number}
        print_json(summary | {"threshold": program.threshold} | metrics)
        return
    seconds = sum(epoch.seconds for epoch in program.history)
    console.print(
        f"Best of {len(program.history)} epochs, in {seconds:.1f} s: number {best.number}, "
        f"Hits@1 {best.valid_hits_at_1:.3f} on questions kept back."
    )
    console.print(
        f'Model in {escape(str(out))}. Next: neurallp qa ask {escape(str(out))} KB "…"', soft_wrap=True
    )


@qa.command()
def evaluate(model: Model, kb: Facts, questions: QuestionFiles, as_json: Json = False) -> None:
    """Judge the answers to QUESTIONS: with the marks given, and with our own spotting of the entity.

    Accuracy: all right answers are found and no wrong one stands above them. Ties count in the mean over all
    orders; with the right answers first (optimistic) and last (pessimistic) stands beside it.
    """
    from ..io.questions import load_questions
    from ..pipeline.questions import load_question_model

    program = load_question_model(model)
    asked = [question for path in questions for question in load_questions(path)]
    found = program.evaluate(asked, load_known(kb))
    if as_json:
        print_json(found.as_dict())
        return
    console.print(question_measures_table({"marks given": found.marked, "own spotting": found.own_spotting}))
    if found.kinds:
        console.print("\n[bold]Each type[/], marks given")
        console.print(question_measures_table(found.kinds))


@qa.command()
def ask(
    model: Model,
    kb: Facts,
    question: Annotated[str | None, typer.Argument(help="Left out: ask one after another.")] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers, at most.")] = 10,
    as_json: Json = False,
) -> None:
    """Answer a QUESTION: answers, the rule that was followed, and the facts behind each answer."""
    from ..pipeline.questions import load_question_model

    program, facts = load_question_model(model), load_known(kb)
    if question is not None:
        _show(program.ask_words(question, k, facts), as_json)
    else:
        _converse(program, facts, k, as_json)


def _converse(program: "QuestionProgram", facts: "KnowledgeBase", k: int, as_json: bool) -> None:
    """Answer a question a line until the input ends; one that cannot be answered says why."""
    from ..errors import QuestionError

    say("Ask away; an empty line ends.")
    for line in _lines():
        try:
            _show(program.ask_words(line, k, facts), as_json)
        except QuestionError as error:
            show_error(error)


def _lines() -> Iterator[str]:
    prompt = "? " if sys.stdin.isatty() else ""
    while True:
        try:
            line = input(prompt).strip()
        except EOFError:
            return
        if not line:
            return
        yield line


def _show(found: "WordAnswers", as_json: bool) -> None:
    if as_json:
        print_json(found.as_dict())
        return
    show_answers(found)


def show_answers(found: "WordAnswers") -> None:
    """Print answers, grouped by the rule that found them."""
    from ..qa.answering import rule_in_words

    if found.note:
        console.print(f"[yellow]Note:[/] {escape(found.note)}", soft_wrap=True)
    for rule in dict.fromkeys(answer.rule for answer in found.answers):
        for answer in (answer for answer in found.answers if answer.rule == rule):
            more = f" (and {answer.num_paths - 1:,} more)" if answer.num_paths > 1 else ""
            console.print(
                f"[bold]{escape(answer.entity)}[/]  because {escape(answer.because)}{more}", soft_wrap=True
            )
        console.print(f"  rule: {escape(str(rule))}  (confidence {rule.confidence:.2f})", soft_wrap=True)
        console.print(f"  {escape(rule_in_words(rule, found.source))}", soft_wrap=True)

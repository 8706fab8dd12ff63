"""`qa learn`, `qa evaluate` and `qa ask`: questions in plain words."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import Preset, QuestionConfig, QuestionTrainingConfig
from .options import (
    Device,
    Engine,
    Force,
    Json,
    Resume,
    existing_data,
    existing_question_model,
    load_known,
    require_new,
    with_settings,
)
from .output import console, markup, print_json, question_measures_table, say, show_error
from .stopping import exit_code

if TYPE_CHECKING:
    from ..neural.loop import Epoch
    from ..pipeline.questions import QuestionProgram
    from ..qa.answers import WordAnswer, WordAnswers
    from ..qa.examples import WordQuestion

qa = typer.Typer(
    help="Questions in plain words: learn, evaluate, ask.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def existing_files(paths: list[Path]) -> list[Path]:
    """Return paths to data; raise for the first that does not exist, before anything heavy is imported."""
    for path in paths:
        existing_data(path)
    return paths


Facts = Annotated[
    Path,
    typer.Argument(
        metavar="DATA", callback=existing_data, help="A file of triples, or a folder of such files."
    ),
]
QuestionFiles = Annotated[
    list[Path],
    typer.Argument(
        metavar="QUESTIONS",
        callback=existing_files,
        help="Lines of `question<TAB>answer|answer`, [entity] marked or not.",
    ),
]
Model = Annotated[
    Path,
    typer.Argument(
        metavar="MODEL", callback=existing_question_model, help="A folder that `neurallp qa learn` wrote."
    ),
]


@qa.command()
@with_settings(QuestionConfig, QuestionTrainingConfig)
def learn(
    data: Facts,
    questions: QuestionFiles,
    out: Annotated[Path, typer.Option(help="The folder to write the model to.")] = Path("qa-model"),
    preset: Annotated[
        Preset, typer.Option(help="`paper`: its encoder, rules of at most two steps.")
    ] = "default",
    *,
    settings: dict[str, Any],
    device: Device = "auto",
    engine: Engine = "auto",
    resume: Resume = False,
    force: Force = False,
    as_json: Json = False,
) -> None:
    """Learn to answer QUESTIONS from the facts of DATA; questions need not name relations."""
    from ..config import configure_questions
    from ..io.models.store import locked, require_writable

    settings = _with_resumed(settings, out if resume else None)
    require_new(out, force=force, resume=resume)
    configure_questions(preset, **settings)  # refuses wrong settings before the data is loaded
    require_writable(out)
    facts, asked = load_known(data), _load_questions(questions)

    from ..pipeline.questions import learn_questions
    from .callbacks import QuestionTrainingProgress

    where = {"engine": engine, "device": device}
    with locked(out):
        with QuestionTrainingProgress(out, resume=resume, quiet=as_json) as callbacks:
            program = learn_questions(facts, asked, preset=preset, callbacks=callbacks, **where, **settings)
        best = next(epoch for epoch in reversed(program.history) if epoch.is_best)
        metrics = {"valid": {name: best.metrics[name] for name in ("accuracy", "hits@1")}}
        program.save(out, metrics)
    _report(program, best, out, metrics, as_json)
    if callbacks.stopped_by is not None:
        raise typer.Exit(exit_code(callbacks.stopped_by))


def _with_resumed(given: dict[str, Any], resumed: Path | None) -> dict[str, Any]:
    """Return the settings of the run that is resumed, if any, replaced by those given."""
    from ..io.models.checkpoints import read_settings

    return given if resumed is None else read_settings(resumed) | given


def _load_questions(paths: list[Path]) -> "list[WordQuestion]":
    from ..io.questions import load_questions

    return [question for path in paths for question in load_questions(path)]


def _report(
    program: "QuestionProgram", best: "Epoch", out: Path, metrics: dict[str, Any], as_json: bool
) -> None:
    if as_json:
        summary = {"model": str(out), "epochs": len(program.history), "best_epoch": best.number}
        print_json(summary | {"threshold": program.threshold} | metrics)
        return
    seconds = sum(epoch.seconds for epoch in program.history)
    console.print(
        f"Best of {len(program.history)} epochs, in {seconds:.1f} s: number {best.number}, "
        f"Hits@1 {best.metrics['hits@1']:.3f} on held-out questions."
    )
    console.print(
        f'Model in {markup(str(out))}. Next: neurallp qa ask {markup(str(out))} DATA "…"', soft_wrap=True
    )


@qa.command()
def evaluate(model: Model, data: Facts, questions: QuestionFiles, as_json: Json = False) -> None:
    """Evaluate the answers to QUESTIONS: with the entity marked, and with it found by entity linking.

    Accuracy: all right answers are found and no wrong one scores higher. Ties count as the mean over all
    orders; Hits@1 is also given with the right answers first (optimistic) and last (pessimistic).
    """
    from ..pipeline.questions import load_question_model

    program = load_question_model(model)
    found = program.evaluate(_load_questions(questions), load_known(data))
    if as_json:
        print_json(found.as_dict())
        return
    console.print(question_measures_table({"entity marked": found.marked, "entity linked": found.linked}))
    if found.kinds:
        console.print("\n[bold]Each type[/], entity marked")
        console.print(question_measures_table(found.kinds))


@qa.command()
def ask(
    model: Model,
    data: Facts,
    question: Annotated[
        str | None, typer.Argument(help="Without it, questions are read line by line.")
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers, at most.")] = 10,
    min_probability: Annotated[
        float, typer.Option(min=0, max=1, help="Do not answer if the best answer is less likely to be right.")
    ] = 0.5,
    as_json: Json = False,
) -> None:
    """Answer a QUESTION; each answer comes with its probability, its rule and the facts along a path."""
    from ..pipeline.questions import load_question_model

    program, facts = load_question_model(model), load_known(data)

    def answer(text: str) -> None:
        _show(program.ask_words(text, k, facts, min_probability), as_json)

    answer(question) if question is not None else _converse(answer)


def _converse(answer: Callable[[str], None]) -> None:
    """Answer one question a line until the input ends; print an error for each that has no answer."""
    from ..errors import QuestionError

    say("Ask a question; an empty line ends.")
    for line in _lines():
        try:
            answer(line)
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
    """Print answers, grouped by rule."""
    from ..qa.answers import rule_in_words

    if found.note:
        console.print(f"[yellow]Note:[/] {markup(found.note)}", soft_wrap=True)
    if found.claimed is not None:
        _show_claim(found)
    for rule in dict.fromkeys(answer.rule for answer in found.answers):
        for answer in (answer for answer in found.answers if answer.rule == rule):
            _show_answer(answer)
        console.print(f"  rule: {markup(str(rule))}  (confidence {rule.confidence:.2f})", soft_wrap=True)
        console.print(f"  {markup(rule_in_words(rule, found.source))}", soft_wrap=True)


def _show_claim(found: "WordAnswers") -> None:
    """Print the answer to a yes/no question."""
    if found.claim is not None:
        console.print(f"[bold]Yes[/], {_probability(found.claim)}.", soft_wrap=True)
        return
    told = f"{found.claimed} is not among the answers for {found.source}, which are:"
    console.print(f"[bold]No[/], according to the facts: {markup(told)}", soft_wrap=True)


def _show_answer(answer: "WordAnswer") -> None:
    more = f" (and {answer.num_paths - 1:,} more)" if answer.num_paths > 1 else ""
    because = f"because {markup(answer.because)}{more}"
    console.print(f"[bold]{markup(answer.entity)}[/]  {_probability(answer)}  {because}", soft_wrap=True)


def _probability(answer: "WordAnswer") -> str:
    return "not calibrated" if answer.probability is None else f"probability {answer.probability:.2f}"

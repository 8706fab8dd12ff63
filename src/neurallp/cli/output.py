"""How things look on a terminal: tables, notes, errors, JSON."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..qa.evaluation import QuestionMeasures
    from ..reasoning.answers import Answer
    from ..reasoning.calibration import Reliability
    from ..rules.rule import Rule

# Names come from users: `:dog:` stays as it is, and nothing in a name is coloured.
console = Console(emoji=False, highlight=False)
log = Console(stderr=True, emoji=False, highlight=False)


def say(text: str) -> None:
    """Print a line for whoever watches, beside the output."""
    if log.is_terminal:
        log.print(escape(text), soft_wrap=True)


@contextmanager
def watched(what: str, total: int, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Give what is told how much more is done, and shows it as a progress bar on a terminal."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(None), TimeRemainingColumn(), TextColumn("left"))
    shown = log.is_terminal and not quiet
    with Progress(*columns, console=log, disable=not shown, transient=True, expand=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda num: progress.advance(task, num)


def show_error(error: Exception) -> None:
    """Print what went wrong and what to do."""
    log.print(f"[bold red]Error:[/] {escape(str(error))}", soft_wrap=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a note, without the line of code it came from."""
    log.print(f"[yellow]Note:[/] {escape(str(message))}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON value and nothing else."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=plain) + "\n")


def measures_table(parts: dict[str, Any]) -> Table:
    """Return MRR, hits and mean rank of each part, under all three readings of a tie."""
    table = plain_table(
        "part", "ties", numbers=("MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "questions")
    )
    for part, measures in parts.items():
        for kind in ("realistic", "optimistic", "pessimistic"):
            headline = kind == "realistic"
            values = measures if headline else measures[kind]
            numbers = [f"{values[name]:.3f}" for name in ("mrr", "hits@1", "hits@3", "hits@10")]
            count = f"{measures['queries']:,}" if headline else ""
            table.add_row(part if headline else "", kind, *numbers, f"{values['mean_rank']:,.1f}", count)
    return table


def answers_table(answers: "Sequence[Answer]") -> Table:
    """Return answers with score and rank, and probability where there is one; known facts are marked."""
    calibrated = any(answer.probability is not None for answer in answers)
    table = plain_table("answer", "", numbers=("rank", "score", *(("probability",) if calibrated else ())))
    for answer in answers:
        mark = "known" if answer.is_known else ""
        chance = "" if answer.probability is None else f"{answer.probability:.3f}"
        numbers = (f"{answer.rank:g}", f"{answer.score:.4g}", *((chance,) if calibrated else ()))
        table.add_row(escape(answer.entity), mark, *numbers)
    return table


def reliability_table(parts: "Mapping[str, Mapping[str, Reliability]]") -> Table:
    """Return the calibration errors of normalised scores and of probabilities on each part."""
    table = plain_table("part", "taken as probability", numbers=("ECE", "Brier", "answers", "right"))
    for part, found in parts.items():
        for number, (name, judged) in enumerate(found.items()):
            counts = ("", "") if number else (f"{judged.counts.sum():,}", f"{judged.num_right:,}")
            errors = (f"{judged.ece:.4f}", f"{judged.brier:.4f}")
            table.add_row("" if number else part, name, *errors, *counts)
    return table


def relations_table(relations: "dict[str, Evaluation]") -> Table:
    """Return the measures of each relation, the most asked first."""
    table = plain_table("relation", numbers=("MRR", "Hits@10", "questions"))
    for name, found in sorted(relations.items(), key=lambda item: -item[1].num_questions):
        hits = f"{found.realistic.hits_at_10:.3f}"
        table.add_row(escape(name), f"{found.mrr:.3f}", hits, f"{found.num_questions:,}")
    return table


def question_measures_table(parts: "dict[str, QuestionMeasures]") -> Table:
    """Return accuracy, Hits@1 and F1 of each part, with the bounds that ties leave."""
    table = plain_table(
        "", numbers=("accuracy", "Hits@1", "F1", "questions", "Hits@1, ties last", "ties first")
    )
    for name, found in parts.items():
        means = (f"{value:.3f}" for value in (found.accuracy, found.hits_at_1, found.f1))
        bounds = (f"{found.pessimistic[1]:.3f}", f"{found.optimistic[1]:.3f}")
        table.add_row(escape(name), *means, f"{found.num_questions:,}", *bounds)
    return table


def rules_table(rules: "Sequence[Rule]") -> Table:
    """Return rules with their confidences, and their counts where there are any."""
    counted = any(rule.support is not None for rule in rules)
    weighted = any(rule.weight is not None for rule in rules)
    names = ("weight" if weighted else "confidence", "share", *(("support", "measured") if counted else ()))
    table = plain_table(numbers=names)
    of_kinds = any(rule.kind != "chain" for rule in rules)
    for name in ("kind", "rule") if of_kinds else ("rule",):
        table.add_column(name)
    for rule in rules:
        worth = rule.confidence if rule.weight is None else rule.weight
        numbers = [f"{worth:.3f}", f"{rule.normalized_confidence:.2f}"]
        counts = [_counted(rule), _measured(rule)] if counted else []
        table.add_row(*numbers, *counts, *([rule.kind] if of_kinds else []), escape(str(rule)))
    return table


def marked_rules_table(rules: "Sequence[Rule]", marks: Sequence[str]) -> Table:
    """Return rules with their confidences and a mark each."""
    table = plain_table(numbers=("conf.", "measured"))
    table.add_column("")
    table.add_column("rule")
    for rule, mark in zip(rules, marks, strict=True):
        table.add_row(f"{rule.confidence:.3f}", _measured(rule), mark, escape(str(rule)))
    return table


def _counted(rule: "Rule") -> str:
    return "" if rule.support is None else f"{rule.support:,}"


def _measured(rule: "Rule") -> str:
    return "" if rule.measured_confidence is None else f"{rule.measured_confidence:.2f}"


def plain_table(*words: str, numbers: Sequence[str] = ()) -> Table:
    """Return an empty table without a frame, narrow enough for 80 columns."""
    table = Table(*words, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in numbers:
        table.add_column(name, justify="right")
    return table

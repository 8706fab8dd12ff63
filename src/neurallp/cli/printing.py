"""How things look on a terminal: tables, notes, errors, JSON."""

import json
import sys
from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from ..evaluation import Evaluation
    from ..rules import Rule

console = Console()
log = Console(stderr=True)


def say(text: object) -> None:
    """Print a line for people, beside the output."""
    log.print(escape(str(text)), highlight=False)


def show_error(error: Exception) -> None:
    """Print what went wrong and what to do."""
    log.print(f"[bold red]Error:[/] {escape(str(error))}", highlight=False)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a note, without the line of code it came from."""
    log.print(f"[yellow]Note:[/] {escape(str(message))}", highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON value and nothing else."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def measures_table(parts: dict[str, Any]) -> Table:
    """Return MRR, hits and mean rank of each part, under all three readings of a tie."""
    table = Table("part", "ranks", "MRR", "Hits@1", "Hits@3", "Hits@10", "mean rank", "questions")
    for part, measures in parts.items():
        for kind in ("realistic", "optimistic", "pessimistic"):
            headline = kind == "realistic"
            values = measures if headline else measures[kind]
            numbers = [f"{values[name]:.3f}" for name in ("mrr", "hits@1", "hits@3", "hits@10")]
            count = f"{measures['queries']:,}" if headline else ""
            table.add_row(part if headline else "", kind, *numbers, f"{values['mean_rank']:.1f}", count)
    return table


def relations_table(relations: "dict[str, Evaluation]") -> Table:
    """Return the measures of each relation, the most asked first."""
    table = Table("relation", "MRR", "Hits@10", "questions")
    for name, found in sorted(relations.items(), key=lambda item: -item[1].num_questions):
        hits = f"{found.realistic.hits_at_10:.3f}"
        table.add_row(escape(name), f"{found.mrr:.3f}", hits, f"{found.num_questions:,}")
    return table


def rules_table(rules: "Iterable[Rule]", marks: "Iterable[str] | None" = None) -> Table:
    """Return rules with their confidences and counts; `marks` adds a last column."""
    table = Table("confidence", "normalised", "support", "measured", "rule", "")
    for rule, mark in zip(rules, marks or repeat(""), strict=False):
        table.add_row(*_rule_cells(rule), mark)
    return table


def _rule_cells(rule: "Rule") -> list[str]:
    measured = "" if rule.measured_confidence is None else f"{rule.measured_confidence:.2f}"
    support = "" if rule.support is None else f"{rule.support:,}"
    numbers = [f"{rule.confidence:.3f}", f"{rule.normalized_confidence:.2f}", support, measured]
    return [*numbers, escape(str(rule))]

"""Output: tables, progress bars, notes, errors and JSON."""

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.markup import escape
from rich.segment import Segment

from ..graph.iris import unambiguous
from ..graph.spelling import CONTROLS, neutral, one_line
from ..graph.vocabulary import Vocabulary
from .folding import lines_of_atoms, lines_of_proof
from .log_lines import LogLines

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderableType
    from rich.progress import Progress
    from rich.table import Table

    from ..evaluation import Evaluation
    from ..qa.evaluation import QuestionMeasures
    from ..reasoning.answers import Answer, Proof
    from ..reasoning.reliability import Reliability
    from ..rules.listing import Listing, RuleGroup
    from ..rules.rule import Rule

#: What a progress bar shows beside the bar.
Unit = Literal["time", "items", "bytes"]


#: The vocabularies whose names are printed.
printed_names: ContextVar[tuple[Vocabulary, ...]] = ContextVar("printed_names", default=())

#: An IRI in a text, such as a rule.
IRI = re.compile(r"[a-z]+://[^\s,()<>\"]+")


def readable(text: str) -> str:
    """Return a text in which IRIs are cut to their local names, where these can be asked for."""
    if "://" not in text:
        return text
    short = {iri: name for names in printed_names.get() for iri, name in _local_names(names).items()}
    return IRI.sub(lambda found: short.get(found[0], found[0]), text)


@cache
def _local_names(names: Vocabulary) -> dict[str, str]:
    return unambiguous(names)


def markup(text: str) -> str:
    """Return markup that prints a text; what Rich would leave out, such as a bell, is spelled out."""
    return escape(neutral(text))


def shown_name(text: str) -> str:
    """Return a name, or a text of one line, as markup of one line."""
    return markup(one_line(readable(text)))


class SafeConsole(Console):
    """A console that prints control characters as escapes: everything that is printed passes here."""

    def render(
        self, renderable: "RenderableType", options: "ConsoleOptions | None" = None
    ) -> "Iterable[Segment]":
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(neutral(segment.text), segment.style)


# Names come from users: `:dog:` stays as it is, and nothing in a name is coloured.
console = SafeConsole(emoji=False, highlight=False)
log = SafeConsole(stderr=True, emoji=False, highlight=False)


#: How much is printed besides results and errors: -1 nothing, 0 progress and notes, 1 every step.
verbosity: ContextVar[int] = ContextVar("verbosity", default=0)


def counted(num: int, one: str, many: str = "") -> str:
    """Return a number with the name of what is counted: "1 fact", "2 facts", "3 entities"."""
    return f"{num:,} {one if num == 1 else many or one + 's'}"


def say(text: str) -> None:
    """Print what is being done to stderr, with the time if stderr is not a terminal."""
    if verbosity.get() < 0:
        return
    stamped = verbosity.get() > 0 or not log.is_terminal
    log.print(markup(f"{datetime.now():%H:%M:%S} {text}" if stamped else text), soft_wrap=True)


def note(text: str) -> None:
    """Print a line to stderr, whether that is a terminal or not."""
    log.print(markup(text), soft_wrap=True)


class Bar:
    """A progress bar; `restart` begins another task under the same bar."""

    def __init__(self, shown: "Progress", description: str, total: int | None) -> None:
        self._shown = shown
        self._task = shown.add_task(description, total=total)

    def advance(self, num: int = 1) -> None:
        """Count `num` more steps as done."""
        self._shown.advance(self._task, num)

    def describe(self, description: str) -> None:
        """Change the text before the bar."""
        self._shown.update(self._task, description=description, refresh=True)

    def set(self, done: int, total: int | None) -> None:
        """Set how much is done, and of how much."""
        self._shown.update(self._task, completed=done, total=total)

    def restart(self, description: str, total: int, done: int = 0) -> None:
        """Begin another task."""
        self._shown.reset(self._task, description=description, total=total, completed=done)


@contextmanager
def progress(
    description: str, total: int | None = None, *, quiet: bool = False, unit: Unit = "time"
) -> Iterator[Bar | LogLines]:
    """Yield a progress bar on stderr, hidden with `quiet`; lines of a log where stderr is no terminal.

    Beside the bar it shows the time left, the number of items done, or the bytes of a download.
    """
    from rich import progress as bars

    hidden = quiet or verbosity.get() < 0
    if not hidden and (verbosity.get() > 0 or not log.is_terminal):
        yield LogLines(say, description, total, every_change=verbosity.get() > 0)
        return
    text, bar = bars.TextColumn("{task.description}"), bars.BarColumn(None)
    beside: dict[Unit, tuple[bars.ProgressColumn, ...]] = {
        "time": (bars.TimeRemainingColumn(), bars.TextColumn("left")),
        "items": (bars.MofNCompleteColumn(), bars.TimeElapsedColumn()),
        "bytes": (bars.DownloadColumn(), bars.TransferSpeedColumn()),
    }
    with bars.Progress(text, bar, *beside[unit], console=log, disable=hidden, transient=True) as shown:
        yield Bar(shown, description, total)


def print_line(text: str) -> None:
    """Print a line as it is, but for IRIs, which are cut to their local names."""
    console.print(markup(readable(text)), soft_wrap=True)


def show_traceback(text: str) -> None:
    """Print a traceback, in which names may occur too."""
    log.print(markup(text), soft_wrap=True)


def show_error(error: Exception | str) -> None:
    """Print what went wrong and what to do."""
    log.print(f"[bold red]Error:[/] {markup(str(error))}", soft_wrap=True)


def show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning as a note, without the line of code it came from; nothing with --quiet."""
    if verbosity.get() >= 0:
        log.print(f"[yellow]Note:[/] {markup(str(message))}", soft_wrap=True)


def print_json(value: Any) -> None:
    """Print one JSON value and nothing else."""
    plain = "utf" not in (sys.stdout.encoding or "").lower()
    text = json.dumps(value, indent=2, ensure_ascii=plain)
    # JSON has its own way to spell out what a terminal would act on.
    sys.stdout.write(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n")


def measures_table(parts: dict[str, Any]) -> "Table":
    """Return MRR, hits and mean rank of each part, with ties counted in three ways."""
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


def answers_table(answers: "Sequence[Answer]", *, scores: bool = False) -> "Table":
    """Return answers with their probability; without one, or on request, with score and rank."""
    calibrated = any(answer.probability is not None for answer in answers)
    scores = scores or not calibrated
    names = (*(("probability",) if calibrated else ()), *(("rank", "score") if scores else ()))
    table = plain_table("answer", *(() if calibrated else ("",)), numbers=names)
    for answer in answers:
        mark = "known" if answer.is_known else show_probability(answer.probability)
        numbers = (f"{answer.rank:g}", f"{answer.score:.4g}") if scores else ()
        table.add_row(shown_name(answer.entity), mark, *numbers)
    return table


def show_probability(probability: float | None) -> str:
    """Return a probability in per cent; none is shown as certain."""
    if probability is None:
        return ""
    if probability < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if probability > 0.999 else f"{100 * probability:.1f} %"


def reliability_table(found: "Mapping[str, Mapping[str, Reliability]]") -> "Table":
    """Return the calibration errors of probabilities for each group of sources and choice of answers."""
    table = plain_table("source has", "answers", numbers=("ECE", "by chance", "Brier", "number", "right"))
    for group, choices in found.items():
        for number, (choice, each) in enumerate(choices.items()):
            counts = f"{each.counts.sum():,}", f"{each.num_right:,}"
            measures = (f"{value:.4f}" for value in (each.ece, each.chance, each.brier))
            table.add_row("" if number else group, choice, *measures, *counts)
    return table


def relations_table(relations: "dict[str, Evaluation]") -> "Table":
    """Return the measures of each relation, those with most questions first."""
    table = plain_table("relation", numbers=("MRR", "Hits@10", "questions"))
    for name, found in sorted(relations.items(), key=lambda item: -item[1].num_questions):
        hits = f"{found.realistic.hits_at_10:.3f}"
        table.add_row(shown_name(name), f"{found.mrr:.3f}", hits, f"{found.num_questions:,}")
    return table


def question_measures_table(parts: "dict[str, QuestionMeasures]") -> "Table":
    """Return accuracy, Hits@1 and F1 of each part, with the bounds that ties leave."""
    table = plain_table(
        "", numbers=("accuracy", "Hits@1", "F1", "questions", "Hits@1, ties last", "ties first")
    )
    for name, found in parts.items():
        means = (f"{value:.3f}" for value in (found.accuracy, found.hits_at_1, found.f1))
        bounds = (f"{found.pessimistic[1]:.3f}", f"{found.optimistic[1]:.3f}")
        table.add_row(shown_name(name), *means, f"{found.num_questions:,}", *bounds)
    return table


def listing_table(listing: "Listing") -> "Table":
    """Return the rules of one query: reasons, then rules against, each with its counts and an example."""
    groups = [*listing.reasons, *listing.against]
    counted = any(group.rule.support is not None for group in groups)
    weighted = any(group.rule.weight is not None for group in groups)
    counts = ("confidence", "PCA", "support") if counted else () if weighted else ("confidence",)
    table = plain_table(numbers=(*(("weight",) if weighted else ()), *counts))
    table.add_column("rule")
    for title, side in (("reasons", listing.reasons), ("against", listing.against)):
        if side and listing.against:
            table.add_row(*[""] * (len(table.columns) - 1), f"[bold]{title}[/]")
        for group in side:
            table.add_row(*_numbers(group.rule, weighted, counted), _described(group))
    return table


def _numbers(rule: "Rule", weighted: bool, counted: bool) -> list[str]:
    weight = [f"{rule.weight or 0:.2f}"] if weighted else []
    if not counted:
        return weight or [f"{rule.confidence:.3f}"]
    pca = "" if rule.pca_confidence is None else f"{rule.pca_confidence:.2f}"
    return [*weight, _measured(rule), pca, _counted(rule)]


def _described(group: "RuleGroup") -> str:
    """Return, as markup, a rule with how many others conclude the same, and below its example."""
    if group.rule.ignores_source:
        way = "rarer" if group.rule.is_against else "more common"
        return f"the {way} an answer is, the better"
    if group.rule.kind == "linked":
        return f"an answer that another fact links to X is {'worse' if group.rule.is_against else 'better'}"
    if group.rule.names_no_relation:
        way = "farther" if group.rule.is_against else "nearer"
        return f"the {way} an answer is, along facts of any relation, the better"
    similar = f"  (+{len(group.similar)} similar)" if group.similar else ""
    similar += f"  ({100 * group.circular_share:.0f} % circular)" if group.circular_share >= 0.005 else ""
    example = "\n" + folded(group.example, BESIDE_COUNTED, "  ") if group.example else ""
    return folded(f"{_body(group.rule)}{similar}", BESIDE_COUNTED) + example


def _body(rule: "Rule") -> str:
    """Return what a rule requires, without the query, which is the heading, and without X != Y."""
    named = "" if rule.source is None else f"X = {rule.source}: "
    named += "" if rule.answer is None else f"Y = {rule.answer}: "
    return named + rule.body_text.removesuffix(", X != Y")


#: Characters beside rules with marks, rules with counts, and facts with a probability: the other columns of
#: their tables, as wide as they are at most, and the gaps. A wider column folds lines earlier than it must.
BESIDE_MARKED, BESIDE_COUNTED, BESIDE_PROBABILITY = 29, 36, 14


def marked_rules_table(rules: "Sequence[Rule]", marks: Sequence[str]) -> "Table":
    """Return rules with their weight or a neural model's alpha, their confidence, and a mark each.

    Rules stand below what they conclude, and without X != Y where all of them have it. A body that is too
    long for its line is folded between its atoms.
    """
    weighted = any(rule.weight is not None for rule in rules)
    table = plain_table(numbers=("weight" if weighted else "alpha", "confidence"))
    table.add_column("")
    table.add_column("rule")
    shown, hidden = "", ", X != Y" if have_distinct_ends(rules) else ""
    for rule, mark in zip(rules, marks, strict=True):
        if (head := shown_name(rule.head_text)) != shown:
            shown = head
            table.add_row("", "", "", f"{head} <=")
        body = folded(rule.body_text.removesuffix(hidden), BESIDE_MARKED, "  ")
        table.add_row(f"{_strength(rule):.3f}", _measured(rule), mark, body)
    return table


def have_distinct_ends(rules: "Sequence[Rule]") -> bool:
    """Return whether all rules require X != Y."""
    return all(rule.distinct_ends for rule in rules)


def folded(text: str, beside: int, indent: str = "") -> str:
    """Return rules or facts as markup, in lines that end after an atom where it can be.

    `beside` are the characters of a line beside the text, whose lines begin with `indent`.
    """
    lines = lines_of_atoms(one_line(readable(text)), console.width - beside - len(indent))
    return "\n".join(indent + markup(line) for line in lines)


def print_proof(proof: "Proof", *, fold: bool | None = None) -> None:
    """Print a proof: lines as they are, folded in a terminal, or as `fold` says."""
    text = readable(str(proof))
    wanted = console.is_terminal if fold is None else fold
    print_line("\n".join(lines_of_proof(text, console.width)) if wanted else text)


def _strength(rule: "Rule") -> float:
    return rule.confidence if rule.weight is None else rule.weight


def _counted(rule: "Rule") -> str:
    return "" if rule.support is None else f"{rule.support:,}"


def _measured(rule: "Rule") -> str:
    return "" if rule.measured_confidence is None else f"{rule.measured_confidence:.2f}"


def plain_table(*words: str, numbers: Sequence[str] = ()) -> "Table":
    """Return an empty table without a frame, narrow enough for 80 columns; `numbers` stand at the right."""
    from rich import box

    from .tables import FoldingTable

    table = FoldingTable(*words, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for name in numbers:
        table.add_column(name, justify="right")
    return table

"""`rules`: the rules of a model, as a person reads them."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..config import RuleOrder
from .completion import complete_relation
from .options import (
    GivenData,
    Json,
    LabelFile,
    Model,
    OptionalData,
    RulesOf,
    load_known,
    load_labels,
    load_split,
)
from .output import console, listing_table, log, print_json, print_line, printed_names

if TYPE_CHECKING:
    from ..pipeline.program import Program


def rules(
    model: Model,
    data: OptionalData = None,
    relation: RulesOf = None,
    limit: Annotated[int, typer.Option(min=1, help="Rules for, and rules against, of each query.")] = 10,
    sort: Annotated[
        RuleOrder,
        typer.Option(help="What comes first. `clarity`: right conclusions for each path of the rule."),
    ] = "clarity",
    few: Annotated[
        int | None,
        typer.Option(min=1, help="Fit weights anew for this many rules of each query that answer best."),
    ] = None,
    min_share: Annotated[
        float, typer.Option(min=0, max=1, help="Least weight, as a fraction of the query's largest.")
    ] = 0.01,
    min_confidence: Annotated[float, typer.Option(min=0, max=1, help="Least confidence on DATA.")] = 0.0,
    min_support: Annotated[int, typer.Option(min=0, help="Least support on DATA.")] = 0,
    max_length: Annotated[int | None, typer.Option(min=0, help="Longest body.")] = None,
    allow: Annotated[
        list[str] | None,
        typer.Option(autocompletion=complete_relation, help="Relations a body may use (repeat)."),
    ] = None,
    deny: Annotated[
        list[str] | None,
        typer.Option(autocompletion=complete_relation, help="Relations a body may not use (repeat)."),
    ] = None,
    given: GivenData = None,
    labels: LabelFile = None,
    as_json: Json = False,
) -> None:
    """Print the rules of MODEL, for and against an answer.

    Reasons for an answer come first, then rules against it.

    With DATA, confidence is the share of a rule's conclusions that are facts, PCA confidence counts only
    sources that have some answer, and support is the number of right conclusions. Rules that conclude nearly
    the same are one line, and each has an example.
    """
    from ..pipeline.program import load_model
    from ..rules.rule import RuleFilter

    data = data or given
    program: Program = load_model(model)
    printed_names.set((program.relations,))
    note = "" if few is None else _keep_few(program, model, data, few)
    kb = None if data is None else load_known(data, program)
    wanted = RuleFilter(min_share, max_length, allow, deny or (), min_confidence, min_support)
    with log.status("Counting support" if kb else "Reading the rules"):
        called = {} if data is None else load_labels(data, labels)
        found = program.listings(relation, limit=limit, order=sort, wanted=wanted, kb=kb, labels=called)
    if as_json:
        print_json([listing.as_dict() for listing in found])
    elif not any(map(len, found)):
        console.print("No rule passes the filters. Lower --min-share, or allow more.")
    else:
        for number, listing in enumerate(found):
            print_line(("\n" if number else "") + listing.heading)
            console.print(listing_table(listing))
        for sentence in _sentences(program):
            print_line(f"\n{sentence}")
        print_line(note or _next_step(model, data))


def _sentences(program: "Program") -> list[str]:
    """Return what holds for every query of weighted rules, in words."""
    weighted = getattr(program, "weighted_rules", None)
    return [] if weighted is None else weighted.sentences


def _next_step(model: Path, data: Path | None) -> str:
    return "" if data else f"\nConfidence, support and examples: neurallp rules {model} DATA"


def _keep_few(program: "Program", model: Path, data: Path | None, few: int) -> str:
    """Replace the rules of a program by the few that answer best together; return what that costs."""
    from ..errors import ConfigError
    from ..pipeline.theory import small_theory

    if data is None:
        raise ConfigError(f"--few fits weights to facts. Give them: neurallp rules {model} DATA --few {few}")
    theory = small_theory(program, load_split(data, program.seed, program=program), few)
    program.weighted_rules = theory.program.weighted_rules  # type: ignore[attr-defined]
    return "\n" + theory.cost

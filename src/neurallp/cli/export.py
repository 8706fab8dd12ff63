"""`export`: the rules of a model in the formats of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import ConfigError, UnknownNameError, require_choice
from ..io.rules import EXPORTS, SCORED, import_scored
from ..rules.rule import RuleSet
from .options import (
    GivenData,
    Json,
    OptionalData,
    Prefixes,
    RulesOf,
    SafeCsv,
    existing_source,
    load_known,
    load_split,
    parse_prefixes,
)
from .output import print_json, print_line

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase
    from ..rules.rule import Rule

#: Rules of each query that the formats of other programs get.
DEFAULT_FEW = 12

NOT_FITTED = "These rules alone answer worse than the model. With DATA a small theory is fitted instead."

Distinction = Literal["ends", "all"]  # the variables of a rule that must be different entities
Distinct = Annotated[
    Distinction | None,
    typer.Option(help="Require X != Y of every rule, or that all its variables differ along a path."),
]


def export(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL", callback=existing_source, help="A model folder, or a file rules.tsv."
        ),
    ],
    *,
    data: OptionalData = None,
    form: Annotated[
        str,
        typer.Option("--format", help=f"One of {', '.join((*SCORED, *EXPORTS))}."),
    ],
    out: Annotated[Path, typer.Option(help="The file to write.")],
    relation: RulesOf = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Rules for each query instead of those saved.")
    ] = None,
    few: Annotated[
        int | None,
        typer.Option(
            min=1,
            show_default="12 for weighted rules with DATA",
            help="Fit at most this many chains of each query to DATA, and print the loss in MRR.",
        ),
    ] = None,
    min_share: Annotated[
        float, typer.Option(min=0, max=1, help="Least weight, as a fraction of the query's largest.")
    ] = 0.01,
    distinct: Distinct = None,
    given: GivenData = None,
    prefix: Prefixes = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """Write the rules of MODEL for another program.

    The scored formats hold a whole weighted model and compute its scores elsewhere. The others hold chains
    with their confidence: with DATA and --few, a small theory that is fitted for the purpose. Equal rules
    are merged, and rules by which a fact implies itself are dropped.
    """
    from ..io.rules import export_rules
    from ..io.rules.table import safe_rule
    from ..pipeline.program import load_program
    from ..rules.simplify import simplify

    require_choice("--format", form, [*SCORED, *sorted(EXPORTS)])
    if safe_csv and form != "tsv":
        raise ConfigError("--safe-csv is for --format tsv, which spreadsheets open.")
    if form in SCORED:
        _require_whole(form, {"few": few, "limit": limit, "relation": relation, "distinct": distinct})
        _export_scored(model, out, form, as_json)
        return
    data = data or given
    found, cost = _rules_of(model, data, few, limit, min_share)
    simplified = simplify(require_distinct(_chosen(found, relation, min_share), distinct))
    kb = None if data is None else load_known(data, load_program(model))
    rules, subsumed = count_and_compare(simplified.rules, kb)
    rules = RuleSet(map(safe_rule, rules)) if safe_csv else rules
    kept = RuleSet(export_rules(out, rules, form, parse_prefixes(prefix)))
    counts = {"merged": simplified.num_merged, "vacuous": simplified.num_vacuous}
    counts |= _count_left_out(rules, kept)
    report_rules(out, form, kept, counts, subsumed, as_json, cost)


def _count_left_out(rules: RuleSet, kept: RuleSet) -> dict[str, int]:
    """Return how many rules a format does not hold, and why."""
    if len(kept) == len(rules):
        return {}
    others = sum(not rule.is_deductive for rule in rules)
    inverse = len(rules) - len(kept) - others
    counts = {"left out (not chains for an answer)": others, "equal to the inverse of another": inverse}
    return {why: num for why, num in counts.items() if num}


def _require_whole(form: str, given: dict[str, Any]) -> None:
    """Raise an error for options that choose or change rules: a scored format holds the whole model."""
    if names := [f"--{name}" for name, value in given.items() if value is not None]:
        raise ConfigError(f"--format {form} holds the whole model. Leave out {' and '.join(names)}.")


def _export_scored(model: Path, out: Path, form: str, as_json: bool) -> None:
    """Write a whole weighted model."""
    from ..io.rules import export_scored
    from ..pipeline.program import LearnedProgram, load_program

    program = load_program(model)
    weighted = program.weighted_rules if isinstance(program, LearnedProgram) else None
    if weighted is None:
        raise ConfigError(f"{model} has no weighted rules, which --format {form} is for. Learn some.")
    export_scored(out, weighted, form, program.calibration)
    if as_json:
        print_json({"out": str(out), "format": form, "rules": len(weighted), "kinds": weighted.num_of_kinds})
    else:
        kinds = ", ".join(f"{num:,} {kind}" for kind, num in weighted.num_of_kinds.items())
        print_line(f"The whole model in {out}: {kinds}.")


def _rules_of(
    model: Path, data: Path | None, few: int | None, limit: int | None, min_share: float
) -> tuple[RuleSet, str]:
    """Return the rules to export, and what a small theory costs."""
    from ..io.rules.table import read_rules
    from ..pipeline.program import LearnedProgram, load_program
    from ..pipeline.theory import plain_theory

    if model.is_file() and import_scored(model) is None and few is None:
        return read_rules(model), ""
    program = load_program(model)
    weighted = isinstance(program, LearnedProgram) and program.weighted_rules is not None
    if few is None and (data is None or limit is not None or not weighted):
        return _saved_or_recovered(model, limit, min_share), NOT_FITTED if weighted else ""
    if data is None:
        raise ConfigError("--few fits a theory to facts. Give them: neurallp export MODEL DATA.")
    theory = plain_theory(program, load_split(data, program.seed, program=program), few or DEFAULT_FEW)
    return theory.rules, theory.cost


def _saved_or_recovered(model: Path, limit: int | None, min_share: float) -> RuleSet:
    """Return the rules saved with a model, or `limit` rules of each query."""
    from ..io.models.store import RULES, read_files
    from ..io.rules.table import parse
    from ..pipeline.program import load_program

    if limit is None and model.is_dir() and RULES in (files := read_files(model)):
        return parse(files[RULES].decode(), model / RULES).rules
    return load_program(model).rules(limit=limit or 10, min_share=min_share)


def _chosen(rules: RuleSet, relation: str | None, min_share: float) -> RuleSet:
    from ..graph.vocabulary import Relations, relation_of
    from ..rules.rule import RuleFilter

    if relation is not None:
        query = Relations(dict.fromkeys(map(relation_of, rules.targets))).canonical_operator(relation)
        if query not in rules.targets:
            raise UnknownNameError.among("relation", relation, rules.targets, "The rule set")
        rules = rules.about(query)
    return rules.select(RuleFilter(min_share))


def require_distinct(rules: RuleSet, which: Distinction | None) -> RuleSet:
    """Return the rules with the inequalities that are asked for."""
    from ..rules.simplify import require_distinct_ends, require_distinct_variables

    if which is None:
        return rules
    return require_distinct_ends(rules) if which == "ends" else require_distinct_variables(rules)


def count_and_compare(rules: RuleSet, kb: "KnowledgeBase | None") -> "tuple[RuleSet, dict[Rule, Rule]]":
    """Return the rules with support counted on facts, where they are given, and those that others subsume."""
    from ..rules.simplify import find_subsumed
    from ..rules.support import measure

    if kb is None:
        return rules, {}
    counted = measure(rules, kb)
    return counted, find_subsumed(counted, kb)


def report_rules(
    out: Path,
    form: str,
    rules: RuleSet,
    counts: dict[str, int],
    subsumed: "dict[Rule, Rule]",
    as_json: bool,
    cost: str = "",
) -> None:
    """Print how many rules were written, which of them others subsume, and what a small theory costs."""
    flagged: list[dict[str, Any]] = [{"rule": str(rule), "by": str(by)} for rule, by in subsumed.items()]
    if as_json:
        sizes = {"rules": len(rules), "queries": len(rules.targets), **counts}
        costs = {"cost": cost} if cost else {}
        print_json({"out": str(out), "format": form, **sizes, "subsumed": flagged, **costs})
        return
    gone = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    queries = f"{len(rules.targets):,} {'query' if len(rules.targets) == 1 else 'queries'}"
    print_line(f"{len(rules):,} rule{'s' * (len(rules) != 1)} in {out}, for {queries}{gone}.")
    if cost:
        print_line(cost)
    for each in flagged[:5]:
        print_line(f"Subsumed: {each['rule']}\n      by: {each['by']}")
    if len(flagged) > 5:
        print_line(f"… and {len(flagged) - 5:,} more are subsumed; --json lists all.")

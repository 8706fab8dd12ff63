"""`export`: the rules of a model in the formats of other programs."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from ..errors import UnknownNameError, require_choice
from .completion import complete_relation
from .options import Json, Prefixes, existing_data, existing_source, load_known, parse_prefixes
from .output import print_json, print_line

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase
    from ..rules.rule import Rule, RuleSet

Facts = Annotated[
    Path | None,
    typer.Option(
        metavar="DATA", callback=existing_data, help="Count support on this data, and flag subsumed rules."
    ),
]
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
    form: Annotated[
        str,
        typer.Option("--format", help="anyburl, json, problog, prolog, souffle, sparql, sql or tsv."),
    ],
    out: Annotated[Path, typer.Option(help="Where the rules go.")],
    query: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_relation, help="Only this relation's rules (~name: its inverse)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Extract this many rules for each query instead of those saved.")
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="As a fraction of the query's best rule.")
    ] = 0.01,
    distinct: Distinct = None,
    data: Facts = None,
    prefix: Prefixes = None,
    as_json: Json = False,
) -> None:
    """Write the rules of MODEL for another program.

    Equal rules are merged, and rules by which a fact implies itself are dropped.
    """
    from ..io.rules import EXPORTS, export_rules
    from ..io.rules.table import read_rules
    from ..rules.simplify import simplify

    require_choice("--format", form, sorted(EXPORTS))
    given = read_rules(model) if model.is_file() else _saved_or_recovered(model, limit, min_confidence)
    simplified = simplify(require_distinct(_chosen(given, query, min_confidence), distinct))
    rules, subsumed = count_and_compare(simplified.rules, data)
    export_rules(out, rules, form, parse_prefixes(prefix))
    counts = {"merged": simplified.num_merged, "vacuous": simplified.num_vacuous}
    report_rules(out, form, rules, counts, subsumed, as_json)


def _saved_or_recovered(model: Path, limit: int | None, min_confidence: float) -> "RuleSet":
    """Return the rules saved with a model, or `limit` rules of each query."""
    from ..io.models.folders import RULES
    from ..io.rules.table import read_rules
    from ..pipeline.program import load_model

    if limit is None and (model / RULES).exists():
        return read_rules(model / RULES)
    return load_model(model).rules(limit=limit or 10, min_confidence=min_confidence)


def _chosen(rules: "RuleSet", query: str | None, min_confidence: float) -> "RuleSet":
    from ..rules.rule import RuleFilter

    if query is not None and query not in rules.targets:
        raise UnknownNameError.among("relation", query, rules.targets, "The rule set")
    return (rules if query is None else rules.about(query)).select(RuleFilter(min_confidence))


def require_distinct(rules: "RuleSet", which: Distinction | None) -> "RuleSet":
    """Return the rules with the inequalities that are asked for."""
    from ..rules.simplify import require_distinct_ends, require_distinct_variables

    if which is None:
        return rules
    return require_distinct_ends(rules) if which == "ends" else require_distinct_variables(rules)


def count_and_compare(rules: "RuleSet", data: Path | None) -> "tuple[RuleSet, dict[Rule, Rule]]":
    """Return the rules with support counted on data, where it is given, and those that others subsume."""
    from ..rules.simplify import find_subsumed
    from ..rules.support import measure

    if data is None:
        return rules, {}
    kb: KnowledgeBase = load_known(data)
    counted = measure(rules, kb)
    return counted, find_subsumed(counted, kb)


def report_rules(
    out: Path,
    form: str,
    rules: "RuleSet",
    counts: dict[str, int],
    subsumed: "dict[Rule, Rule]",
    as_json: bool,
) -> None:
    """Print how many rules were written, and which of them others subsume."""
    flagged: list[dict[str, Any]] = [{"rule": str(rule), "by": str(by)} for rule, by in subsumed.items()]
    if as_json:
        sizes = {"rules": len(rules), "queries": len(rules.targets), **counts}
        print_json({"out": str(out), "format": form, **sizes, "subsumed": flagged})
        return
    gone = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    print_line(f"{len(rules):,} rules in {out}, for {len(rules.targets):,} of the queries{gone}.")
    for each in flagged[:5]:
        print_line(f"Subsumed: {each['rule']}\n      by: {each['by']}")
    if len(flagged) > 5:
        print_line(f"… and {len(flagged) - 5:,} more are subsumed; --json lists all.")

"""`export`, `import` and `convert`: rules and triples in the formats of others."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..errors import ConfigError, UnknownNameError
from ..io.rules import EXPORTS, IMPORTS
from .completion import complete_relation
from .options import Json, load_known
from .output import console, print_json

if TYPE_CHECKING:
    from ..graph.knowledge_base import KnowledgeBase
    from ..rules.rule import Rule, RuleSet

Facts = Annotated[
    Path | None, typer.Option(metavar="DATA", help="Count support on this data, and flag subsumed rules.")
]


class DistinctName(StrEnum):
    """Which variables of a rule must stand for different entities."""

    ends = "ends"
    all = "all"


Distinct = Annotated[
    DistinctName | None,
    typer.Option(help="Require X != Y of every rule, or that all its variables differ along a path."),
]
Prefixes = Annotated[
    list[str] | None, typer.Option(metavar="NAME=IRI", help="What a prefix of names stands for (repeat).")
]


def export(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A model folder, or a file rules.tsv.")],
    form: Annotated[
        str,
        typer.Option("--format", help=f"One of {', '.join(EXPORTS)}."),
    ],
    out: Annotated[Path, typer.Option(help="Where the rules go.")],
    query: Annotated[
        str | None,
        typer.Option(
            autocompletion=complete_relation, help="Only this relation's rules (~name: its inverse)."
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, help="Recover so many rules for each query, not those saved.")
    ] = None,
    min_confidence: Annotated[
        float, typer.Option(min=0, max=1, help="As a share of the query's best rule.")
    ] = 0.01,
    distinct: Distinct = None,
    data: Facts = None,
    prefix: Prefixes = None,
    as_json: Json = False,
) -> None:
    """Write the rules of MODEL for another program.

    Rules said twice are merged, and rules that only say that a fact implies itself are dropped.
    """
    from ..io.rules import export_rules
    from ..io.rules.table import read_rules
    from ..rules.simplify import simplify

    _require_format(form, EXPORTS)
    given = read_rules(model) if model.is_file() else _saved_or_recovered(model, limit, min_confidence)
    tidied = simplify(_require_distinct(_chosen(given, query, min_confidence), distinct))
    rules, subsumed = _judge(tidied.rules, data)
    export_rules(out, rules, form, _parse_prefixes(prefix))
    counts = {"merged": tidied.num_merged, "vacuous": tidied.num_vacuous}
    _report_rules(out, form, rules, counts, subsumed, as_json)


def import_rules(
    rules: Annotated[Path, typer.Argument(metavar="RULES", help="Rules as another program wrote them.")],
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(sorted(IMPORTS))}.")],
    out: Annotated[Path, typer.Option(help="Where the rules go.")] = Path("rules.tsv"),
    distinct: Distinct = None,
    data: Facts = None,
    as_json: Json = False,
) -> None:
    """Take RULES over from another program.

    Rules that are no chains of variables are skipped, rules said twice are merged, and rules that only say
    that a fact implies itself are dropped.
    """
    from ..io import rules as exchange
    from ..io.rules.table import write_rules
    from ..rules.simplify import simplify

    file = exchange.import_rules(rules, form)
    # Confidences of others are measured, and do not add up.
    tidied = simplify(_require_distinct(file.rules, distinct), combine=max)
    found, subsumed = _judge(tidied.rules, data)
    write_rules(out, found)
    counts = {"skipped": file.num_skipped, "merged": tidied.num_merged, "vacuous": tidied.num_vacuous}
    _report_rules(out, "tsv", found, counts, subsumed, as_json)


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A file of triples, or a folder of a split.")],
    target: Annotated[Path, typer.Argument(metavar="OUT", help="A file, whose suffix tells the format.")],
    to: Annotated[
        str | None, typer.Option(metavar="SUFFIX", help="Where IN is a folder: what its files become.")
    ] = None,
    prefix: Prefixes = None,
    as_json: Json = False,
) -> None:
    """Write the triples of IN in the format of OUT.

    Both are .tsv, .csv, .txt, .parquet, .nt, .ttl or .rdf, perhaps .gz; OUT may be .pl or .problog too.
    Where IN is a folder, OUT is one too, and --to says what its files become, such as ttl or tsv.gz.
    """
    from ..io.triples import read_file, write_triples

    prefixes = _parse_prefixes(prefix)
    num_triples, num_literals, relations = 0, 0, set()
    for before, after in _files_to_convert(source, target, to):
        file = read_file(before)
        write_triples(after, file.triples, {**file.prefixes, **prefixes})
        num_triples += len(file.triples)
        num_literals += file.num_literals
        relations |= {relation for _, relation, _ in file.triples}
    if as_json:
        sizes = {"triples": num_triples, "relations": len(relations), "literals": num_literals}
        print_json({"out": str(target), **sizes})
        return
    literals = f"; {num_literals:,} that end in a literal were left out" if num_literals else ""
    _say(f"{num_triples:,} triples of {len(relations):,} relations in {target}{literals}.")


def _files_to_convert(source: Path, target: Path, to: str | None) -> list[tuple[Path, Path]]:
    """Return what is read and what is written: one file, or each part of a split under its own name."""
    from ..io.models.folders import make_folder
    from ..io.triples import find_parts

    if source.is_dir() and to is None:
        raise ConfigError(f"{source} is a folder. Say what its files become, as in --to ttl.")
    if not source.is_dir() and to is not None:
        raise ConfigError(f"--to is for folders; {source} becomes what the suffix of {target} says.")
    if to is None:
        return [(source, target)]
    parts = find_parts(source)
    make_folder(target)
    return [(file, target / f"{part}.{to.removeprefix('.')}") for part, file in parts.items()]


def _require_format(form: str, known: Iterable[str]) -> None:
    from ..errors import require_choice

    require_choice("--format", form, sorted(known))


def _saved_or_recovered(model: Path, limit: int | None, min_confidence: float) -> "RuleSet":
    """Return the rules saved with a model, or as many as are asked for."""
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


def _require_distinct(rules: "RuleSet", which: DistinctName | None) -> "RuleSet":
    from ..rules.simplify import require_distinct_ends, require_distinct_variables

    if which is None:
        return rules
    return require_distinct_ends(rules) if which == "ends" else require_distinct_variables(rules)


def _judge(rules: "RuleSet", data: Path | None) -> "tuple[RuleSet, dict[Rule, Rule]]":
    """Return the rules counted on data, where there is any, and those that others subsume."""
    from ..rules.simplify import find_subsumed
    from ..rules.support import measure

    if data is None:
        return rules, {}
    kb: KnowledgeBase = load_known(data)
    counted = measure(rules, kb)
    return counted, find_subsumed(counted, kb)


def _parse_prefixes(given: list[str] | None) -> dict[str, str]:
    pairs = [each.partition("=") for each in given or ()]
    for name, equals, iri in pairs:
        if not equals or ":" not in iri:
            raise ConfigError(
                f"Give a prefix as NAME=IRI, such as ex=http://ex.org/, not {name + equals + iri!r}."
            )
    return {name: iri for name, _, iri in pairs}


def _report_rules(
    out: Path,
    form: str,
    rules: "RuleSet",
    counts: dict[str, int],
    subsumed: "dict[Rule, Rule]",
    as_json: bool,
) -> None:
    flagged: list[dict[str, Any]] = [{"rule": str(rule), "by": str(by)} for rule, by in subsumed.items()]
    if as_json:
        sizes = {"rules": len(rules), "queries": len(rules.targets), **counts}
        print_json({"out": str(out), "format": form, **sizes, "subsumed": flagged})
        return
    gone = "".join(f", {count:,} {what}" for what, count in counts.items() if count)
    _say(f"{len(rules):,} rules in {out}, for {len(rules.targets):,} of the queries{gone}.")
    for each in flagged[:5]:
        _say(f"Subsumed: {each['rule']}\n      by: {each['by']}")
    if len(flagged) > 5:
        _say(f"… and {len(flagged) - 5:,} more are subsumed; --json tells all.")


def _say(text: str) -> None:
    console.print(escape(text), highlight=False, soft_wrap=True)

"""Rules in the formats of others: which there are, and how a file of them is written and read."""

import json
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from ...errors import DataError, DataWarning, FormatError, require_choice
from ...rules.rule import Rule, RuleSet
from ...rules.simplify import face_forward, merge_duplicates
from ..files import AnyPath, atomic_write, read_bytes
from ..triples.text import find_unwritable
from .logic import render_problog, render_prolog, render_souffle
from .mined import parse_amie, parse_anyburl, render_anyburl
from .queries import render_sparql, render_sql
from .table import COLUMNS as RULE_COLUMNS
from .table import make_rule, read_rules, write_rules

#: What writes rules whose targets are no inverses; SPARQL is also told prefixes.
RENDERERS: dict[str, Callable[[list[Rule]], str]] = {
    "anyburl": render_anyburl,
    "problog": render_problog,
    "prolog": render_prolog,
    "souffle": render_souffle,
    "sparql": render_sparql,
    "sql": render_sql,
}

PARSERS: dict[str, Callable[[str, Path], tuple[RuleSet, int]]] = {
    "amie": parse_amie,
    "anyburl": parse_anyburl,
}

EXPORTS = (*RENDERERS, "json", "tsv")
IMPORTS = (*PARSERS, "json", "tsv")


@dataclass(frozen=True)
class RuleFile:
    """The chain rules of a file, and how many rules it has that are no chains."""

    rules: RuleSet
    num_skipped: int = 0


def export_rules(
    path: AnyPath, rules: Iterable[Rule], form: str, prefixes: Mapping[str, str] | None = None
) -> None:
    """Write rules in one of the formats `EXPORTS`.

    `prefixes` say which IRIs names such as `ex:father` stand for in SPARQL. In the formats of others a rule
    for `~uncle` is written as the one for `uncle` that derives the same, and once if both are given.
    """
    require_choice("The format", form, EXPORTS)
    given = list(rules)
    if not given:
        raise DataError(f"{path}: there are no rules to write.")
    _require_writable(given)
    if form == "tsv":
        write_rules(path, given)
    elif form == "json":
        atomic_write(
            path, json.dumps([rule.as_dict() for rule in given], indent=2, ensure_ascii=False) + "\n"
        )
    else:
        concluding = (rule for rule in given if rule.is_deductive)
        forward = list(merge_duplicates(map(face_forward, concluding), max))
        text = render_sparql(forward, prefixes) if form == "sparql" else RENDERERS[form](forward)
        atomic_write(path, text)


def _require_writable(rules: Iterable[Rule]) -> None:
    for name in {name for rule in rules for name in (rule.target, *rule.body)}:
        if why := find_unwritable(name, ""):
            raise FormatError(f"Relation {name!r} {why}. Rename it.")


def import_rules(path: AnyPath, form: str) -> RuleFile:
    """Return the rules of a file in one of the formats `IMPORTS`; warns of rules that are no chains."""
    require_choice("The format", form, IMPORTS)
    file = RuleFile(read_rules(path)) if form == "tsv" else _parse(path, form)
    total = len(file.rules) + file.num_skipped
    if not total:
        raise FormatError(f"{path}: no rules of the format {form!r}. There are: {', '.join(IMPORTS)}.")
    if file.num_skipped:
        what = f"{path}: {file.num_skipped:,} of {total:,} rules are no chains of variables; skipped."
        warnings.warn(what, DataWarning, stacklevel=2)
    return file


def guess_format(path: AnyPath) -> str:
    """Return which of `IMPORTS` a file of rules is in, by what its first lines look like."""
    text = _decode(path).lstrip()
    first = text.partition("\n")[0]
    if first.startswith("\t".join(RULE_COLUMNS)):
        return "tsv"
    if text.startswith("["):
        return "json"
    return "anyburl" if " <= " in first else "amie"


def _parse(path: AnyPath, form: str) -> RuleFile:
    text = _decode(path)
    return RuleFile(_parse_json(text, path)) if form == "json" else RuleFile(*PARSERS[form](text, Path(path)))


def _decode(path: AnyPath) -> str:
    try:
        return read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8. Save as UTF-8.") from error


def _parse_json(text: str, path: AnyPath) -> RuleSet:
    try:
        return RuleSet([_rule(described) for described in json.loads(text)])
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(
            f"{path}: expected a list of rules as `neurallp export` writes it ({error})."
        ) from error


def _rule(described: dict[str, Any]) -> Rule:
    """Return the rule of `Rule.as_dict`, whose text and quotient are left out: the rest says it all."""
    known = {field.name for field in fields(Rule)}
    return make_rule({name: value for name, value in described.items() if name in known})

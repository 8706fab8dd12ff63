"""Rules in files: which formats there are, and how a file of rules is written and read.

A format is a module of this package. One that can be written defines `render`, one that can be read defines
`parse` and `recognizes`. To add a format, add its module here and a line to `EXPORTS` or `IMPORTS`.
"""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from ...errors import DataError, DataWarning, FormatError, quoted, require_choice
from ...rules.rule import Rule
from ..files import AnyPath, atomic_write, read_utf8
from ..names import find_unwritable
from .base import RuleFile

if TYPE_CHECKING:
    from ...reasoning.calibration import Calibration
    from ...weighting.weighted_rules import WeightedRules
    from .scored import ScoredRule

#: Format -> the module that writes it: `render(rules, prefixes)` returns the text.
EXPORTS = MappingProxyType(
    {
        "anyburl": "anyburl",
        "json": "json_list",
        "problog": "problog",
        "prolog": "prolog",
        "souffle": "souffle",
        "sparql": "sparql",
        "sql": "sql",
        "tsv": "table",
    }
)

#: Format -> the module that writes a whole weighted model, so that its scores can be computed elsewhere:
#: `render(weighted, calibration)` returns the text.
SCORED = MappingProxyType(
    {"scored-json": "scored_json", "scored-prolog": "scored_prolog", "scored-sql": "scored_sql"}
)

#: Format -> the module that reads it: `parse(text, path)` returns a RuleFile, and `recognizes(text)` whether
#: a text looks like this format. The order is the one in which `guess_format` tries them.
IMPORTS = MappingProxyType({"tsv": "table", "json": "json_list", "anyburl": "anyburl", "amie": "amie"})

#: The formats that keep rules as they are; the others hold only what can be deduced.
LOSSLESS = ("json", "tsv")


def export_rules(
    path: AnyPath, rules: Iterable[Rule], form: str, prefixes: Mapping[str, str] | None = None
) -> list[Rule]:
    """Write rules in one of the formats `EXPORTS`.

    `prefixes` map the prefixes of names such as `ex:father` to IRIs; only SPARQL uses them. Formats of other
    programs get the deductive rules only, and a rule for `~uncle` as the equivalent rule for `uncle`.
    Returns the rules that the file holds.
    """
    require_choice("The format", form, tuple(EXPORTS))
    given = list(rules)
    if not given:
        raise DataError(f"{path}: there are no rules to write.")
    _require_writable(given)
    kept = given if form in LOSSLESS else _deductive(given)
    if not kept:
        raise DataError(f"{path}: no rule is a chain with a positive weight, which is what {form} can hold.")
    atomic_write(path, _module(EXPORTS[form]).render(kept, prefixes or {}))
    return kept


def export_scored(
    path: AnyPath, weighted: "WeightedRules", form: str, calibration: "Calibration | None" = None
) -> None:
    """Write a whole weighted model in one of the formats `SCORED`, with its probabilities if it has any."""
    require_choice("The format", form, tuple(SCORED))
    entities = {
        name
        for rule in _scored_rules(weighted)
        for name in (rule.answer, rule.end, rule.source, rule.start)
        if name
    }
    for name in [*weighted.relations, *sorted(entities)]:
        if why := find_unwritable(name):
            raise FormatError(f"Name {quoted(name)} {why}. Rename it.")
    atomic_write(path, _module(SCORED[form]).render(weighted, calibration))


def _scored_rules(weighted: "WeightedRules") -> "Iterator[ScoredRule]":
    from .scored import scored_rules

    return scored_rules(weighted)


def import_scored(path: AnyPath) -> "tuple[WeightedRules, Calibration | None] | None":
    """Return the model of a file in the format scored-json, or None where it is in another."""
    module = _module(SCORED["scored-json"])
    text = read_utf8(path)
    found: tuple[WeightedRules, Calibration | None] | None = None
    if module.recognizes(text):
        found = module.parse_weighted(text, Path(path))
    return found


def _deductive(rules: Iterable[Rule]) -> list[Rule]:
    """Return the deductive rules, each from head to tail and once."""
    from ...rules.simplify import face_forward, merge_duplicates

    return list(merge_duplicates(map(face_forward, (rule for rule in rules if rule.is_deductive)), max))


def _module(name: str) -> Any:
    return import_module(f".{name}", __package__)


def _require_writable(rules: Iterable[Rule]) -> None:
    for name in {name for rule in rules for name in (rule.target, *rule.body)}:
        if why := find_unwritable(name):
            raise FormatError(f"Relation {quoted(name)} {why}. Rename it.")


def import_rules(path: AnyPath, form: str) -> RuleFile:
    """Return the rules of a file in one of the formats `IMPORTS`; warn of rules that are skipped."""
    require_choice("The format", form, sorted(IMPORTS))
    file: RuleFile = _module(IMPORTS[form]).parse(read_utf8(path), Path(path))
    total = len(file.rules) + file.num_skipped
    if not total:
        raise FormatError(f"{path}: no rules in the format {form!r}. Formats: {', '.join(sorted(IMPORTS))}.")
    if file.num_skipped:
        what = f"{path}: skipped {file.num_skipped:,} of {total:,} rules, whose form is not supported."
        warnings.warn(what, DataWarning, stacklevel=2)
    return file


def guess_format(path: AnyPath) -> str:
    """Return which of `IMPORTS` a file of rules is in, by its first lines."""
    text = read_utf8(path).lstrip()
    for form, module in IMPORTS.items():
        if _module(module).recognizes(text):
            return form
    raise FormatError(f"{path}: not a file of rules. Formats: {', '.join(sorted(IMPORTS))}.")

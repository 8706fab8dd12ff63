"""Rules as a table of tab-separated values: one rule on each line, every field JSON.

JSON escapes tabs and line ends, so every name can be stored.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...errors import FormatError, NeuralLPError, brief, quoted
from ...rules.rule import Rule, RuleSet
from ..files import AnyPath, atomic_write, read_utf8
from ..names import safe_cell
from ..schema import convert, decode_json
from .base import RuleFile

COLUMNS = (
    "confidence",
    "normalized_confidence",
    "support",
    "num_predictions",
    "num_answerable",
    "num_paths",
    "distinct_ends",
    "inequalities",
    "weight",
    "kind",
    "target",
    "body",
    "answer",
    "body_end",
    "source",
    "body_start",
)
TEXT_COLUMN = "rule"


def write_rules(path: AnyPath, rules: Iterable[Rule]) -> None:
    """Write rules as a table that `read_rules` reads."""
    atomic_write(path, format_rules(rules))


def read_rules(path: AnyPath) -> RuleSet:
    """Return the rules that `write_rules` wrote; all faults of the file are raised as one FormatError."""
    return parse(read_utf8(path), Path(path)).rules


def format_rules(rules: Iterable[Rule]) -> str:
    """Return rules as tab-separated values; the last column is the rule as text, for people."""
    lines = ["\t".join([*COLUMNS, TEXT_COLUMN]), *(_line(rule) for rule in rules)]
    return "\n".join(lines) + "\n"


def _line(rule: Rule) -> str:
    fields = [getattr(rule, column) for column in COLUMNS]
    return "\t".join(json.dumps(field, ensure_ascii=False) for field in [*fields, str(rule)])


def safe_rule(rule: Rule) -> Rule:
    """Return a rule whose fields no spreadsheet takes for formulas; its body is in brackets already."""
    names = {each: getattr(rule, each) for each in ("answer", "body_end", "source", "body_start")}
    safe: dict[str, Any] = {each: safe_cell(name) for each, name in names.items() if name is not None}
    return replace(rule, target=safe_cell(rule.target), **safe)


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return the table of `format_rules`."""
    return format_rules(rules)


def recognizes(text: str) -> bool:
    """Return whether a text starts with the column names."""
    return {"target", "body", "confidence"} <= {*text.partition("\n")[0].split("\t")}


def parse(text: str, path: Path) -> RuleFile:
    """Return the rules of a table; `path` names the file in errors."""
    # Only \n ends a line: str.splitlines also splits at characters that names may contain.
    lines = text.split("\n")
    columns = lines[0].split("\t")[:-1]
    if not set(columns) <= {*COLUMNS} or not {"target", "body", "confidence"} <= {*columns}:
        raise FormatError(f"{path}:1: expected the columns {', '.join(COLUMNS)}, got {quoted(lines[0], 80)}.")
    rules, faults = [], []
    for number, line in enumerate(lines[1:], 2):
        try:
            rules += [_parse_line(line, columns)] if line else []
        except (ValueError, TypeError, RecursionError, NeuralLPError) as error:
            faults.append(f"{path}:{number}: not a rule ({brief(error, 80)}): {quoted(line, 80)}.")
    if faults:
        raise FormatError.collected(faults)
    return RuleFile(RuleSet(rules))


def _parse_line(line: str, columns: Sequence[str]) -> Rule:
    """Return the rule of a line; a column that an older file does not have keeps its default."""
    values = line.split("\t")
    if len(values) < len(columns):
        raise ValueError(f"expected {len(columns) + 1} tab-separated fields, got {len(values)}")
    return make_rule(dict(zip(columns, map(decode_json, values), strict=False)))


def make_rule(fields: Mapping[str, Any]) -> Rule:
    """Return the rule of its fields as JSON holds them (lists for tuples); raise ValueError if invalid."""
    rule = convert(fields, Rule)
    if not all(0 <= i < j <= len(rule.body) for i, j in rule.inequalities):
        raise ValueError(
            f"inequalities must be two positions of the path, the earlier first, got {rule.inequalities}"
        )
    return rule

"""Rules as a table: one line each, names in JSON so that any name survives."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import FormatError
from ...rules.rule import Rule, RuleSet
from ..files import AnyPath, atomic_write, read_bytes

COLUMNS = (
    "confidence",
    "normalized_confidence",
    "support",
    "num_predictions",
    "distinct_ends",
    "inequalities",
    "weight",
    "kind",
    "target",
    "body",
    "answer",
)
OLDER_COLUMNS = COLUMNS[:-1]


def write_rules(path: AnyPath, rules: Iterable[Rule]) -> None:
    """Write rules as a table that `read_rules` gives back."""
    atomic_write(path, format_rules(rules))


def format_rules(rules: Iterable[Rule]) -> str:
    """Return rules as tab-separated values, the rule in words of logic last; every field is JSON."""
    lines = ["\t".join([*COLUMNS, "rule"]), *(_line(rule) for rule in rules)]
    return "\n".join(lines) + "\n"


def _line(rule: Rule) -> str:
    fields = [getattr(rule, column) for column in COLUMNS]
    return "\t".join(json.dumps(field, ensure_ascii=False) for field in [*fields, str(rule)])


def read_rules(path: AnyPath) -> RuleSet:
    """Return the rules that `write_rules` wrote; all faults of the file are raised as one FormatError."""
    # Only \n ends a line: str.splitlines would also split at characters that names may hold.
    lines = _decode(path).split("\n")
    columns = tuple(lines[0].split("\t")[:-1])
    if columns not in (COLUMNS, OLDER_COLUMNS):
        raise FormatError(f"{path}:1: expected the columns {', '.join(COLUMNS)}, got {lines[0]!r}.")
    rules, faults = [], []
    for number, line in enumerate(lines[1:], 2):
        try:
            rules += [_parse(line, columns)] if line else []
        except (ValueError, TypeError) as error:
            faults.append(f"{path}:{number}: not a rule ({error}): {line!r}.")
    if faults:
        raise FormatError.collected(faults)
    return RuleSet(rules)


def _decode(path: AnyPath) -> str:
    try:
        return read_bytes(path).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"{path}: byte {error.start + 1} is not UTF-8. Save as UTF-8.") from error


def _parse(line: str, columns: Sequence[str]) -> Rule:
    values = line.split("\t")
    if len(values) < len(columns):
        raise ValueError(f"expected {len(columns) + 1} tab-separated fields, got {len(values)}")
    fields = dict(zip(columns, map(json.loads, values), strict=False))
    return make_rule(fields)


def make_rule(fields: Mapping[str, Any]) -> Rule:
    """Return the rule of its fields as JSON has them, lists for tuples; raise ValueError for what is none."""
    if not isinstance(fields["body"], list):
        raise ValueError("the body must be a list of names")
    body, inequalities = tuple(fields["body"]), tuple((i, j) for i, j in fields.get("inequalities", ()))
    if (fields.get("kind") == "unary") != isinstance(fields.get("answer"), str):
        raise ValueError("a unary rule names its answer, and no other rule does")
    if not all(0 <= i < j <= len(body) for i, j in inequalities):
        raise ValueError(
            f"inequalities must name two places of the path, the earlier first, got {inequalities}"
        )
    return Rule(**{**fields, "body": body, "inequalities": inequalities})

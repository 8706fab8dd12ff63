"""Rules as a table: one line each, names in JSON so that any name survives."""

import json
from collections.abc import Iterable
from pathlib import Path

from ..errors import FormatError
from ..rules import Rule, RuleSet
from .files import AnyPath, atomic_write, read_bytes

COLUMNS = (
    "confidence",
    "normalized_confidence",
    "support",
    "num_predictions",
    "distinct_ends",
    "target",
    "body",
)


def write_rules(path: AnyPath, rules: Iterable[Rule]) -> None:
    """Write rules as tab-separated values, the rule in words of logic last; every field is JSON."""
    lines = ["\t".join([*COLUMNS, "rule"]), *(_line(rule) for rule in rules)]
    atomic_write(path, "\n".join(lines) + "\n")


def _line(rule: Rule) -> str:
    fields = [getattr(rule, column) for column in COLUMNS]
    return "\t".join(json.dumps(field, ensure_ascii=False) for field in [*fields, str(rule)])


def read_rules(path: AnyPath) -> RuleSet:
    """Return the rules that `write_rules` wrote."""
    # Only \n ends a line: str.splitlines would also split at characters that names may hold.
    lines = read_bytes(path).decode().split("\n")
    if lines[0].split("\t")[: len(COLUMNS)] != list(COLUMNS):
        raise FormatError(f"{path}:1: expected the columns {', '.join(COLUMNS)}, got {lines[0]!r}.")
    return RuleSet(_parse(Path(path), number, line) for number, line in enumerate(lines[1:], 2) if line)


def _parse(path: Path, number: int, line: str) -> Rule:
    try:
        fields = dict(zip(COLUMNS, map(json.loads, line.split("\t")[: len(COLUMNS)]), strict=True))
        return Rule(**{**fields, "body": tuple(fields["body"])})
    except (ValueError, TypeError) as error:
        raise FormatError(f"{path}:{number}: not a rule ({error}): {line!r}.") from error

"""Rules as JSON: a list of objects, one for each rule."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from ...errors import FormatError
from ...rules.rule import Rule, RuleSet
from .base import RuleFile
from .table import make_rule


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return every rule as the object of `Rule.as_dict`."""
    return json.dumps([rule.as_dict() for rule in rules], indent=2, ensure_ascii=False) + "\n"


def recognizes(text: str) -> bool:
    """Return whether a text starts a JSON list."""
    return text.startswith("[")


def parse(text: str, path: Path) -> RuleFile:
    """Return the rules of a list as `render` writes it."""
    try:
        return RuleFile(RuleSet([_rule(described) for described in json.loads(text)]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise FormatError(
            f"{path}: expected a list of rules as `neurallp export` writes it ({error})."
        ) from error


def _rule(described: dict[str, Any]) -> Rule:
    """Return the rule of an object; what is derived from other fields, such as its text, is ignored."""
    known = {field.name for field in fields(Rule)}
    values = {name: value for name, value in described.items() if name in known}
    return make_rule({**values, "confidence": described.get("alpha", values["confidence"])})

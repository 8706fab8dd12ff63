"""Weighted rules as one JSON object with all weights, which reads back as the same model."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...errors import FormatError
from ...reasoning.calibration import Calibration
from ...weighting.weighted_rules import WeightedRules
from ..models.calibration import parse_calibration
from ..schema import as_error, convert, decode_json
from .scored import Described, from_scored, scored_rules

NAME = "neurallp scored rules, version "
FORMAT = f"{NAME}2"

MEANING = (
    "score(source, query, entity) = sum over the query's rules of weights . (indicator, forward, backward); "
    "features of a chain: 1 and log(1 + 100 p) / log(101) of the probabilities p of a random walk along its "
    "operators and of one back; a sourced rule is about one source, and its operator leads from start to the "
    "answers; see docs/formats.md for the other kinds."
)


def render(weighted: WeightedRules, calibration: Calibration | None = None) -> str:
    """Return the model and its calibration as text; numbers keep all their digits."""
    described: dict[str, Any] = {
        "format": FORMAT,
        "meaning": MEANING,
        "relations": list(weighted.relations),
        "reflexive": [
            name for name, flag in zip(weighted.relations, weighted.reflexive, strict=True) if flag
        ],
        "excludes_linked": weighted.excludes_linked,
        "calibration": None if calibration is None else asdict(calibration),
        "rules": [
            {
                "query": rule.query,
                "kind": rule.kind,
                "operators": rule.operators,
                "answer": rule.answer,
                "end": rule.end,
                "source": rule.source,
                "start": rule.start,
                "weights": rule.weights,
                "confidence": rule.confidence,
                "rule": rule.text,
            }
            for rule in scored_rules(weighted)
        ],
    }
    return json.dumps(described, indent=1, ensure_ascii=False) + "\n"


def recognizes(text: str) -> bool:
    """Return whether a text begins as this format does."""
    return text.lstrip().startswith("{") and NAME in text[:200]


def parse_weighted(text: str, path: Path) -> tuple[WeightedRules, Calibration | None]:
    """Return the weighted rules of a text as `render` writes it, and their calibration where there is one."""
    if FORMAT not in text[:200]:
        raise FormatError(
            f"{path}: this neurallp reads {FORMAT}. Export the model again with `neurallp export`."
        )
    with as_error(
        lambda why: FormatError(f"{path}: expected scored rules as `neurallp export` writes them ({why}).")
    ):
        described = convert(decode_json(text), Described)
        return from_scored(described), parse_calibration(described.calibration)

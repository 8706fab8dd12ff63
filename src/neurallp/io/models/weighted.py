"""Weighted rules as a file of arrays, with every weight to the last digit.

One row for each rule. The kinds of rules and the entities that rules mention are stored by name, in the
settings beside the arrays: a row holds a place in these lists.
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...config import KINDS, WeightingConfig
from ...errors import ConfigError
from ...graph.vocabulary import Relations
from ...rules.rule import Rule
from ...weighting.kinds.base import Candidate
from ...weighting.weighted_rules import WeightedQuery, WeightedRules
from ..files import AnyPath
from ..rules.table import format_rules
from .folders import (
    FORMAT_VERSION,
    METRICS,
    RELATIONS,
    RULES,
    WEIGHTS,
    checksums,
    damaged,
    dump_arrays,
    read_arrays,
    read_json,
    read_relations,
    require_together,
    require_version,
    to_json,
    write_together,
)

WEIGHTED = "weighted.safetensors"
SETTINGS = "weighting.json"


def has_weighted(folder: AnyPath) -> bool:
    """Return whether a folder holds weighted rules, even if one of their files is missing."""
    return any((Path(folder) / name).is_file() for name in (WEIGHTED, SETTINGS))


def _dump(weighted: WeightedRules) -> bytes:
    """Return the content of the file of arrays."""
    kinds, entities = _names_of(weighted)
    rows = [(query, rule) for query, each in weighted.queries.items() for rule in each.rules]
    longest = max((len(rule.operators) for _, rule in rows), default=1)
    operators = np.full((len(rows), longest), -1, dtype=np.int64)
    for place, (_, rule) in zip(operators, rows, strict=True):
        place[: len(rule.operators)] = rule.operators
    constants = [-1 if rule.constant is None else entities.index(rule.constant) for _, rule in rows]
    every = weighted.queries.values()
    arrays = {
        "queries": np.array([query for query, _ in rows], dtype=np.int64),
        "kinds": np.array([kinds.index(rule.kind) for _, rule in rows], dtype=np.int64),
        "operators": operators,
        "constants": np.array(constants, dtype=np.int64),
        "weights": np.concatenate([np.zeros((0, 3)), *(each.weights for each in every)]),
        "confidences": np.concatenate([np.zeros(0), *(each.confidences for each in every)]),
        "reflexive": weighted.reflexive,
    }
    return dump_arrays(arrays)


def _names_of(weighted: WeightedRules) -> tuple[list[str], list[str]]:
    """Return the names of kinds and of constants that the rules mention, in order of appearance."""
    rules = [rule for each in weighted.queries.values() for rule in each.rules]
    kinds = dict.fromkeys(rule.kind for rule in rules)
    constants = dict.fromkeys(rule.constant for rule in rules if rule.constant is not None)
    return list(kinds), list(constants)


def read_weighted(folder: AnyPath) -> tuple[WeightedRules, WeightingConfig]:
    """Return the weighted rules of a folder, and the settings they were weighted with."""
    settings = read_json(Path(folder) / SETTINGS, dict)
    require_version(folder, settings)
    path = Path(folder) / WEIGHTED
    try:
        config = _config(settings["weighting"])
        names = settings["kinds"], settings["constants"]
        relations = read_relations(folder)
        weighted = _unpack(read_arrays(path), relations, *names)
        weighted = replace(weighted, **_flags(settings, relations))
    except (KeyError, IndexError, ValueError, TypeError, ConfigError) as error:
        raise damaged(path, error) from error
    require_together(Path(folder) / SETTINGS)
    return weighted, config


def _config(settings: Mapping[str, Any]) -> WeightingConfig:
    """Return settings as they were before JSON, which has lists for tuples."""
    if missing := {field.name for field in fields(WeightingConfig)} - settings.keys():
        raise ValueError(f"no setting {min(missing)}")
    chosen: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in settings.items()
    }
    return WeightingConfig(**chosen)


def _unpack(
    arrays: Mapping[str, Any], relations: Relations, kinds: list[str], constants: list[str]
) -> WeightedRules:
    reflexive, operators = arrays["reflexive"], arrays["operators"]
    if len(reflexive) != len(relations):
        raise ValueError("other relations than those beside it")
    if operators.max(initial=-1) >= relations.num_operators or arrays["weights"].shape[1:] != (3,):
        raise ValueError("other operators or weights than rules have")
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        raise ValueError(f"rules of an unknown kind {unknown[0]!r}")
    rules = [
        Candidate(kinds[kind], tuple(int(k) for k in row if k >= 0), constants[name] if name >= 0 else None)
        for kind, row, name in zip(arrays["kinds"], operators, arrays["constants"], strict=True)
    ]
    queries = {}
    for query in np.unique(arrays["queries"]).tolist():
        rows = np.flatnonzero(arrays["queries"] == query)
        weights, confidences = arrays["weights"][rows], arrays["confidences"][rows]
        queries[query] = WeightedQuery(tuple(rules[row] for row in rows), weights, confidences)
    return WeightedRules(relations, reflexive, queries)


def _flags(settings: Mapping[str, Any], relations: Relations) -> dict[str, Any]:
    """Return what the settings tell of the whole model."""
    excludes, unrefined = settings["excludes_linked"], settings["unrefined"]
    if not isinstance(excludes, bool):
        raise ValueError(f"excludes_linked must be true or false, got {excludes!r}")
    return {"excludes_linked": excludes, "unrefined": tuple(map(relations.operator_id, unrefined))}


def write_weighted(
    folder: AnyPath,
    weighted: WeightedRules,
    config: WeightingConfig,
    rules: Iterable[Rule],
    metrics: Mapping[str, Any],
) -> None:
    """Write a folder that holds weighted rules and no model beside them."""
    contents: dict[str, str | bytes] = {
        RELATIONS: to_json(list(weighted.relations)),
        RULES: format_rules(rules),
        METRICS: to_json(metrics),
    }
    write_together(folder, contents | describe_weighted(weighted, config, contents))


def drop_weighted(folder: AnyPath) -> None:
    """Remove the weighted rules of a folder: they would answer instead of a model not their own."""
    for name in (WEIGHTED, SETTINGS):
        (Path(folder) / name).unlink(missing_ok=True)


def describe_weighted(
    weighted: WeightedRules, config: WeightingConfig, beside: Mapping[str, str | bytes]
) -> dict[str, str | bytes]:
    """Return the files of weighted rules; the settings hold checksums of the files `beside` them."""
    kinds, constants = _names_of(weighted)
    rows = {WEIGHTED: _dump(weighted)}
    shared = {name: beside[name] for name in (RELATIONS, WEIGHTS) if name in beside}
    settings = {
        "format_version": FORMAT_VERSION,
        "weighting": asdict(config),
        "kinds": kinds,
        "constants": constants,
        "excludes_linked": weighted.excludes_linked,
        "unrefined": [weighted.relations.operator_name(query) for query in weighted.unrefined],
        "checksums": checksums(rows | shared),
    }
    return {SETTINGS: to_json(settings), **rows}

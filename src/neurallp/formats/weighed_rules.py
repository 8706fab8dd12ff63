"""Weighed rules as a file of arrays: every weight to the last digit."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import ConfigError
from ..knowledge import Relations
from ..rules import RuleSet
from ..weighed import WeighedQuery, WeighedRules
from ..weighing import WeighingConfig
from .files import AnyPath
from .folders import (
    METRICS,
    RELATIONS,
    RULES,
    damaged,
    dump_tensors,
    read_json,
    read_relations,
    read_tensors,
    require_version,
    to_json,
    write_together,
)
from .rules import format_rules

FORMAT_VERSION = 1

WEIGHED = "weighed.safetensors"
SETTINGS = "weighing.json"


def has_weighed(folder: AnyPath) -> bool:
    """Return whether a folder holds weighed rules."""
    return (Path(folder) / WEIGHED).is_file()


def _dump(weighed: WeighedRules) -> bytes:
    """Return the content of the file."""
    queries = [query for query, each in weighed.queries.items() for _ in each.bodies]
    bodies = [body for each in weighed.queries.values() for body in each.bodies]
    padded = np.full((len(bodies), weighed.max_length), -1)
    for row, body in zip(padded, bodies, strict=True):
        row[: len(body)] = body
    priors = np.zeros(weighed.relations.num_operators)
    for query, each in weighed.queries.items():
        priors[query] = each.prior
    weights = [np.zeros((0, 3)), *(each.weights for each in weighed.queries.values())]
    arrays = {
        "queries": np.array(queries, dtype=np.int64),
        "bodies": padded,
        "weights": np.concatenate(weights),
        "confidences": np.concatenate(
            [np.zeros(0), *(each.confidences for each in weighed.queries.values())]
        ),
        "priors": priors,
        "reflexive": weighed.reflexive,
    }
    return dump_tensors({name: torch.from_numpy(array) for name, array in arrays.items()})


def read_weighed(folder: AnyPath) -> tuple[WeighedRules, WeighingConfig]:
    """Return the weighed rules of a folder, and how they were weighed."""
    path = Path(folder) / WEIGHED
    arrays = {name: tensor.numpy() for name, tensor in read_tensors(path).items()}
    settings = read_json(Path(folder) / SETTINGS, dict)
    require_version(folder, settings, FORMAT_VERSION)
    try:
        config = WeighingConfig(
            **{**settings["weighing"], "penalties": tuple(settings["weighing"]["penalties"])}
        )
        return _unpack(arrays, read_relations(folder)), config
    except (KeyError, IndexError, ValueError, TypeError, ConfigError) as error:
        raise damaged(path, error) from error


def _unpack(arrays: Mapping[str, Any], relations: Relations) -> WeighedRules:
    priors, reflexive = arrays["priors"], arrays["reflexive"]
    if (len(priors), len(reflexive)) != (relations.num_operators, len(relations)):
        raise ValueError("other relations than those beside it")
    queries = {}
    if arrays["bodies"].max(initial=-1) >= relations.num_operators or arrays["weights"].shape[1:] != (3,):
        raise ValueError("other bodies or weights than rules have")
    for query in np.unique(np.concatenate([arrays["queries"], np.flatnonzero(priors)])).tolist():
        rows = np.flatnonzero(arrays["queries"] == query)
        bodies = tuple(tuple(int(k) for k in body if k >= 0) for body in arrays["bodies"][rows])
        weights, confidences = (arrays[name][rows].copy() for name in ("weights", "confidences"))
        queries[query] = WeighedQuery(bodies, weights, confidences, float(priors[query]))
    return WeighedRules(relations, reflexive, queries)


def write_weighed(
    folder: AnyPath, weighed: WeighedRules, config: WeighingConfig, rules: RuleSet, metrics: Mapping[str, Any]
) -> None:
    """Write a folder that holds weighed rules and no model beside them."""
    contents: dict[str, str | bytes] = {
        RELATIONS: to_json(list(weighed.relations)),
        RULES: format_rules(rules),
        METRICS: to_json(metrics),
    }
    write_together(folder, contents | _describe(weighed, config))


def add_weighed(folder: AnyPath, weighed: WeighedRules, config: WeighingConfig) -> None:
    """Put weighed rules beside the model they come from."""
    write_together(folder, _describe(weighed, config))


def drop_weighed(folder: AnyPath) -> None:
    """Remove weighed rules, where there are any: they would answer in the place of a model not theirs."""
    for name in (WEIGHED, SETTINGS):
        (Path(folder) / name).unlink(missing_ok=True)


def _describe(weighed: WeighedRules, config: WeighingConfig) -> dict[str, str | bytes]:
    settings = {"format_version": FORMAT_VERSION, "weighing": asdict(config)}
    return {SETTINGS: to_json(settings), WEIGHED: _dump(weighed)}

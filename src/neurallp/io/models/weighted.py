"""Weighted rules as a file of arrays, with every weight to the last digit.

One row for each rule. The kinds of rules and the entities that rules mention are stored by name, in the
settings beside the arrays: a row holds a place in these lists.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from ...config import KINDS, WeightingConfig
from ...graph.vocabulary import Relations
from ...weighting.weighted_rules import WeightedQuery, WeightedRules
from ..rules.scored import make_candidate, require_one_of_a_kind
from ..schema import as_error, to_json
from .folders import dump_arrays, read_arrays, read_json, read_relations, relations_file
from .store import SETTINGS, WEIGHTED, ModelFiles, damaged


@dataclass(frozen=True)
class WeightedSettings:
    """What `weighting.json` holds: settings, the names that rows refer to, and flags of the whole model."""

    weighting: WeightingConfig
    kinds: tuple[str, ...]
    constants: tuple[str, ...]
    excludes_linked: bool
    unrefined: tuple[str, ...]  # queries


def has_weighted(files: ModelFiles) -> bool:
    """Return whether a model has weighted rules, even if one of their files is missing."""
    return WEIGHTED in files or SETTINGS in files


def weighted_files(weighted: WeightedRules, config: WeightingConfig) -> dict[str, str | bytes]:
    """Return the files of weighted rules, the relations among them."""
    kinds, constants = _names_of(weighted)
    unrefined = tuple(map(weighted.relations.operator_name, weighted.unrefined))
    settings = WeightedSettings(config, tuple(kinds), tuple(constants), weighted.excludes_linked, unrefined)
    return {
        SETTINGS: to_json(asdict(settings)),
        WEIGHTED: _dump(weighted),
        **relations_file(weighted.relations),
    }


def _dump(weighted: WeightedRules) -> bytes:
    """Return the content of the file of arrays."""
    kinds, entities = _names_of(weighted)
    rows = [(query, rule) for query, each in weighted.queries.items() for rule in each.rules]
    longest = max((len(rule.operators) for _, rule in rows), default=1)
    operators = np.full((len(rows), longest), -1, dtype=np.int64)
    for place, (_, rule) in zip(operators, rows, strict=True):
        place[: len(rule.operators)] = rule.operators
    place_of: dict[str | None, int] = {None: -1, **{name: place for place, name in enumerate(entities)}}
    every = weighted.queries.values()
    arrays = {
        "queries": np.array([query for query, _ in rows], dtype=np.int64),
        "kinds": np.array([kinds.index(rule.kind) for _, rule in rows], dtype=np.int64),
        "operators": operators,
        "constants": np.array([place_of[rule.constant] for _, rule in rows], dtype=np.int64),
        "ends": np.array([place_of[rule.end] for _, rule in rows], dtype=np.int64),
        "weights": np.concatenate([np.zeros((0, 3)), *(each.weights for each in every)]),
        "confidences": np.concatenate([np.zeros(0), *(each.confidences for each in every)]),
        "reflexive": weighted.reflexive,
    }
    return dump_arrays(arrays)


def _names_of(weighted: WeightedRules) -> tuple[list[str], list[str]]:
    """Return the names of kinds and of constants that the rules mention, in order of appearance."""
    rules = [rule for each in weighted.queries.values() for rule in each.rules]
    kinds = dict.fromkeys(rule.kind for rule in rules)
    mentioned = (name for rule in rules for name in (rule.constant, rule.end) if name is not None)
    return list(kinds), list(dict.fromkeys(mentioned))


def read_weighted(files: ModelFiles) -> tuple[WeightedRules, WeightingConfig]:
    """Return the weighted rules of a model, and the settings they were weighted with."""
    settings, relations = read_json(files, SETTINGS, WeightedSettings), read_relations(files)
    arrays = read_arrays(files, WEIGHTED)
    with as_error(lambda why: damaged(files.folder / WEIGHTED, why)):
        if "constants" in arrays:  # models that were written before rules could name the end of their body
            arrays.setdefault("ends", np.full_like(arrays["constants"], -1))
        _require_fitting(arrays, relations, settings)
        unrefined = tuple(map(relations.operator_id, settings.unrefined))
        queries = _unpack(arrays, settings)
    reflexive = arrays["reflexive"]
    weighted = WeightedRules(relations, reflexive, queries, settings.excludes_linked, unrefined)
    return weighted, settings.weighting


#: The type of each array and its number of dimensions; all but `reflexive` have a row for each rule.
ARRAYS = {
    "queries": (np.int64, 1),
    "kinds": (np.int64, 1),
    "operators": (np.int64, 2),
    "constants": (np.int64, 1),
    "ends": (np.int64, 1),
    "weights": (np.float64, 2),
    "confidences": (np.float64, 1),
    "reflexive": (np.bool_, 1),
}


def _require_fitting(arrays: Mapping[str, Any], relations: Relations, settings: WeightedSettings) -> None:
    """Raise ValueError unless the arrays have their types, and all numbers in them stand for something."""
    if {name: (each.dtype, each.ndim) for name, each in arrays.items()} != {
        name: (np.dtype(kind), num) for name, (kind, num) in ARRAYS.items()
    }:
        raise ValueError("other arrays than those of weighted rules")
    if len({len(each) for name, each in arrays.items() if name != "reflexive"}) != 1:
        raise ValueError("arrays of unequal lengths")
    if len(arrays["reflexive"]) != len(relations):
        raise ValueError("other relations than those beside it")
    if unknown := [kind for kind in settings.kinds if kind not in KINDS]:
        raise ValueError(f"rules of an unknown kind {unknown[0]!r}")
    _require_range(arrays["queries"], 0, relations.num_operators)
    _require_range(arrays["kinds"], 0, len(settings.kinds))
    _require_range(arrays["operators"], -1, relations.num_operators)
    for name in ("constants", "ends"):
        _require_range(arrays[name], -1, len(settings.constants))
    if arrays["weights"].shape[1] != 3 or not all(
        np.isfinite(arrays[name]).all() for name in ("weights", "confidences")
    ):
        raise ValueError("a rule has three weights and a confidence, all finite")


def _require_range(values: Any, lowest: int, end: int) -> None:
    if values.min(initial=lowest) < lowest or values.max(initial=-1) >= end:
        raise ValueError(f"a number outside {lowest} to {end - 1}")


def _unpack(arrays: Mapping[str, Any], settings: WeightedSettings) -> dict[int, WeightedQuery]:
    kinds, entities = settings.kinds, (*settings.constants, None)  # the last one is that of -1
    columns = (arrays[name] for name in ("kinds", "operators", "constants", "ends"))
    rules = [
        make_candidate(kinds[kind], tuple(int(k) for k in row if k >= 0), entities[constant], entities[end])
        for kind, row, constant, end in zip(*columns, strict=True)
    ]
    queries = {}
    for query in np.unique(arrays["queries"]).tolist():
        rows = np.flatnonzero(arrays["queries"] == query)
        weights, confidences = arrays["weights"][rows], arrays["confidences"][rows]
        own = tuple(rules[row] for row in rows)
        require_one_of_a_kind(own)
        queries[query] = WeightedQuery(own, weights, confidences)
    return queries

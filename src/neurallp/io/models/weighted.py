"""Weighted rules as a file of arrays: every weight to the last digit.

One row for each rule, a clue's body being the operator it looks at. The answers that unary rules mention
are named beside the settings. In version 1 all rules are chains, and `prior` says whether there is one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from ...config import KINDS, WeightingConfig
from ...errors import ConfigError
from ...graph.arrays import Body
from ...graph.vocabulary import Relations
from ...rules.rule import Rule
from ...weighting.features import Clue
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
    """Return whether a folder holds weighted rules, be it some that have lost a file."""
    return any((Path(folder) / name).is_file() for name in (WEIGHTED, SETTINGS))


def _dump(weighted: WeightedRules) -> bytes:
    """Return the content of the file."""
    rows = [(query, *row) for query, each in weighted.queries.items() for row in _rows(each)]
    names = _answers(weighted)
    padded = np.full((len(rows), weighted.max_length), -1)
    for place, (_, _, body, _) in zip(padded, rows, strict=True):
        place[: len(body)] = body
    priors = np.zeros(weighted.relations.num_operators)
    for query, each in weighted.queries.items():
        priors[query] = each.prior
    every = weighted.queries.values()
    arrays = {
        "queries": np.array([query for query, *_ in rows], dtype=np.int64),
        "kinds": np.array([KINDS.index(kind) for _, kind, *_ in rows], dtype=np.int64),
        "bodies": padded,
        "answers": np.array([names.get(answer, -1) for *_, answer in rows], dtype=np.int64),
        "weights": np.concatenate([np.zeros((0, 3)), *(each.weights for each in every)]),
        "confidences": np.concatenate([np.zeros(0), *(each.confidences for each in every)]),
        "priors": priors,
        "reflexive": weighted.reflexive,
    }
    return dump_arrays(arrays)


def _rows(weighted: WeightedQuery) -> list[tuple[str, Body, str]]:
    """Return the kind, body and answer of each rule of a query."""
    chains: list[tuple[str, Body, str]] = [("chain", body, "") for body in weighted.bodies]
    return [*chains, *((clue.kind, (clue.operator,), clue.answer) for clue in weighted.clues)]


def _answers(weighted: WeightedRules) -> dict[str, int]:
    """Return the number of each entity that a rule mentions, in order of appearance."""
    clues = (clue for each in weighted.queries.values() for clue in each.clues if clue.kind == "unary")
    return {name: number for number, name in enumerate(dict.fromkeys(clue.answer for clue in clues))}


def read_weighted(folder: AnyPath) -> tuple[WeightedRules, WeightingConfig]:
    """Return the weighted rules of a folder, and how they were weighted."""
    path = Path(folder) / WEIGHTED
    arrays = read_arrays(path)
    settings = read_json(Path(folder) / SETTINGS, dict)
    require_version(folder, settings)
    try:
        config = _config(settings["weighting"])
        weighted = _unpack(arrays, read_relations(folder), settings.get("answers", ()))
    except (KeyError, IndexError, ValueError, TypeError, ConfigError) as error:
        raise damaged(path, error) from error
    require_together(Path(folder) / SETTINGS)
    return weighted, config


def _config(settings: Mapping[str, Any]) -> WeightingConfig:
    chosen: dict[str, Any] = {**settings, "other_lengths": settings.get("other_lengths", ())}
    if "prior" in chosen:
        chosen["kinds"] = ("chain", "prior") if chosen.pop("prior") else ("chain",)
    lists = ("penalties", "kinds", "other_lengths")
    return WeightingConfig(**chosen | {name: tuple(chosen[name]) for name in lists})


def _unpack(arrays: Mapping[str, Any], relations: Relations, answers: Sequence[str]) -> WeightedRules:
    priors, reflexive = arrays["priors"], arrays["reflexive"]
    if (len(priors), len(reflexive)) != (relations.num_operators, len(relations)):
        raise ValueError("other relations than those beside it")
    if arrays["bodies"].max(initial=-1) >= relations.num_operators or arrays["weights"].shape[1:] != (3,):
        raise ValueError("other bodies or weights than rules have")
    none = np.zeros(len(arrays["queries"]), dtype=np.int64)
    arrays = {"kinds": none, "answers": none - 1, **arrays}
    found = np.unique(np.concatenate([arrays["queries"], np.flatnonzero(priors)])).tolist()
    queries = {query: _unpack_query(arrays, query, answers) for query in found}
    return WeightedRules(relations, reflexive, queries)


def _unpack_query(arrays: Mapping[str, Any], query: int, answers: Sequence[str]) -> WeightedQuery:
    rows = np.flatnonzero(arrays["queries"] == query)
    weights, confidences, kinds, bodies, numbers = (
        arrays[name][rows].copy() for name in ("weights", "confidences", "kinds", "bodies", "answers")
    )
    chains = tuple(tuple(int(k) for k in body if k >= 0) for body in bodies[kinds == 0])
    clues = tuple(
        Clue(KINDS[kind], int(body[0]), answers[number] if number >= 0 else "")
        for kind, body, number in zip(kinds, bodies, numbers, strict=True)
        if kind > 0
    )
    return WeightedQuery(chains, weights, confidences, float(arrays["priors"][query]), clues)


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
    """Remove weighted rules, where there are any: they would answer in the place of a model not theirs."""
    for name in (WEIGHTED, SETTINGS):
        (Path(folder) / name).unlink(missing_ok=True)


def describe_weighted(
    weighted: WeightedRules, config: WeightingConfig, beside: Mapping[str, str | bytes]
) -> dict[str, str | bytes]:
    """Return the files of weighted rules; the settings tell what the model `beside` them is known by."""
    rows = {WEIGHTED: _dump(weighted)}
    shared = {name: beside[name] for name in (RELATIONS, WEIGHTS) if name in beside}
    settings = {
        "format_version": FORMAT_VERSION,
        "weighting": asdict(config),
        "answers": list(_answers(weighted)),
        "checksums": checksums(rows | shared),
    }
    return {SETTINGS: to_json(settings), **rows}

"""The kinds of rules, by name. A new kind is one module with a `KIND`, and its line in `config.KINDS`."""

from collections.abc import Iterable, Iterator, Sequence
from importlib import import_module
from typing import NamedTuple

import numpy as np

from ...config import KINDS
from ...errors import ConfigError
from ...graph.arrays import Floats
from ...graph.vocabulary import INVERSE_MARK, Relations
from ...rules.rule import Rule
from ..features import Plan
from ..graph_index import GraphIndex
from .base import Candidate, DenseKind, Kind


def get_kind(name: str) -> Kind:
    """Return the kind of a name."""
    kind: Kind = import_module(KINDS[name]).KIND
    return kind


def get_kinds(names: Iterable[str]) -> list[Kind]:
    """Return the kinds of some names, in the order of the registry."""
    wanted = set(names)
    return [get_kind(name) for name in KINDS if name in wanted]


def is_dense(candidate: Candidate) -> bool:
    """Return whether a rule's feature is dense: one value for every entity, whatever the source."""
    return isinstance(get_kind(candidate.kind), DenseKind)


class DenseFeature(NamedTuple):
    """The dense term of a query's score: the number of its rule (-1: none), and a value for each entity."""

    number: int
    values: Floats  # (entity,)
    masked_values: Floats  # (entity,) of an answer whose own fact is masked


class CompiledRules(NamedTuple):
    """The rules of a query, ready to compute features with."""

    plans: tuple[Plan, ...]
    dense: DenseFeature


def compile_rules(index: GraphIndex, query: int, rules: Sequence[Candidate]) -> CompiledRules:
    """Return the rules of a query grouped by kind; a rule's number is its place in `rules`."""
    dense = DenseFeature(-1, np.zeros(index.num_entities), np.zeros(index.num_entities))
    plans = []
    for kind in get_kinds(rule.kind for rule in rules):
        own = {number: rule for number, rule in enumerate(rules) if rule.kind == kind.name}
        if isinstance(kind, DenseKind):
            if dense.number >= 0 or len(own) > 1:
                raise ConfigError(
                    "A query can have one rule with a dense feature. Leave out a kind of rules."
                )
            dense = DenseFeature(min(own), kind.values(index, query), kind.masked_values(index, query))
        else:
            plans.append(Plan(kind, kind.compile(index, query, own), tuple(own)))
    return CompiledRules(tuple(plans), dense)


def as_candidates(rules: Iterable[Rule], relations: Relations) -> Iterator[tuple[int, Candidate]]:
    """Yield the query and the candidate of each rule whose relations are known."""
    for rule in rules:
        if all(name.removeprefix(INVERSE_MARK) in relations for name in (rule.target, *rule.body)):
            candidate = get_kind(rule.kind).candidate(rule, relations)
            if candidate is not None:
                yield relations.operator_id(rule.target), candidate

"""The kinds of rules, by name. A new kind is one module with a `KIND`, and its line in `config.registry`."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import NamedTuple

import numpy as np

from ...config import KINDS
from ...errors import ConfigError
from ...graph.arrays import Floats
from ...graph.vocabulary import Relations, relation_of
from ...rules.rule import Rule
from ..features import Features, Plan, ask
from ..features_kernels import Entries
from ..graph_index import GraphIndex, MaskedGraph
from .base import Candidate, DenseKind, Kind, RuleFeatures


def get_kind(name: str) -> Kind:
    """Return the kind of a name."""
    kind: Kind = import_module(KINDS[name].module).KIND
    return kind


def get_kinds(names: Iterable[str]) -> list[Kind]:
    """Return the kinds of some names, in the order of the registry."""
    wanted = set(names)
    return [get_kind(name) for name in KINDS if name in wanted]


def is_dense(candidate: Candidate) -> bool:
    """Return whether a rule's feature is dense: one value for every entity, whatever the source."""
    return KINDS[candidate.kind].ignores_source


@dataclass(frozen=True)
class DenseFeature:
    """The dense term of a query's score: the number of its rule (-1: none), and a value for each entity."""

    index: GraphIndex
    query: int
    number: int = -1
    kind: DenseKind | None = None

    @property
    def values(self) -> Floats:
        """The feature of each entity; not kept, as it takes gigabytes for the queries of a large graph."""
        if self.kind is None:
            return np.zeros(self.index.num_entities)
        return self.kind.values(self.index, self.query)

    @cached_property
    def masked_values(self) -> Floats:
        """The feature of each entity as an answer whose own fact is masked."""
        if self.kind is None:
            return np.zeros(self.index.num_entities)
        return self.kind.masked_values(self.index, self.query)


class CompiledRules(NamedTuple):
    """The rules of a query, ready to compute features with."""

    plans: tuple[Plan, ...]
    dense: DenseFeature


def compile_rules(index: GraphIndex, query: int, rules: Sequence[Candidate]) -> CompiledRules:
    """Return the rules of a query grouped by kind; a rule's number is its place in `rules`."""
    dense = DenseFeature(index, query)
    plans = []
    for kind in get_kinds(rule.kind for rule in rules):
        own = {number: rule for number, rule in enumerate(rules) if rule.kind == kind.name}
        if isinstance(kind, DenseKind):
            if dense.number >= 0 or len(own) > 1:
                raise ConfigError(
                    "A query can have one rule with a dense feature. Leave out a kind of rules."
                )
            dense = DenseFeature(index, query, min(own), kind)
        else:
            plans.append(Plan(kind, kind.compile(index, query, own), tuple(own)))
    return CompiledRules(tuple(plans), dense)


class NumpyFeatures(Features):
    """The features of one question, with arrays of their own."""

    def add_scores(self, question: int, weights: Floats, row: Floats) -> None:
        """Add weights times features to the scores of entities."""
        entities, rules, forward, backward = self.rows(question)
        own = weights[rules]
        row += np.bincount(entities, own[:, 0] + own[:, 1] * forward + own[:, 2] * backward, len(row))


def can_use_numpy(rules: Sequence[Candidate]) -> bool:
    """Return whether every kind among the rules defines its features in numpy."""
    return all(get_kind(name).has_python_features for name in {rule.kind for rule in rules})


def gather_in_numpy(index: GraphIndex, query: int, rules: Sequence[Candidate], source: int) -> NumpyFeatures:
    """Return the features of the rules of a query for one source; a rule's number is its place in `rules`."""
    graph = MaskedGraph(index, ask(query, np.array([source])), 0)
    found = [
        (number, get_kind(rule.kind).features(graph, rule))
        for number, rule in enumerate(rules)
        if not is_dense(rule)
    ]
    return _concatenate([(number, features) for number, features in found if len(features.entities)])


def _concatenate(found: Sequence[tuple[int, RuleFeatures]]) -> NumpyFeatures:
    columns = zip(*(features for _, features in found), strict=True)
    entities, forward, backward = map(np.concatenate, columns) if found else (np.zeros(0, np.int64),) * 3
    numbers = np.array([number for number, _ in found], dtype=np.int32)
    bounds = np.cumsum([0, *(len(features.entities) for _, features in found)])
    entries = Entries(
        entities.astype(np.uint32), forward.astype(np.float64), backward.astype(np.float64), numbers, bounds
    )
    return NumpyFeatures(entries, np.array([len(found)]))


def as_candidates(rules: Iterable[Rule], relations: Relations) -> Iterator[tuple[int, Candidate]]:
    """Yield the query and the candidate of each rule whose relations are known."""
    for rule in rules:
        if all(relation_of(name) in relations for name in (rule.target, *rule.body)):
            candidate = get_kind(rule.kind).candidate(rule, relations)
            if candidate is not None:
                yield relations.operator_id(rule.target), candidate


def rules_as_candidates(rules: Iterable[Rule], relations: Relations) -> dict[int, list[Candidate]]:
    """Return rules as candidates, by query; rules with other relations are left out.

    A query without rules gets those that the rules of its inverse become when they are inverted. So does one
    without rules of some kind, unless they have weights: then it was decided to do without.
    """
    found: defaultdict[int, list[Candidate]] = defaultdict(list)
    turned: list[tuple[int, Candidate | None, bool]] = []
    for rule in rules:
        for query, candidate in as_candidates([rule], relations):
            found[query].append(candidate)
            inverted = get_kind(candidate.kind).invert(candidate, relations)
            turned.append((relations.inverse(query), inverted, rule.weight is None))
    given = {query: {each.kind for each in own} for query, own in found.items()}
    for query, inverted, is_undecided in turned:
        kinds = given.get(query, set())
        if inverted is not None and inverted.kind not in kinds and (is_undecided or not kinds):
            found[query].append(inverted)
    return dict(found)

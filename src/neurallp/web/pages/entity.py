"""One entity: its facts, what is likely missing, and what is doubtful."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ...graph.arrays import Ids
from ...reasoning.audit import probabilities_if_unknown
from ...reasoning.reasoner import Reasoner
from ..changes import UNCHANGED, Changes
from ..explorer import Explorer
from .parameters import Fact, Name, PageNumber, Search, Slice, World, matches, slice_of

ROWS = 30

#: Queries that are asked about an entity to find what is missing.
MAX_QUERIES = 40
MAX_MISSING = 8
MIN_PROBABILITY = 0.2

#: Facts of an entity that are judged, those that are shown, and below which probability they are doubtful.
MAX_AUDITED = 100
MAX_DOUBTFUL = 5
MAX_PROBABILITY = 0.5


@dataclass(frozen=True)
class FactRow:
    """A fact of an entity: the relation, its direction, and the entity at the other end."""

    head: str
    relation: str
    tail: str
    other: str
    is_head: bool


@dataclass(frozen=True)
class JudgedFact:
    """A fact that is likely and not known, or known and unlikely."""

    fact: Fact
    probability: float | None


@dataclass(frozen=True)
class EntityPage:
    """An entity and one page of its facts."""

    name: str
    num_out: int
    num_in: int
    degrees: dict[str, int]
    search: str
    facts: Slice[FactRow]
    missing: list[JudgedFact]
    doubtful: list[JudgedFact]
    changes: Changes

    @property
    def rows(self) -> list[FactRow]:
        """The facts of the table."""
        return self.facts.rows


def entity(
    explorer: Explorer, name: Name, search: Search = "", page: PageNumber = 1, changes: World = UNCHANGED
) -> EntityPage:
    """One entity with its facts, and what is likely missing."""
    reasoner = explorer.world(changes)
    operators, relations, names = reasoner.operators, reasoner.relations, reasoner.kb.entities
    number = names.id(name)
    edges = operators.edges_out_of(np.array([number]))
    kinds, counts = np.unique(operators.operators_at(edges), return_counts=True)
    degrees = {relations.operator_name(int(k)): int(n) for k, n in zip(kinds, counts, strict=True)}
    num_out = sum(n for operator, n in degrees.items() if not operator.startswith("~"))
    found = [row for row in _facts(reasoner, edges, name) if matches(search, row.relation, row.other)]
    missing = explorer.keep(("missing", name, changes), lambda: _missing(explorer, reasoner, number, kinds))
    doubtful = explorer.keep(("doubtful", name, changes), lambda: _doubtful(explorer, reasoner, name))
    sliced = slice_of(found, page, ROWS)
    return EntityPage(
        name, num_out, len(edges) - num_out, degrees, search, sliced, missing, doubtful, changes
    )


def _facts(reasoner: Reasoner, edges: Ids, name: str) -> Iterator[FactRow]:
    operators, relations, names = reasoner.operators, reasoner.relations, reasoner.kb.entities
    kinds, targets = operators.operators_at(edges).tolist(), operators.targets_at(edges).tolist()
    for operator, target in zip(kinds, targets, strict=True):
        other = names[target]
        is_head = operator < len(relations)
        ends = (name, other) if is_head else (other, name)
        yield FactRow(ends[0], relations[operator % len(relations)], ends[1], other, is_head)


def _doubtful(explorer: Explorer, reasoner: Reasoner, name: str) -> list[JudgedFact]:
    """Return the facts of an entity that are less likely than not, judged as if each were not known."""
    if reasoner.calibration is None:
        return []
    sample = MAX_AUDITED if explorer.has_weights else MAX_AUDITED // 10
    facts = _own_facts(reasoner, name)[:sample]
    judged = zip(facts.tolist(), probabilities_if_unknown(reasoner, facts).tolist(), strict=True)
    doubtful = sorted((each for each in judged if each[1] < MAX_PROBABILITY), key=lambda each: each[1])
    return [JudgedFact(_name(reasoner, *fact), chance) for fact, chance in doubtful[:MAX_DOUBTFUL]]


def _own_facts(reasoner: Reasoner, name: str) -> Ids:
    """Return the facts about an entity by id; those at both ends of which it stands are one each."""
    operators, number = reasoner.operators, reasoner.kb.entities.id(name)
    edges = operators.edges_out_of(np.array([number]))
    kinds, others = operators.operators_at(edges), operators.targets_at(edges)
    out = kinds < len(reasoner.relations)
    own = np.full(len(edges), number)
    rows = np.stack([np.where(out, own, others), kinds % len(reasoner.relations), np.where(out, others, own)])
    return np.unique(rows.T, axis=0)


def _name(reasoner: Reasoner, head: int, relation: int, tail: int) -> Fact:
    entities = reasoner.kb.entities
    return Fact(entities[head], reasoner.relations[relation], entities[tail])


def _missing(explorer: Explorer, reasoner: Reasoner, number: int, own: Ids) -> list[JudgedFact]:
    """Return the likeliest new facts of an entity; queries that it has facts of are asked first."""
    relations, name = reasoner.relations, reasoner.kb.entities[number]
    largest = np.argsort(-np.tile(explorer.relation_sizes, 2), kind="stable").tolist()
    found: list[tuple[float, float, JudgedFact]] = []
    for query in list(dict.fromkeys([*own.tolist(), *largest]))[:MAX_QUERIES]:
        for answer in reasoner.ask(head=name, relation=relations.operator_name(query), k=5):
            if answer.is_known or (answer.probability or 1.0) < MIN_PROBABILITY:
                continue
            ends = (answer.entity, name) if query >= len(relations) else (name, answer.entity)
            fact = JudgedFact(Fact(ends[0], relations[query % len(relations)], ends[1]), answer.probability)
            found.append((-(answer.probability or 0.0), -answer.score, fact))
    return [fact for *_, fact in sorted(found, key=lambda each: each[:2])][:MAX_MISSING]

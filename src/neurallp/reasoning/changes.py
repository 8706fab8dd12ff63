"""Changed graphs: facts added and removed, for questions of the form "what if"."""

from collections.abc import Iterable

import numpy as np

from ..errors import DataError, brief
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase, Triple
from ..graph.operators import Operators
from ..rules.rule import atom


def change_facts(
    kb: KnowledgeBase, operators: Operators, added: Iterable[Triple], removed: Iterable[Triple]
) -> tuple[KnowledgeBase, Operators]:
    """Return a knowledge base and its operators with some facts added and some removed.

    New entities are numbered after the known ones; an entity that loses its last fact stays an entity. Raises
    where a fact to add is known already, where one to remove is not, and where a relation is not known.
    """
    given, gone = (dict.fromkeys(_canonical(kb, fact) for fact in facts) for facts in (added, removed))
    entities = kb.entities.extended(name for head, _, tail in given for name in (head, tail))
    grown = KnowledgeBase(entities, kb.relations, kb.facts)
    new, old = _number(grown, given), _number(kb, gone)
    _require(kb, operators, old)
    _require_new(grown, operators, new)
    unit = np.array([len(kb.relations) * len(kb.entities), len(kb.entities), 1])
    kept = ~np.isin(kb.facts @ unit, old @ unit) if len(old) else slice(None)
    facts = np.concatenate([kb.facts[kept], new])
    changed = operators.changed(new, old, len(entities))
    return KnowledgeBase(entities, kb.relations, facts), changed


def _canonical(kb: KnowledgeBase, fact: Triple) -> Triple:
    """Return a fact by the names of the knowledge base; those of new entities stay."""
    head, relation, tail = fact
    relation = kb.relations[kb.relations.id(relation)]
    return kb.entities.canonical(head), relation, kb.entities.canonical_object(tail, relation)


def _number(kb: KnowledgeBase, triples: Iterable[Triple]) -> Ids:
    entity, relation = kb.entities.id, kb.relations.id
    rows = [(entity(head), relation(name), entity(tail)) for head, name, tail in triples]
    return np.array(rows, dtype=np.int64).reshape(-1, 3)


def _require(kb: KnowledgeBase, operators: Operators, removed: Ids) -> None:
    missing = removed[operators.edges_of(removed)[:, 0] < 0]
    if len(missing):
        raise DataError(f"{_fact(kb, missing[0])} cannot be removed: it is no fact of the knowledge base.")


def _require_new(kb: KnowledgeBase, operators: Operators, added: Ids) -> None:
    inside = added[(added[:, [0, 2]] < operators.num_entities).all(axis=1)]
    known = inside[operators.edges_of(inside)[:, 0] >= 0]
    if len(known):
        raise DataError(f"{_fact(kb, known[0])} cannot be added: it is a fact already.")


def _fact(kb: KnowledgeBase, row: Ids) -> str:
    head, relation, tail = row.tolist()
    return brief(atom(kb.relations[relation], kb.entities[head], kb.entities[tail]))

"""A part of a large graph to learn rules from, in which neighbourhoods are whole.

Facts drawn one by one would leave hardly any path of several steps. So entities are drawn, and with them all
that they reach in a few steps; every fact between these entities is kept. Hubs are reached but not followed:
from a few of them one reaches everything.
"""

import numpy as np

from ..errors import ConfigError
from ..graph.arrays import Flags, Ids
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.operators import Operators

#: Steps from a drawn entity to those that come with it.
NUM_STEPS = 2

#: Edges of an entity from which on it is a hub.
HUB = 100

#: Entities whose edges are looked at together.
ENTITIES_AT_ONCE = 100_000


def sample(data: KnowledgeBase | Split, num_facts: int, seed: int = 0) -> KnowledgeBase | Split:
    """Return about `num_facts` known facts whose neighbourhoods are whole, and the other parts' triples."""
    known = data.known if isinstance(data, Split) else data
    operators = Operators.of(known)
    if num_facts >= operators.num_edges // 2:
        return data
    members = draw_entities(operators, num_facts, seed)
    kept = np.flatnonzero(members)
    names = known.entities.with_names(known.entities[i] for i in kept.tolist())
    numbers = np.cumsum(members) - 1

    def restrict(triples: Ids) -> Ids:
        own = triples[members[triples[:, 0]] & members[triples[:, 2]]]
        return np.column_stack([numbers[own[:, 0]], own[:, 1], numbers[own[:, 2]]])

    if isinstance(data, Split):
        facts, train, valid, test = map(restrict, (data.facts, data.train, data.valid, data.test))
        return Split(names, data.relations, facts, train, valid, test, data.num_duplicates)
    return KnowledgeBase(names, data.relations, restrict(_facts_between(operators, kept, members)))


def draw_entities(operators: Operators, num_facts: int, seed: int = 0) -> Flags:
    """Return which entities belong to a sample: drawn ones and what they reach, until there are enough."""
    if num_facts < 1:
        raise ConfigError(f"A sample must have at least 1 fact, got {num_facts}.")
    order = np.random.default_rng(seed).permutation(operators.num_entities)
    members, num = np.zeros(operators.num_entities, dtype=np.bool_), 1
    taken = 0
    while taken < len(order) and len(_facts_between(operators, np.flatnonzero(members), members)) < num_facts:
        _add(operators, order[taken:num], members)
        taken, num = num, 2 * num
    return members


def _add(operators: Operators, entities: Ids, members: Flags) -> None:
    """Add entities and what they reach in a few steps."""
    members[entities] = True
    for _ in range(NUM_STEPS):
        followed = entities[operators.degrees(entities) <= HUB]
        entities = np.unique(operators.targets_at(operators.edges_out_of(followed)))
        members[entities] = True


def _facts_between(operators: Operators, entities: Ids, members: Flags) -> Ids:
    """Return the facts whose ends are both members; `entities` are the members."""
    found = [np.zeros((0, 3), np.int64)]
    for start in range(0, len(entities), ENTITIES_AT_ONCE):
        edges = operators.edges_out_of(entities[start : start + ENTITIES_AT_ONCE])
        targets, along = operators.targets_at(edges), operators.operators_at(edges)
        inside = members[targets] & (along < operators.num_relations)
        found.append(np.column_stack([operators.sources_at(edges[inside]), along[inside], targets[inside]]))
    return np.concatenate(found)

"""Knowledge bases as objects of other libraries: networkx graphs and PyKEEN's triples factories."""

from typing import Any

import numpy as np

from ...errors import DataError, import_extra
from ...graph.arrays import distinct
from ...graph.knowledge_base import KnowledgeBase
from ...graph.vocabulary import Relations, Vocabulary


def to_networkx(kb: KnowledgeBase) -> Any:
    """Return a networkx.MultiDiGraph whose edges lead from head to tail, with the relation as key."""
    graph = import_extra("networkx", "formats").MultiDiGraph()
    graph.add_nodes_from(kb.entities)
    graph.add_edges_from((head, tail, relation) for head, relation, tail in kb.named_facts())
    return graph


def from_networkx(graph: Any, relation: str = "relation") -> KnowledgeBase:
    """Return the knowledge base of a directed graph.

    An edge's attribute `relation` names its relation; where there is none, the key of the edge does.
    """
    if not graph.is_directed():
        raise DataError("A fact has a direction, but the graph has none. Give a DiGraph or a MultiDiGraph.")
    edges = graph.edges(keys=True, data=True) if graph.is_multigraph() else _with_key(graph)
    named = [(head, data.get(relation, key), tail) for head, tail, key, data in edges]
    if any(name is None or name == 0 for _, name, _ in named):
        raise DataError(f"Some edge has no attribute {relation!r}. Set it, or say which names the relation.")
    return KnowledgeBase.from_triples((str(head), str(name), str(tail)) for head, name, tail in named)


def _with_key(graph: Any) -> Any:
    return ((head, tail, None, data) for head, tail, data in graph.edges(data=True))


def to_pykeen(kb: KnowledgeBase) -> Any:
    """Return a pykeen.triples.TriplesFactory with the same ids."""
    import torch

    factory = import_extra("pykeen.triples", "baselines").TriplesFactory
    return factory(
        mapped_triples=torch.from_numpy(kb.facts),
        entity_to_id={name: i for i, name in enumerate(kb.entities)},
        relation_to_id={name: i for i, name in enumerate(kb.relations)},
    )


def from_pykeen(factory: Any) -> KnowledgeBase:
    """Return the knowledge base of a TriplesFactory, with its ids; the inverses PyKEEN adds are left out."""
    triples = np.asarray(factory.mapped_triples, dtype=np.int64)
    facts = distinct(triples)
    entities, relations = (sorted(ids, key=ids.get) for ids in (factory.entity_to_id, factory.relation_to_id))
    return KnowledgeBase(Vocabulary(entities), Relations(relations), facts, len(triples) - len(facts))

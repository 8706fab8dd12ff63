import pytest

from neurallp.errors import DataError
from neurallp.formats.graphs import from_networkx, from_pykeen, to_networkx, to_pykeen
from neurallp.knowledge import KnowledgeBase

TRIPLES = [
    ("anna", "mother", "eve"),
    ("anna", "aunt", "eve"),
    ("eve", "uncle", "anna"),
    ("eve", "uncle", "eve"),
]
KB = KnowledgeBase.from_triples(TRIPLES)


@pytest.fixture
def networkx():
    return pytest.importorskip(
        "networkx", reason="networkx is not installed: pip install 'neurallp[formats]'"
    )


def test_a_knowledge_base_comes_back_from_networkx(networkx):
    graph = to_networkx(KB)
    assert graph.number_of_edges() == 4
    assert set(from_networkx(graph).named_facts()) == set(TRIPLES)


def test_an_attribute_names_the_relation_of_an_edge(networkx):
    graph = networkx.DiGraph()
    graph.add_edge("anna", "eve", label="mother")
    graph.add_edge(1, "eve", label="uncle")
    assert set(from_networkx(graph, "label").named_facts()) == {
        ("anna", "mother", "eve"),
        ("1", "uncle", "eve"),
    }


def test_an_edge_without_relation_is_refused(networkx):
    for kind in (networkx.DiGraph, networkx.MultiDiGraph):
        graph = kind([("anna", "eve")])
        with pytest.raises(DataError, match="no attribute 'relation'"):
            from_networkx(graph)


def test_a_graph_without_direction_is_refused(networkx):
    with pytest.raises(DataError, match="has a direction"):
        from_networkx(networkx.Graph([("anna", "eve")]))


def test_a_knowledge_base_comes_back_from_pykeen_with_its_ids():
    pytest.importorskip("pykeen", reason="PyKEEN is not installed: pip install pykeen")
    factory = to_pykeen(KB)
    assert factory.num_triples == 4
    found = from_pykeen(factory)
    assert list(found.named_facts()) == TRIPLES
    assert (found.entities, found.relations) == (KB.entities, KB.relations)

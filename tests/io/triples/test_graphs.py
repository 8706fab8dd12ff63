import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurallp.errors import DataError
from neurallp.graph.knowledge_base import KnowledgeBase
from neurallp.io.triples.graphs import from_networkx, from_pykeen, to_networkx, to_pykeen

TRIPLES = [
    ("anna", "mother", "eve"),
    ("anna", "aunt", "eve"),
    ("eve", "uncle", "anna"),
    ("eve", "uncle", "eve"),
]
KB = KnowledgeBase.from_triples(TRIPLES)

names = st.text(min_size=1).filter(lambda name: not name.startswith("~"))


@pytest.fixture
def networkx():
    return pytest.importorskip(
        "networkx", reason="networkx is not installed: pip install 'neurallp[formats]'"
    )


def test_a_knowledge_base_comes_back_from_networkx(networkx):
    graph = to_networkx(KB)
    assert graph.number_of_edges() == 4
    assert set(from_networkx(graph).named_facts()) == set(TRIPLES)


@given(rows=st.lists(st.tuples(names, names, names), min_size=1, max_size=4))
@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
def test_any_name_survives_networkx(networkx, rows):
    graph = to_networkx(KnowledgeBase.from_triples(rows))
    assert set(from_networkx(graph).named_facts()) == set(rows)


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

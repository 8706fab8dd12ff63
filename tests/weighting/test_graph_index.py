"""The index of facts, the graph that masking leaves to a question, and random walks on it."""

import numpy as np
import oracle
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rule_features import masked_graph, questions_of
from samples import edges, knowledge_bases

from neurallp import KnowledgeBase
from neurallp.errors import UnknownNameError
from neurallp.weighting.features import ask
from neurallp.weighting.graph_index import GraphIndex, MaskedGraph

few = settings(max_examples=40, deadline=None)

#: anna and bob work for acme; anna also owns it; bob and carl live in rome.
TOWN = [
    ("anna", "works for", "acme"),
    ("bob", "works for", "acme"),
    ("anna", "owns", "acme"),
    ("bob", "lives in", "rome"),
    ("carl", "lives in", "rome"),
]


@pytest.fixture
def index():
    return GraphIndex.of(KnowledgeBase.from_triples(TOWN))


def graph_of(index, query, source, answer=None, *, mask_pair=False):
    """Return the graph of one question, by names."""
    find = index.kb.entities.id
    answers = None if answer is None else np.array([find(answer)])
    batch = ask(index.kb.relations.operator_id(query), np.array([find(source)]), answers, mask_pair)
    return MaskedGraph(index, batch, 0)


def targets(index, graph, entity, operator):
    found = graph.targets(index.kb.entities.id(entity), index.kb.relations.operator_id(operator))
    return {index.kb.entities[each] for each in found.tolist()}


def named_edges(index, graph, operator):
    ends = graph.edges(index.kb.relations.operator_id(operator))
    names = index.kb.entities.names
    return {(names[start], names[end]) for start, end in zip(*(each.tolist() for each in ends), strict=True)}


# The index


@few
@given(kb=knowledge_bases())
def test_segments_hold_every_edge_with_its_number_of_arrivals(kb):
    segments = GraphIndex.of(kb).segments
    found = [
        (source, int(segments.operators[segment]), int(segments.targets[edge]), int(segments.fan_in[edge]))
        for source in range(len(kb.entities))
        for segment in range(segments.offsets[source], segments.offsets[source + 1])
        for edge in range(segments.starts[segment], segments.starts[segment + 1])
    ]
    every = edges(kb)
    assert found == sorted((*row, sum(each[1:] == row[1:] for each in every)) for row in every)


@few
@given(kb=knowledge_bases())
def test_segments_are_also_found_by_operator(kb):
    index = GraphIndex.of(kb)
    segments = index.segments
    for k in range(index.num_operators):
        own = slice(segments.operator_offsets[k], segments.operator_offsets[k + 1])
        sources = segments.sources[own].tolist()
        assert sources == sorted({source for source, by, _ in edges(kb) if by == k})
        for source, segment in zip(sources, segments.own[own].tolist(), strict=True):
            assert segments.operators[segment] == k
            assert segments.offsets[source] <= segment < segments.offsets[source + 1]


@few
@given(kb=knowledge_bases())
def test_the_targets_of_an_operator_are_listed_once_and_ascend(kb):
    index = GraphIndex.of(kb)
    for k in range(index.num_operators):
        assert index.targets_of(k).tolist() == sorted({end for _, by, end in edges(kb) if by == k})
        assert index.targets_of(k) is index.targets_of(k)


def test_the_names_of_a_body_stand_for_operators(index):
    assert index.body_ids(("works for", "~owns", "lives in")) == (0, 4, 2)
    assert index.body_ids(()) == ()
    with pytest.raises(UnknownNameError, match="Did you mean 'lives in'"):
        index.body_ids(("livs in",))


# Masking


def test_without_an_answer_nothing_is_masked(index):
    graph = graph_of(index, "works for", "anna")
    assert targets(index, graph, "anna", "works for") == {"acme"}
    assert named_edges(index, graph, "works for") == {("anna", "acme"), ("bob", "acme")}


def test_the_asked_fact_is_masked_in_both_directions_and_no_other(index):
    graph = graph_of(index, "works for", "anna", "acme")
    assert targets(index, graph, "anna", "works for") == set()
    assert targets(index, graph, "acme", "~works for") == {"bob"}
    assert targets(index, graph, "anna", "owns") == {"acme"}
    assert named_edges(index, graph, "~works for") == {("acme", "bob")}
    assert named_edges(index, graph, "owns") == {("anna", "acme")}


def test_all_facts_between_a_masked_pair_are_gone(index):
    graph = graph_of(index, "works for", "anna", "acme", mask_pair=True)
    assert targets(index, graph, "anna", "owns") == targets(index, graph, "acme", "~owns") == set()
    assert named_edges(index, graph, "owns") == named_edges(index, graph, "~owns") == set()
    assert targets(index, graph, "bob", "works for") == {"acme"}


def test_a_pair_is_masked_from_the_side_of_the_inverse_query_too(index):
    graph = graph_of(index, "~works for", "acme", "anna", mask_pair=True)
    assert targets(index, graph, "anna", "works for") == targets(index, graph, "anna", "owns") == set()
    assert targets(index, graph, "acme", "~works for") == {"bob"}


def test_a_fact_of_an_entity_with_itself_is_masked_once_and_wholly():
    index = GraphIndex.of(KnowledgeBase.from_triples([("a", "r", "a"), ("a", "r", "b"), ("b", "s", "b")]))
    graph = graph_of(index, "r", "a", "a")
    assert targets(index, graph, "a", "r") == {"b"}
    assert targets(index, graph, "a", "~r") == set()
    assert named_edges(index, graph, "s") == {("b", "b")}


@few
@given(kb=knowledge_bases(num_entities=4, most_facts=12), query=st.integers(0, 3), mask_pair=st.booleans())
def test_the_edges_of_an_operator_are_those_that_masking_leaves(kb, query, mask_pair):
    index = GraphIndex.of(kb)
    sources, answers = questions_of(kb, query)
    batch = ask(query, sources, answers, mask_pair)
    for question, (source, answer) in enumerate(zip(sources.tolist(), answers.tolist(), strict=True)):
        left = masked_graph(edges(kb), source, query, answer, len(kb.relations), mask_pair)
        graph = MaskedGraph(index, batch, question)
        for k in range(index.num_operators):
            starts, ends = (each.tolist() for each in graph.edges(k))
            assert sorted(zip(starts, ends, strict=True)) == sorted((a, b) for a, by, b in left if by == k)


def test_a_tally_counts_from_how_many_entities_each_target_is_reached(index):
    graph = graph_of(index, "owns", "carl")
    people = np.array([index.kb.entities.id(name) for name in ("anna", "bob")])
    found = graph.tally(people, index.kb.relations.operator_id("works for"))
    assert [each.tolist() for each in found] == [[index.kb.entities.id("acme")], [2]]


def test_a_tally_leaves_the_source_out(index):
    graph = graph_of(index, "owns", "acme")
    people = np.array([index.kb.entities.id("bob")])
    assert graph.tally(people, index.kb.relations.operator_id("works for"))[0].tolist() == []


def test_entities_are_found_by_name_in_a_masked_graph(index):
    graph = graph_of(index, "owns", "anna")
    assert graph.find("rome") == index.kb.entities.id("rome")
    assert graph.find("paris") == -1


# Random walks


@few
@given(
    kb=knowledge_bases(num_entities=4, most_facts=10),
    body=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple),
)
def test_walk_probabilities_equal_the_sum_over_paths(kb, body):
    index = GraphIndex.of(kb)
    for source in range(len(kb.entities)):
        graph = MaskedGraph(index, ask(0, np.array([source])), 0)
        forward, backward = graph.walks.probabilities(body)
        expected = oracle.walk_features(edges(kb), source, body)
        for entity in range(len(kb.entities)):
            want = expected.get(entity, (0.0, 0.0))
            assert (forward[entity], backward[entity]) == pytest.approx(want)


def test_walks_through_an_employer_reach_both_colleagues_evenly(index):
    graph = graph_of(index, "owns", "anna")
    forward, backward = graph.walks.probabilities(index.body_ids(("works for", "~works for")))
    names = index.kb.entities
    reached = {names[i]: (forward[i], backward[i]) for i in np.flatnonzero(forward)}
    # One way to acme, then one of two back; seen from the other end, one of two edges arrives at acme.
    assert reached == {"anna": (0.5, 0.5), "bob": (0.5, 0.5)}


def test_probabilities_of_a_masked_walk_are_those_of_the_smaller_graph(index):
    graph = graph_of(index, "works for", "anna", "acme")
    forward, _ = graph.walks.probabilities(index.body_ids(("owns", "~works for")))
    names = index.kb.entities
    assert {names[i]: forward[i] for i in np.flatnonzero(forward)} == {"bob": 1.0}


@few
@given(kb=knowledge_bases(), body=st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple))
def test_a_walk_ends_somewhere_with_probability_one_unless_it_meets_a_dead_end(kb, body):
    graph = MaskedGraph(GraphIndex.of(kb), ask(0, np.array([0])), 0)
    forward, _ = graph.walks.probabilities(body)
    reached = {0}
    complete = True
    for k in body:
        nexts = {entity: {b for a, by, b in edges(kb) if (a, by) == (entity, k)} for entity in reached}
        complete = complete and all(nexts.values())
        reached = set().union(*nexts.values())
    assert forward.sum() == pytest.approx(1.0) if complete else forward.sum() < 1.0

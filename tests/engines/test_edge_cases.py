"""Engines on graphs with nothing, one entity, self-loops, hubs and separate parts, against the oracle."""

import numpy as np
import oracle
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import attentions

from neurallp import ConfigError
from neurallp.controller.attention import Attention
from neurallp.engines import make_engine
from neurallp.engines.base import QueryBatch
from neurallp.engines.cpu_kernels import score_chunk
from neurallp.graph.operators import Operators

few = settings(max_examples=20, deadline=None)
ENGINES = ("reference", "cpu")
each_engine = pytest.mark.parametrize("name", ENGINES)

#: Name -> entities, relations, facts (head, relation, tail).
GRAPHS = {
    "no facts": (3, 2, []),
    "one entity": (1, 2, []),
    "one entity with itself": (1, 2, [(0, 0, 0), (0, 1, 0)]),
    "a relation without facts": (4, 2, [(0, 0, 1), (1, 0, 2), (2, 0, 3)]),
    "parallel facts": (3, 2, [(0, 0, 1), (0, 1, 1), (1, 0, 0), (1, 1, 0), (1, 0, 2)]),
    "a hub": (9, 2, [(0, i % 2, i) for i in range(1, 9)] + [(i, 0, 0) for i in range(1, 9)]),
    "separate parts": (6, 2, [(0, 0, 1), (1, 1, 0), (2, 0, 3), (3, 1, 4)]),
    "self-loops on a chain": (3, 2, [(0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 1, 2), (2, 1, 2)]),
}
each_graph = pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)


def operators_of(graph):
    num_entities, num_relations, facts = graph
    return Operators.of_facts(np.array(facts, dtype=np.int64).reshape(-1, 3), num_entities, num_relations)


def edges_of(graph):
    _, num_relations, facts = graph
    return [*facts, *((tail, relation + num_relations, head) for head, relation, tail in facts)]


def attention_of(operator, memory):
    """Return attention, (controller, step, …) arrays, for one query."""
    return Attention(*(torch.tensor(each).unsqueeze(1) for each in (operator, memory)))


def follow_exactly(*body, num_operators=4):
    """Return attention that follows one chain of operators with confidence 1."""
    operator = torch.zeros(1, 1, len(body), num_operators, dtype=torch.float64)
    operator[0, 0, torch.arange(len(body)), torch.tensor(body)] = 1.0
    return Attention(operator, torch.eye(len(body) + 1, dtype=torch.float64)[None, None])


def everyone(graph, **options):
    sources = np.arange(graph[0])
    return QueryBatch.unmasked(sources, np.zeros_like(sources), **options)


def expected_scores(edges, drawn, source, num_entities, normalize):
    scores = np.zeros(num_entities)
    for operator, memory in zip(*drawn, strict=True):
        for entity, score in oracle.score(edges, operator, memory, source, normalize=normalize).items():
            scores[entity] += score
    return scores


@each_graph
@each_engine
@few
@given(drawn=attentions(most_steps=2, num_operators=4), normalize=st.booleans(), may_return=st.booleans())
def test_scores_equal_the_enumeration_on_every_odd_graph(name, graph, drawn, normalize, may_return):
    engine = make_engine(name, operators_of(graph))
    batch = everyone(graph, may_return=may_return)
    found = engine.scores(attention_of(*drawn), batch, normalize=normalize).dense()
    for source in range(graph[0]):
        edges = edges_of(graph) if may_return else oracle.without_return(edges_of(graph), source)
        want = expected_scores(edges, drawn, source, graph[0], normalize)
        np.testing.assert_allclose(found[source], want, rtol=1e-9, atol=1e-12)


@each_graph
@each_engine
@few
@given(drawn=attentions(most_steps=2, num_operators=4), normalize=st.booleans(), data=st.data())
def test_a_masked_fact_is_as_if_it_were_not_there(name, graph, drawn, normalize, data):
    operators = operators_of(graph)
    if not graph[2]:
        return
    fact = data.draw(st.sampled_from(graph[2]))
    sources = np.arange(graph[0])
    masks = operators.edges_of(np.array([fact]))
    batch = QueryBatch.masked(sources, np.zeros_like(sources), masks, np.zeros_like(sources))
    found = make_engine(name, operators).scores(attention_of(*drawn), batch, normalize=normalize).dense()
    left = oracle.without_fact(edges_of(graph), *fact, graph[1])
    for source in range(graph[0]):
        want = expected_scores(left, drawn, source, graph[0], normalize)
        np.testing.assert_allclose(found[source], want, rtol=1e-9, atol=1e-12)


@each_graph
@each_engine
@few
@given(drawn=attentions(most_steps=2, num_operators=4), normalize=st.booleans())
def test_pairs_and_totals_are_those_of_all_scores(name, graph, drawn, normalize):
    engine, batch = make_engine(name, operators_of(graph)), everyone(graph)
    dense = engine.scores(attention_of(*drawn), batch, normalize=normalize).dense()
    rows, entities = (each.reshape(-1) for each in np.indices(dense.shape))
    pairs, totals = engine.pair_scores(attention_of(*drawn), batch, rows, entities, normalize=normalize)
    np.testing.assert_allclose(pairs.numpy(), dense.reshape(-1), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(totals.numpy(), dense.sum(axis=1), rtol=1e-9, atol=1e-12)


@each_engine
@pytest.mark.parametrize(
    ("body", "plain", "normalized"),
    [
        ((0,), [0, 1, 0, 1, 0], [0, 0.5, 0, 0.5, 0]),
        ((0, 0), [0, 0, 2, 0, 1], [0, 0, 2 / 3, 0, 1 / 3]),
        ((0, 2), [2, 0, 0, 0, 0], [1, 0, 0, 0, 0]),
        ((1,), [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
        ((1, 0), [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]),
    ],
    ids=["one step", "two ways meet", "there and back", "a dead end", "beyond a dead end"],
)
def test_a_score_counts_paths_and_a_normalized_one_their_share(name, body, plain, normalized):
    """From 0 the relation leads to 1 and 3; both lead to 2, and 3 also to 4."""
    graph = (5, 2, [(0, 0, 1), (0, 0, 3), (1, 0, 2), (3, 0, 2), (3, 0, 4)])
    engine = make_engine(name, operators_of(graph))
    for normalize, want in ((False, plain), (True, normalized)):
        scores = engine.scores(follow_exactly(*body), everyone(graph)[:1], normalize=normalize).dense()
        np.testing.assert_allclose(scores, [want])


@each_engine
def test_every_leaf_of_a_hub_gets_an_equal_share(name):
    engine = make_engine(name, operators_of((1001, 2, [(0, 0, i) for i in range(1, 1001)])))
    batch = QueryBatch.unmasked(np.array([1]), np.array([0]))
    scores = engine.scores(follow_exactly(2, 0), batch, normalize=True).dense()[0]
    np.testing.assert_allclose(scores, np.r_[0, np.full(1000, 0.001)])


@each_engine
def test_a_self_loop_leads_back_however_often_it_is_followed(name):
    graph = GRAPHS["one entity with itself"]
    engine = make_engine(name, operators_of(graph))
    for body in ((0,), (0, 1), (2, 3, 0), (1, 1, 1, 1)):
        assert engine.scores(follow_exactly(*body), everyone(graph), normalize=False).dense() == [[1.0]]
        kept_out = everyone(graph, may_return=False)
        assert engine.scores(follow_exactly(*body), kept_out, normalize=False).dense() == [[0.0]]


@each_engine
def test_nothing_crosses_from_one_part_of_a_graph_to_another(name):
    graph = GRAPHS["separate parts"]
    flat = np.full((1, 3, 4), 0.25), np.tril(np.ones((1, 4, 4)))
    found = make_engine(name, operators_of(graph)).scores(
        attention_of(*flat), everyone(graph), normalize=True
    )
    reached = [set(found.row(source)[0].tolist()) for source in range(6)]
    assert reached == [{0, 1}, {0, 1}, {2, 3, 4}, {2, 3, 4}, {2, 3, 4}, {5}]


@each_engine
@pytest.mark.parametrize("normalize", [False, True])
def test_no_questions_get_no_scores(name, normalize):
    graph, none = GRAPHS["a hub"], np.zeros(0, dtype=np.int64)
    engine, batch = make_engine(name, operators_of(graph)), QueryBatch.unmasked(none, none)
    assert engine.scores(follow_exactly(0), batch, normalize=normalize).dense().shape == (0, 9)
    pairs, totals = engine.pair_scores(follow_exactly(0), batch, none, none, normalize=normalize)
    assert (len(pairs), len(totals)) == (0, 0)


@each_engine
def test_the_same_pair_may_be_wanted_more_than_once(name):
    graph = GRAPHS["a hub"]
    engine, rows = make_engine(name, operators_of(graph)), np.array([0, 1, 0, 0])
    pairs, _ = engine.pair_scores(
        follow_exactly(0), everyone(graph), rows, np.array([2, 0, 2, 3]), normalize=False
    )
    assert pairs.tolist() == [1.0, 1.0, 1.0, 0.0]


@each_engine
def test_the_precision_of_scores_is_that_of_the_attention(name):
    graph = GRAPHS["a hub"]
    engine = make_engine(name, operators_of(graph))
    for dtype, expected in ((torch.float32, np.float32), (torch.float64, np.float64)):
        attention = Attention(*(each.to(dtype) for each in follow_exactly(0).pair))
        assert engine.scores(attention, everyone(graph), normalize=True).values.dtype == expected


def test_a_graph_of_one_entity_needs_no_kernel_of_its_own():
    for graph in GRAPHS.values():
        engine = make_engine("cpu", operators_of(graph))
        engine.scores(follow_exactly(0, 1), everyone(graph), normalize=True)
    # Another type of any argument would be compiled for again, in front of a waiting user.
    assert len(score_chunk.dispatcher.signatures) == 1


def test_attention_over_other_operators_is_refused():
    engine = make_engine("cpu", operators_of(GRAPHS["a hub"]))
    with pytest.raises(ConfigError, match="other operators than those of the knowledge base"):
        engine.scores(follow_exactly(0, num_operators=6), everyone(GRAPHS["a hub"]), normalize=True)


# Batches


def test_an_edge_masked_twice_is_masked_once():
    batch = QueryBatch.masked(np.array([0]), np.array([0]), np.array([[5, 3, 5, -1, 3]]))
    assert [each.tolist() for each in batch.masked_pairs] == [[0, 0], [3, 5]]


def test_queries_can_share_a_row_of_masks():
    masks = np.array([[4, 2], [-1, 1]])
    batch = QueryBatch.masked(np.arange(3), np.zeros(3, int), masks, np.array([1, 0, 1]))
    assert [each.tolist() for each in batch.masked_pairs] == [[0, 1, 1, 2], [1, 2, 4, 1]]
    assert [each.tolist() for each in batch[1:].masked_pairs] == [[0, 0, 1], [2, 4, 1]]


def test_a_part_of_a_batch_keeps_its_queries_and_whether_they_may_return():
    batch = QueryBatch.unmasked(np.array([7, 8, 9]), np.array([0, 1, 2]), may_return=False)
    part = batch[1:]
    assert (len(part), part.sources.tolist(), part.rows.tolist()) == (2, [8, 9], [1, 2])
    assert not part.may_return
    assert [each.tolist() for each in part.masked_pairs] == [[], []]


def test_the_given_masks_are_not_changed():
    masks = np.array([[5, 3, 5]])
    QueryBatch.masked(np.array([0]), np.array([0]), masks)
    assert masks.tolist() == [[5, 3, 5]]

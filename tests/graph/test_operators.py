import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import edges, knowledge_bases

from neurallp.graph.arrays import Ids
from neurallp.graph.compilation import kernel
from neurallp.graph.kernels import inverse_in_kernel
from neurallp.graph.operators import Operators
from neurallp.graph.vocabulary import Relations, inverse_operator

few = settings(max_examples=30, deadline=None)


@kernel()
def _invert_all(operators: Ids, num_relations: int, out: Ids) -> None:
    for i in range(len(operators)):
        out[i] = inverse_in_kernel(operators[i], num_relations)


def rows_of(operators, places=slice(None)):
    columns = operators.sources[places], operators.operators[places], operators.targets[places]
    return [tuple(map(int, row)) for row in zip(*columns, strict=True)]


@few
@given(kb=knowledge_bases())
def test_every_fact_gives_an_edge_and_its_inverse_sorted(kb):
    assert rows_of(Operators.of(kb)) == sorted(edges(kb))


@few
@given(kb=knowledge_bases())
def test_both_edges_of_a_fact_are_found_and_of_no_other(kb):
    operators = Operators.of(kb)
    for fact, places in zip(kb.facts.tolist(), operators.edges_of(kb.facts), strict=True):
        head, relation, tail = fact
        assert rows_of(operators, places) == [
            (head, relation, tail),
            (tail, operators.inverse(relation), head),
        ]
    absent = kb.facts.copy()
    absent[:, 0] = len(kb.entities) - 1 - absent[:, 0]
    known = set(map(tuple, kb.facts.tolist()))
    for fact, places in zip(absent.tolist(), operators.edges_of(absent), strict=True):
        assert (places >= 0).all() == (tuple(fact) in known)


@few
@given(kb=knowledge_bases())
def test_neighbours_are_the_ends_of_every_edge(kb):
    sources = np.arange(len(kb.entities))[::-1]
    rows, entities = Operators.of(kb).neighbours(sources)
    found = sorted(zip(sources[rows].tolist(), entities.tolist(), strict=True))
    assert found == sorted((source, target) for source, _, target in edges(kb))
    assert (np.diff(rows) >= 0).all()


@few
@given(kb=knowledge_bases())
def test_segments_begin_where_source_or_operator_changes(kb):
    operators = Operators.of(kb)
    starts, offsets = operators.segments()
    keys = [(source, operator) for source, operator, _ in rows_of(operators)]
    assert starts.tolist() == [i for i, key in enumerate(keys) if i == 0 or key != keys[i - 1]]
    for entity in range(len(kb.entities)):
        own = starts[offsets[entity] : offsets[entity + 1]]
        assert [keys[i][0] for i in own] == [entity] * len({key for key in keys if key[0] == entity})


@few
@given(kb=knowledge_bases(), data=st.data())
def test_edges_out_of_entities_are_all_that_leave_them(kb, data):
    operators = Operators.of(kb)
    some = data.draw(st.lists(st.integers(0, len(kb.entities) - 1), max_size=4, unique=True))
    found = rows_of(operators, operators.edges_out_of(np.array(some, dtype=np.int64)))
    assert found == [row for entity in some for row in rows_of(operators) if row[0] == entity]


@pytest.mark.parametrize("num_relations", [1, 3])
def test_the_inverse_is_the_same_everywhere_and_its_own_inverse(num_relations):
    operators = np.arange(2 * num_relations)
    inverse = inverse_operator(operators, num_relations)
    relations = Relations(f"r{i}" for i in range(num_relations))
    assert inverse.tolist() == [relations.inverse(k) for k in range(2 * num_relations)]
    assert inverse_operator(inverse, num_relations).tolist() == operators.tolist()
    in_kernel = np.zeros_like(operators)
    _invert_all(operators, num_relations, in_kernel)
    assert in_kernel.tolist() == inverse.tolist()


# Graphs with little in them

NO_FACTS = np.zeros((0, 3), dtype=np.int64)


def test_a_graph_without_facts_has_no_edges_and_no_segments():
    operators = Operators.of_facts(NO_FACTS, num_entities=3, num_relations=2)
    assert operators.num_edges == 0
    assert operators.num_operators == 4
    assert operators.offsets.tolist() == [0, 0, 0, 0]
    assert operators.edges_out_of(np.arange(3)).tolist() == []
    assert operators.edges_by_operator(1).tolist() == []
    assert [each.tolist() for each in operators.segments()] == [[], [0, 0, 0, 0]]
    assert operators.edges_of(np.array([[0, 0, 1]])).tolist() == [[-1, -1]]


def test_a_fact_of_one_entity_with_itself_has_two_edges():
    operators = Operators.of_facts(np.array([[0, 0, 0]]), num_entities=1, num_relations=1)
    assert rows_of(operators) == [(0, 0, 0), (0, 1, 0)]
    assert operators.edges_of(np.array([[0, 0, 0]])).tolist() == [[0, 1]]


def test_a_relation_without_facts_has_no_edges_in_either_direction():
    operators = Operators.of_facts(np.array([[0, 0, 1], [1, 2, 0]]), num_entities=2, num_relations=3)
    assert [len(operators.edges_by_operator(k)) for k in range(6)] == [1, 0, 1, 1, 0, 1]


@few
@given(kb=knowledge_bases())
def test_the_edges_of_one_operator_are_those_of_its_relation(kb):
    operators = Operators.of(kb)
    for k in range(operators.num_operators):
        places = operators.edges_by_operator(k)
        assert places.tolist() == sorted(places.tolist())
        assert rows_of(operators, places) == sorted(row for row in edges(kb) if row[1] == k)


@few
@given(kb=knowledge_bases())
def test_a_span_holds_the_edges_of_an_entity_by_one_operator(kb):
    operators = Operators.of(kb)
    everyone = np.arange(len(kb.entities))
    for k in range(operators.num_operators):
        starts, stops = operators.spans(everyone, k)
        for entity in everyone.tolist():
            found = rows_of(operators, slice(starts[entity], stops[entity]))
            assert found == sorted(row for row in edges(kb) if row[:2] == (entity, k))


@few
@given(kb=knowledge_bases())
def test_edges_into_an_entity_are_the_inverses_of_those_out_of_it(kb):
    operators = Operators.of(kb)
    found = set(rows_of(operators))
    assert {(end, operators.inverse(k), start) for start, k, end in found} == found


def test_an_entity_out_of_many_is_not_mistaken_for_another():
    """The keys of edges are products of all sizes: entities and operators must not run into each other."""
    facts = np.array([[0, 0, 9], [1, 0, 0], [0, 1, 0], [9, 1, 9]])
    operators = Operators.of_facts(facts, num_entities=10, num_relations=2)
    assert (operators.edges_of(facts) >= 0).all()
    others = np.array([[0, 1, 9], [0, 0, 0], [1, 0, 9], [9, 0, 9]])
    assert operators.edges_of(others).tolist() == [[-1, -1]] * 4


@few
@given(kb=knowledge_bases(), other=knowledge_bases(num_entities=7), seed=st.integers(0, 99))
def test_changed_operators_are_those_of_the_changed_facts(kb, other, seed):
    removed = np.random.default_rng(seed).permutation(kb.facts)[: seed % 4]
    kept = np.array([fact for fact in kb.facts.tolist() if fact not in removed.tolist()]).reshape(-1, 3)
    added = np.array([fact for fact in other.facts.tolist() if fact not in kb.facts.tolist()]).reshape(-1, 3)
    facts, num_entities = np.concatenate([kept, added]).astype(np.int64), max(len(kb.entities), 7)
    changed = Operators.of(kb).changed(added.astype(np.int64), removed, num_entities)
    assert changed.num_entities == num_entities
    assert rows_of(changed) == rows_of(Operators.of_facts(facts, num_entities, len(kb.relations)))

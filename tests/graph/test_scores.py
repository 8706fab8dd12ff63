"""Sparse scores: every operation equals the same one on a dense array."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neurallp.graph.scores import Scores

few = settings(max_examples=40, deadline=None)
NUM_ENTITIES = 5
values = st.sampled_from([0.0, 0.0, 0.0, 0.25, 1.0, 3.0, -2.0])


def tables(num_questions=None):
    """Draw a (question, entity) array, most of it zero, some rows entirely."""
    rows = st.integers(0, 4) if num_questions is None else st.just(num_questions)
    return rows.flatmap(lambda num: arrays(np.float64, (num, NUM_ENTITIES), elements=values))


pairs_of = st.lists(st.tuples(st.integers(0, 2), st.integers(0, NUM_ENTITIES - 1)), max_size=8)


def ids(numbers):
    return np.array(numbers, dtype=np.int64)


def columns(pairs):
    """Return the rows and entities of (row, entity) pairs."""
    return ids([row for row, _ in pairs]), ids([entity for _, entity in pairs])


def assert_well_formed(scores):
    """Hold what the class promises of its arrays: offsets that cover them, entities that ascend in a row."""
    assert scores.offsets[0] == 0
    assert scores.offsets[-1] == len(scores.entities) == len(scores.values)
    for question in range(len(scores)):
        entities, _ = scores.row(question)
        assert (np.diff(entities) > 0).all()


@few
@given(table=tables())
def test_dense_scores_survive_the_way_to_sparse_and_back(table):
    scores = Scores.of_dense(table)
    assert_well_formed(scores)
    assert len(scores) == len(table)
    assert scores.num_entities == NUM_ENTITIES
    assert np.array_equal(scores.dense(), table)


@few
@given(table=tables())
def test_only_scores_other_than_zero_are_listed(table):
    scores = Scores.of_dense(table)
    listed = list(zip(scores.rows.tolist(), scores.entities.tolist(), strict=True))
    assert listed == [
        (row, entity) for row in range(len(table)) for entity in range(NUM_ENTITIES) if table[row, entity]
    ]


@few
@given(table=tables())
def test_a_row_lists_the_entities_and_values_of_one_question(table):
    scores = Scores.of_dense(table)
    for question, row in enumerate(table):
        entities, found = scores.row(question)
        assert entities.tolist() == np.flatnonzero(row).tolist()
        assert found.tolist() == row[row != 0].tolist()


@pytest.mark.parametrize("num_questions", [0, 1, 3])
def test_no_scores_are_zero_for_every_entity(num_questions):
    scores = Scores.none(num_questions, NUM_ENTITIES)
    assert_well_formed(scores)
    assert np.array_equal(scores.dense(), np.zeros((num_questions, NUM_ENTITIES)))


@few
@given(table=tables(3))
def test_scores_can_be_listed_row_by_row(table):
    rows = [(np.flatnonzero(row), row[row != 0]) for row in table]
    scores = Scores.listed(NUM_ENTITIES, rows)
    assert_well_formed(scores)
    assert np.array_equal(scores.dense(), table)


@few
@given(parts=st.lists(tables(), min_size=1, max_size=4))
def test_stacked_parts_follow_each_other(parts):
    scores = Scores.stacked([Scores.of_dense(part) for part in parts])
    assert_well_formed(scores)
    assert np.array_equal(scores.dense(), np.concatenate(parts))


@few
@given(parts=st.lists(tables(3), min_size=1, max_size=4))
def test_added_parts_are_summed_entity_by_entity(parts):
    scores = Scores.added([Scores.of_dense(part) for part in parts])
    assert_well_formed(scores)
    np.testing.assert_allclose(scores.dense(), np.sum(parts, axis=0))


def test_parts_without_scores_add_up_to_real_numbers():
    total = Scores.added([Scores.none(2, NUM_ENTITIES)] * 2)
    assert total.values.dtype == np.float64
    assert np.array_equal(total.dense(), np.zeros((2, NUM_ENTITIES)))


def test_one_part_is_its_own_sum():
    scores = Scores.of_dense(np.eye(3))
    assert Scores.added([scores]) is scores


@few
@given(table=tables(), weight=st.sampled_from([0.0, 0.5, -3.0]))
def test_a_multiple_of_scores_leaves_the_scores_themselves_alone(table, weight):
    scores = Scores.of_dense(table)
    assert np.array_equal(scores.times(weight).dense(), weight * table)
    assert np.array_equal(scores.dense(), table)


@few
@given(table=tables(3), chosen=st.lists(st.integers(0, 2), max_size=6))
def test_questions_can_be_chosen_in_any_order_and_more_than_once(table, chosen):
    scores = Scores.of_dense(table)[ids(chosen)]
    assert_well_formed(scores)
    assert np.array_equal(scores.dense(), table[ids(chosen)])


@few
@given(table=tables(3), pairs=pairs_of)
def test_single_scores_are_those_of_the_dense_array(table, pairs):
    rows, entities = columns(pairs)
    assert np.array_equal(Scores.of_dense(table).at(rows, entities), table[rows, entities])


@few
@given(table=tables(3), pairs=pairs_of)
def test_places_point_at_the_listed_pairs_and_leave_out_the_others(table, pairs):
    scores = Scores.of_dense(table)
    places = scores.places(*columns(pairs))
    found = list(zip(scores.rows[places].tolist(), scores.entities[places].tolist(), strict=True))
    assert found == [(row, entity) for row, entity in pairs if table[row, entity]]


@few
@given(table=tables(3), pairs=pairs_of.map(lambda pairs: list(dict.fromkeys(pairs))))
def test_replaced_scores_have_one_value_for_all_pairs(table, pairs):
    rows, entities = columns(pairs)
    scores = Scores.of_dense(table).replaced(rows, entities, -np.inf)
    table[rows, entities] = -np.inf
    assert_well_formed(scores)
    assert np.array_equal(scores.dense(), table)


@few
@given(table=tables(3), pairs=pairs_of.map(lambda pairs: list(dict.fromkeys(pairs))))
def test_replaced_scores_have_a_value_for_each_pair(table, pairs):
    rows, entities = columns(pairs)
    new = np.arange(len(pairs)) + 10.0
    scores = Scores.of_dense(table)
    changed = scores.replaced(rows, entities, new)
    assert np.array_equal(scores.dense(), table)
    table[rows, entities] = new
    assert_well_formed(changed)
    assert np.array_equal(changed.dense(), table)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_operation_keeps_the_precision(dtype):
    scores = Scores.of_dense(np.eye(3, dtype=dtype))
    one, two = ids([0]), ids([1])
    for found in (
        scores.dense(),
        scores.at(one, two),
        scores.replaced(one, two, 0.5).values,
        scores[one].values,
        Scores.stacked([scores, scores]).values,
        scores.times(2.0).values,
    ):
        assert found.dtype == dtype


def test_a_score_of_minus_infinity_is_listed():
    table = np.array([[0.0, -np.inf, 1.0]])
    scores = Scores.of_dense(table)
    assert scores.entities.tolist() == [1, 2]
    assert scores.at(ids([0, 0]), ids([0, 1])).tolist() == [0.0, -np.inf]

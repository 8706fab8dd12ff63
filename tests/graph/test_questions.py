"""Questions in both directions and their known answers, where there are few or none."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import knowledge_bases

from neurallp.graph.operators import Operators
from neurallp.graph.questions import KnownAnswers, KnownFacts, Questions, ask_both_ways

few = settings(max_examples=40, deadline=None)
ids = st.integers(0, 3)
triples_of = st.lists(st.tuples(ids, st.integers(0, 1), ids), max_size=20)
NONE = np.zeros((0, 3), dtype=np.int64)


def array(triples):
    return np.array(triples, dtype=np.int64).reshape(-1, 3)


def rows_of(questions):
    columns = questions.sources, questions.queries, questions.answers
    return list(zip(*(column.tolist() for column in columns), strict=True))


@few
@given(triples=triples_of)
def test_each_triple_is_asked_in_both_directions_in_order(triples):
    expected = [row for h, r, t in triples for row in ((h, r, t), (t, r + 2, h))]
    assert rows_of(ask_both_ways(array(triples), 2)) == expected


def test_no_triples_give_no_questions():
    questions = ask_both_ways(NONE, 3)
    assert len(questions) == 0
    assert rows_of(questions) == []


@few
@given(triples=triples_of, data=st.data())
def test_questions_are_chosen_by_rows_or_by_a_slice(triples, data):
    questions = ask_both_ways(array(triples), 2)
    rows = data.draw(st.lists(st.integers(0, max(len(questions) - 1, 0)), max_size=5 if triples else 0))
    every = rows_of(questions)
    assert rows_of(questions[np.array(rows, dtype=np.int64)]) == [every[row] for row in rows]
    assert rows_of(questions[1:3]) == every[1:3]


@few
@given(triples=triples_of, asked=st.lists(st.tuples(ids, ids), max_size=6))
def test_known_answers_come_in_the_order_of_the_questions_even_of_repeated_ones(triples, asked):
    known = KnownAnswers(array(triples), 2)
    sources, queries = (np.array([each[i] for each in asked], dtype=np.int64) for i in (0, 1))
    rows, answers = known.pairs(sources, queries)
    distinct = dict.fromkeys(row for h, r, t in triples for row in ((h, r, t), (t, r + 2, h)))
    for number, (source, query) in enumerate(asked):
        expected = [answer for start, by, answer in distinct if (start, by) == (source, query)]
        assert sorted(answers[rows == number].tolist()) == sorted(expected)


def test_without_facts_nothing_is_known():
    rows, answers = KnownAnswers(NONE, 2).pairs(np.array([0, 1]), np.array([0, 3]))
    assert rows.tolist() == answers.tolist() == []


def test_without_questions_nothing_is_returned():
    known = KnownAnswers(array([(0, 0, 1)]), 1)
    rows, answers = known.pairs(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))
    assert rows.tolist() == answers.tolist() == []


def test_a_fact_given_twice_is_known_once():
    known = KnownAnswers(array([(0, 0, 1), (0, 0, 1)]), 1)
    assert [each.tolist() for each in known.pairs(np.array([0]), np.array([0]))] == [[0], [1]]


@pytest.mark.parametrize(("query", "answers"), [(0, [0, 1]), (1, [0, 2])])
def test_an_entity_that_stands_in_a_relation_to_itself_is_a_known_answer_both_ways(query, answers):
    known = KnownAnswers(array([(0, 0, 0), (0, 0, 1), (2, 0, 0)]), 1)
    assert sorted(known.pairs(np.array([0]), np.array([query]))[1].tolist()) == answers


def test_large_ids_are_not_mixed_up():
    """A key is source x operators + query: neighbours in that numbering must stay apart."""
    known = KnownAnswers(array([(10**6, 1, 7), (10**6 + 1, 0, 8)]), 2)
    sources, queries = np.array([10**6, 10**6, 10**6 + 1]), np.array([0, 1, 0])
    rows, answers = known.pairs(sources, queries)
    assert (rows.tolist(), answers.tolist()) == ([1, 2], [7, 8])


def test_questions_have_one_row_for_each_source():
    questions = Questions(np.array([4, 5]), np.array([0, 1]), np.array([6, 7]))
    assert len(questions) == 2
    assert rows_of(questions[-1:]) == [(5, 1, 7)]


@given(kb=knowledge_bases())
def test_known_answers_can_be_read_from_the_edges_of_a_graph(kb):
    rows = np.arange(len(kb.entities) * kb.relations.num_operators)
    asked = rows // kb.relations.num_operators, rows % kb.relations.num_operators
    found = KnownFacts(Operators.of(kb)).pairs(*asked)
    known = KnownAnswers(kb.facts, len(kb.relations)).pairs(*asked)
    assert sorted(zip(*found, strict=True)) == sorted(zip(*known, strict=True))

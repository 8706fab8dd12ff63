import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from neurallp import Evaluation, evaluate, evaluation
from neurallp.evaluation import Measures, Ranks, best_places, per_relation, rank, rank_questions, rank_within
from neurallp.graph.questions import KnownAnswers, Questions
from neurallp.graph.scores import Scores

few = settings(max_examples=60, deadline=None)

NUM_RELATIONS = 2

#: Few values, so that ties, zeros and entities that are no candidates are everywhere.
values = st.sampled_from([0.0, 0.0, 0.5, 1.0, 2.0, -np.inf])
sizes = st.tuples(st.integers(1, 4), st.integers(1, 6))
dense_scores = sizes.flatmap(lambda shape: arrays(np.float32, shape, elements=values))


class Table:
    """A scorer that looks its scores up, [source, query, entity]."""

    def __init__(self, table):
        self.table = table

    def scores(self, sources, queries):
        return Scores.of_dense(self.table[sources, queries])


def naive_ranks(row, answer, known):
    """Return (better, ties) of one answer, every candidate looked at by itself."""
    better = ties = 0
    for entity, score in enumerate(row):
        if entity == answer or entity not in known:
            better += score > row[answer]
            ties += score == row[answer]
    return better, ties


@st.composite
def trials(draw):
    """Draw a table of scores, triples to ask both ways, and triples known to be true."""
    num_entities = draw(st.integers(1, 5))
    shape = (num_entities, 2 * NUM_RELATIONS, num_entities)
    table = draw(arrays(np.float32, shape, elements=values))
    entity = st.integers(0, num_entities - 1)
    triples = st.lists(st.tuples(entity, st.integers(0, NUM_RELATIONS - 1), entity), max_size=12)
    asked, known = (np.array(draw(triples), dtype=np.int64).reshape(-1, 3) for _ in range(2))
    return table, asked, known


def questions_of(triples):
    """Return the questions of triples, tail and head, without the package's help."""
    rows = [
        question
        for head, relation, tail in triples.tolist()
        for question in ((head, relation, tail), (tail, relation + NUM_RELATIONS, head))
    ]
    return Questions(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


# Ranks


@few
@given(trial=trials())
def test_ranks_equal_a_naive_ranking(trial):
    table, asked, known = trial
    questions, known_answers = questions_of(asked), questions_of(known)
    ranks = rank_questions(Table(table), questions, KnownAnswers(known, NUM_RELATIONS))
    expected = []
    for source, query, answer in zip(questions.sources, questions.queries, questions.answers, strict=True):
        same = (known_answers.sources == source) & (known_answers.queries == query)
        expected.append(naive_ranks(table[source, query], answer, set(known_answers.answers[same])))
    assert list(zip(ranks.better, ranks.ties, strict=True)) == expected


@few
@given(trial=trials())
def test_ranks_do_not_depend_on_how_many_questions_are_scored_at_once(trial):
    table, asked, known = trial
    arguments = Table(table), questions_of(asked), KnownAnswers(known, NUM_RELATIONS)
    together = rank_questions(*arguments)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluation, "QUESTIONS_AT_ONCE", 3)
        parts = rank_questions(*arguments)
    np.testing.assert_array_equal(parts.better, together.better)
    np.testing.assert_array_equal(parts.ties, together.ties)


def test_a_known_answer_is_left_out_once_however_often_it_is_told():
    table = np.zeros((3, 2 * NUM_RELATIONS, 3))
    table[0, 0] = [0, 1, 2]
    questions = Questions(np.array([0]), np.array([0]), np.array([1]))
    known = KnownAnswers(np.array([[0, 0, 2], [0, 0, 1], [0, 0, 2]]), NUM_RELATIONS)
    ranks = rank_questions(Table(table), questions, known)
    assert (ranks.better.item(), ranks.ties.item()) == (0, 1)


@few
@given(
    better=st.lists(st.integers(0, 50), min_size=1, max_size=8),
    ties=st.lists(st.integers(1, 50), min_size=8, max_size=8),
)
def test_the_realistic_rank_is_the_mean_of_all_places_a_tie_could_take(better, ties):
    ties = ties[: len(better)]
    ranks = Ranks(np.array(better), np.array(ties))
    places = [np.arange(b + 1, b + t + 1) for b, t in zip(better, ties, strict=True)]
    assert ranks.realistic.tolist() == [b + (t + 1) / 2 for b, t in zip(better, ties, strict=True)]
    assert ranks.realistic.tolist() == [place.mean() for place in places]
    assert ranks.optimistic.tolist() == [place.min() for place in places]
    assert ranks.pessimistic.tolist() == [place.max() for place in places]


@few
@given(trial=trials())
def test_optimistic_is_at_most_realistic_is_at_most_pessimistic(trial):
    table, asked, known = trial
    ranks = rank_questions(Table(table), questions_of(asked), KnownAnswers(known, NUM_RELATIONS))
    assert (ranks.optimistic >= 1).all()
    assert (ranks.optimistic <= ranks.realistic).all()
    assert (ranks.realistic <= ranks.pessimistic).all()
    assert (ranks.pessimistic <= len(table)).all()


@pytest.mark.parametrize("num_entities", [2, 7, 100])
def test_a_scorer_that_knows_nothing_lands_in_the_middle_not_on_top(num_entities):
    nothing = Table(np.zeros((num_entities, 2 * NUM_RELATIONS, num_entities)))
    asked = np.array([[0, 0, 1], [1, 1, 0]])
    measured = evaluate(nothing, questions_of(asked), KnownAnswers(asked, NUM_RELATIONS))
    assert measured.realistic.mean_rank == (num_entities + 1) / 2
    assert measured.mrr == pytest.approx(2 / (num_entities + 1))
    assert measured.optimistic.mean_rank == 1
    assert measured.pessimistic.mean_rank == num_entities


def test_an_answer_that_is_no_candidate_comes_last():
    scores = Scores.of_dense(np.array([[-np.inf, 0.0, 0.0, 1.0]]))
    none = np.zeros(0, dtype=np.int64)
    assert rank(scores, np.array([0]), (none, none)).realistic.tolist() == [4]


# Measures


def test_measures_are_means_over_ranks():
    measures = Measures.of(np.array([1.0, 2.0, 3.5, 10.0, 20.0]))
    assert measures.mrr == pytest.approx((1 + 1 / 2 + 1 / 3.5 + 1 / 10 + 1 / 20) / 5)
    assert (measures.hits_at_1, measures.hits_at_3, measures.hits_at_10) == (0.2, 0.4, 0.8)
    assert measures.mean_rank == pytest.approx(36.5 / 5)


def test_an_evaluation_is_one_json_object_with_the_usual_keys():
    measured = Evaluation.of(Ranks(np.array([0, 4]), np.array([1, 3])))
    found = json.loads(json.dumps(measured.as_dict()))
    names = {"mrr", "hits@1", "hits@3", "hits@10", "mean_rank"}
    assert found.keys() == names | {"queries", "optimistic", "pessimistic"}
    assert found["optimistic"].keys() == found["pessimistic"].keys() == names
    assert found["queries"] == 2
    assert [kind["mean_rank"] for kind in (found["optimistic"], found, found["pessimistic"])] == [3, 3.5, 4]


def test_an_evaluation_of_nothing_is_all_zero():
    empty = Evaluation.of(Ranks(np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)))
    assert empty.num_questions == 0
    assert set(empty.realistic.as_dict().values()) == {0.0}


@few
@given(trial=trials())
def test_per_relation_takes_both_directions_together_and_loses_no_question(trial):
    table, asked, known = trial
    questions = questions_of(asked)
    ranks = rank_questions(Table(table), questions, KnownAnswers(known, NUM_RELATIONS))
    found = per_relation(ranks, questions, NUM_RELATIONS)
    assert found.keys() == set(asked[:, 1].tolist())
    for relation, measured in found.items():
        alone = questions_of(asked[asked[:, 1] == relation])
        assert measured == evaluate(Table(table), alone, KnownAnswers(known, NUM_RELATIONS))


# Scores


@few
@given(dense=dense_scores)
def test_sparse_scores_hold_exactly_the_dense_ones(dense):
    scores = Scores.of_dense(dense)
    np.testing.assert_array_equal(scores.dense(), dense)
    assert scores.dense().dtype == dense.dtype
    assert len(scores) == len(dense)
    assert len(scores.values) == np.count_nonzero(dense)
    for walk, row in enumerate(dense):
        entities, found = scores.row(walk)
        assert entities.tolist() == np.flatnonzero(row).tolist()
        np.testing.assert_array_equal(found, row[entities])


def draw_cells(data, shape, unique=False):
    cell = st.tuples(*(st.integers(0, size - 1) for size in shape))
    cells = data.draw(st.lists(cell, max_size=8, unique=unique))
    return tuple(np.array(cells, dtype=np.int64).reshape(-1, 2).T)


@few
@given(dense=dense_scores, data=st.data())
def test_any_score_can_be_looked_up_listed_or_not(dense, data):
    cells = draw_cells(data, dense.shape)
    np.testing.assert_array_equal(Scores.of_dense(dense).at(*cells), dense[cells])


@few
@given(dense=dense_scores, value=values, data=st.data())
def test_replaced_scores_are_replaced_and_no_others(dense, value, data):
    cells = draw_cells(data, dense.shape, unique=True)
    before = Scores.of_dense(dense)
    after = before.replaced(*cells, value)
    expected = dense.copy()
    expected[cells] = value
    np.testing.assert_array_equal(after.dense(), expected)
    np.testing.assert_array_equal(after.at(*cells), expected[cells])
    np.testing.assert_array_equal(before.dense(), dense)
    assert all((np.diff(after.row(walk)[0]) > 0).all() for walk in range(len(after)))


def test_measures_are_a_table_with_a_row_for_each_treatment_of_ties():
    pytest.importorskip("pyarrow")
    measured = Evaluation.of(Ranks(np.array([0, 4]), np.array([1, 3])))
    rows = {row["ties"]: row for row in measured.to_arrow().to_pylist()}
    assert list(rows) == ["realistic", "optimistic", "pessimistic"]
    assert rows["realistic"]["mrr"] == measured.mrr
    assert rows["pessimistic"]["mrr"] < rows["optimistic"]["mrr"]
    assert "hits@10" in measured._repr_html_()


def test_the_best_places_are_those_above_0_equal_ones_in_order():
    assert best_places(np.array([0.5, 2.0, 0.0, -1.0, 2.0, 0.5]), 3).tolist() == [1, 4, 0]
    assert best_places(np.array([0.5, 2.0, 0.0, -1.0, 2.0, 0.5]), 9).tolist() == [1, 4, 0, 5]
    assert best_places(np.array([0.0, -1.0]), 3).tolist() == []


def test_ranks_within_a_row_are_those_among_all_entities():
    row, values = np.array([3.0, 1.0, -2.0, 1.0]), np.array([3.0, 1.0, 0.0, -2.0, -5.0])
    found = rank_within(values, row, 6)  # two entities are not listed and score 0
    assert found.better.tolist() == [0, 1, 3, 5, 6]
    assert found.ties.tolist() == [1, 2, 2, 1, 0]


def test_many_equal_scores_stay_in_order():
    assert best_places(np.ones(100), 100).tolist() == list(range(100))


def test_the_best_of_many_scores_are_found_and_equal_ones_stay_in_order():
    many = np.random.default_rng(0).permutation(1000) + 1.0
    assert many[best_places(many, 10)].tolist() == list(range(1000, 990, -1))
    assert many[best_places(many, 900)].tolist() == list(range(1000, 100, -1))
    repeated = many % 3 + 1
    expected = sorted(range(1000), key=lambda place: (-repeated[place], place))
    assert best_places(repeated, 1000).tolist() == expected
    assert best_places(repeated, 500).tolist() == expected[:500]


def test_the_least_of_the_scores_keeps_its_ties():
    found = rank_within(np.array([1.0]), np.array([3.0, 1.0, -2.0, 1.0]), 6)
    assert (found.better.tolist(), found.ties.tolist()) == ([1], [2])
    assert len(rank_within(np.zeros(0), np.array([3.0, 1.0]), 6)) == 0


def test_a_rank_of_k_is_a_hit_at_k_and_a_rank_above_is_none():
    assert (
        Measures.of(np.array([1.0, 3.0, 10.0])).as_dict().items() >= {"hits@1": 1 / 3, "hits@10": 1.0}.items()
    )
    assert Measures.of(np.array([3.0])).hits_at_3 == 1
    assert Measures.of(np.array([1.5, 3.5, 10.5])).hits_at_10 == pytest.approx(2 / 3)


def test_progress_counts_every_question_once(monkeypatch):
    monkeypatch.setattr(evaluation, "QUESTIONS_AT_ONCE", 3)
    asked = np.array([[0, 0, 1], [1, 1, 0]] * 2)
    table, known = Table(np.zeros((2, 2 * NUM_RELATIONS, 2))), KnownAnswers(asked, NUM_RELATIONS)
    for measure in (rank_questions, evaluate):
        done = []
        measure(table, questions_of(asked), known, done.append)
        assert done == [3, 3, 2]


def test_ranks_of_nothing_are_whole_numbers():
    none = np.zeros((0, 3), dtype=np.int64)
    table = Table(np.zeros((2, 2 * NUM_RELATIONS, 2)))
    ranks = rank_questions(table, questions_of(none), KnownAnswers(none, NUM_RELATIONS))
    assert (ranks.better.dtype, ranks.ties.dtype) == (np.int64, np.int64)

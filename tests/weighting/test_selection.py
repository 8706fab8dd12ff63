import numpy as np

from neurallp.config import WeightingConfig
from neurallp.weighting.selection import select_bodies, share_by_length, value_of, within_budget

CONFIG = WeightingConfig(num_candidates=4, num_counted=10, max_entries=100)


def test_of_bodies_with_as_many_hits_the_one_that_concludes_less_is_better():
    values = value_of(np.array([[10, 5, 5], [1000, 5, 5], [10, 5, 2]]))
    assert values[0] > values[1]
    assert values[0] > values[2]


def test_bodies_are_kept_by_value_and_none_without_a_hit():
    bodies = [(0, 1), (1, 1), (2, 1)]
    counts = np.array([[10, 2, 2], [10, 9, 9], [10, 9, 0]])
    assert select_bodies(bodies, counts, 1.0, CONFIG) == [(1, 1), (0, 1)]


def test_many_long_bodies_leave_room_for_short_ones():
    bodies = [*[(0, 1, k) for k in range(20)], (5,), (6, 6)]
    counts = np.array([[10, 9, 9]] * 20 + [[10, 1, 1]] * 2)
    kept = select_bodies(bodies, counts, 1.0, CONFIG)
    assert {(5,), (6, 6)} < set(kept)
    assert len(kept) == 4


def test_shares_that_a_length_cannot_fill_go_to_the_others():
    lengths = np.array([3, 3, 2, 3, 3, 1])
    assert share_by_length(lengths, 5).tolist() == [0, 1, 2, 3, 5]
    assert share_by_length(lengths, 100).tolist() == list(range(6))
    assert share_by_length(np.zeros(0, np.int64), 3).tolist() == []


def test_what_does_not_fit_into_the_budget_is_passed_over():
    assert within_budget(np.array([5.0, 6.0, 5.0, 1.0]), 10).tolist() == [0, 2]
    counts = np.array([[600, 90, 90], [900, 80, 80], [300, 5, 5]])
    bodies = [(0, 1), (1, 1), (2, 1)]
    assert select_bodies(bodies, counts, 1.0, CONFIG) == [(0, 1), (2, 1)]
    assert select_bodies(bodies, counts, 0.5, CONFIG) == [(2, 1)]  # each has twice as many on all questions

from dataclasses import replace

import numpy as np
import pytest

from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.pipeline.trials import (
    NUM_RELATIONS,
    NUM_VALID,
    TrialResult,
    Trials,
    draw_relations,
    space_relations,
)
from neurallp.weighting.fitting import Weighting

QUICK = WeightingConfig(max_length=2, num_candidates=5, num_pairs=10, kinds=("chain", "prior"))


def facts(sizes, first=0):
    return [(f"e{i}", f"r{r}", f"f{first + i}") for r, size in enumerate(sizes) for i in range(size)]


def test_large_relations_are_always_drawn_and_small_ones_in_proportion():
    sizes = [1, 50, 1, 40, 1, 1, 1, 1, 30, 1, 1]
    drawn = draw_relations(name_parts({"train": facts([2] * 11), "valid": facts(sizes, 100)}))
    assert len(drawn) == NUM_RELATIONS
    assert {1, 3, 8} <= {*drawn}


def test_relations_without_validation_or_known_facts_are_not_drawn():
    split = name_parts({"train": facts([3, 3]), "valid": facts([2], 100)})
    assert draw_relations(split) == [0]
    assert draw_relations(name_parts({"train": facts([3])})) == []


def test_the_gain_is_that_of_the_same_questions_with_its_standard_error():
    better, worse = TrialResult(np.array([1, 1, 0.5]), 0, 0), TrialResult(np.array([1, 0.5, 0.5]), 0, 0)
    gain, error = better.gain_over(worse)
    assert gain == pytest.approx(1 / 6)
    assert error == pytest.approx(np.std([0, 0.5, 0], ddof=1) / 3**0.5)
    assert better.gain_over(better) == (0, 0)


def test_a_trial_that_was_stopped_has_no_gain():
    assert TrialResult(np.zeros(0), 0, 0).gain_over(TrialResult(np.ones(3), 0, 0)) == (0, 0)


def test_equal_settings_are_tried_once_and_equal_trials_agree(split):
    blind = split.without_test()
    trials = Trials(blind)
    found = trials.run(QUICK)
    assert trials.run(QUICK) is found
    assert len(found.ranks) <= NUM_VALID * len(trials.queries)
    assert 0 < found.mrr <= 1
    np.testing.assert_array_equal(Trials(blind).run(QUICK).ranks, found.ranks)


def test_spaced_relations_are_both_large_and_small_ones():
    sizes = [5, 50, 2, 40, 9, 1]
    split = name_parts({"train": facts(sizes), "valid": facts([1, 2, 3, 1, 1], 100)})
    assert space_relations(split, 1) == [1, 3, 4, 0, 2]
    assert space_relations(split, 2) == [1, 4, 2]


def test_trials_that_refine_all_queries_rank_every_validation_question_that_can_be_asked(split):
    blind = split.without_test()
    trials = Trials(blind)
    few = trials.run(QUICK)
    trials.refine(space_relations(blind, 1))
    every = trials.run(QUICK)
    known = np.isin(blind.valid[:, 1], blind.known.facts[:, 1])
    assert len(every.ranks) == 2 * known.sum() >= len(few.ranks)
    weighting, last = Weighting(blind, replace(QUICK, thinning=False)), {}
    weighting.on_fit = lambda query, fits: last.update({query: fits[0].middle_ranks})
    weighting.run()
    np.testing.assert_array_equal(np.sort(every.ranks), np.sort(np.concatenate([*last.values()])))

from dataclasses import replace

import numpy as np
import pytest

from neurallp.config import WeightingConfig
from neurallp.graph.knowledge_base import name_parts
from neurallp.pipeline import plan as planning
from neurallp.pipeline.callbacks import Clock
from neurallp.pipeline.decisions import DROPOUT, MAX_WALKS, first_length
from neurallp.pipeline.plan import FIRST_KINDS, Planner
from neurallp.pipeline.survey import survey
from neurallp.pipeline.trials import TrialResult


class Scripted:
    """Trials whose result is a function of the settings."""

    relations, queries, num_learned = [0], [0, 1], 50

    def __init__(self, rank):
        self.rank, self.tried, self.refines = rank, [], False

    def refine(self, relations):
        self.relations, self.refines = relations, True

    def run(self, config):
        self.tried.append(config)
        # Two questions, of which the second is always the same, so that a gain has an error.
        return TrialResult(np.array([*[self.rank(config)] * 9, 0.5]), 1000.0, 1.0)


@pytest.fixture
def planner(split):
    def make(rank, clock=None, **given):
        found = Planner(split.without_test(), given, clock or Clock())
        found.trials = Scripted(rank)
        return found

    return make


def test_bodies_grow_while_the_gain_is_above_its_error(planner):
    by_length = {2: 0.1, 3: 0.2, 4: 0.3, 5: 0.3}
    found = planner(lambda config: by_length[config.max_length])
    assert found.decide().max_length == 4
    tried = [
        trial.chosen
        for trial in found.log
        if trial.setting.startswith("bodies up to") and "some" not in trial.setting
    ]
    assert tried == [True, True, True, False][first_length(found.survey) - 2 :]


def test_a_ladder_ends_with_the_first_length_that_is_not_better(planner):
    by_length = {2: 0.3, 3: 0.3, 4: 0.9, 5: 0.9}
    found = planner(lambda config: by_length[config.max_length], max_length=None)
    found.survey = replace(found.survey, reached=(0.5, 1.0, 1.0, 1.0))
    assert found.decide().max_length == 2


def test_each_kind_is_kept_if_it_pays(planner):
    found = planner(
        lambda config: 0.2 + 0.1 * ("anchored" in config.kinds) - 0.1 * ("mirrored" in config.kinds)
    )
    assert found.decide().kinds == (*FIRST_KINDS, "anchored")


def test_links_speak_against_an_answer_where_linked_entities_are_candidates_on_request_only():
    facts = [(f"a{i}", relation, f"b{i}") for i in range(20) for relation in ("r", "s")]
    asked = [(f"a{i}", "r", f"b{i + 1}") for i in range(10)]
    apart = name_parts({"train": facts, "valid": asked})
    some = name_parts({"train": [*facts, ("a0", "s", "b1")], "valid": asked})
    chance = name_parts({"train": [fact for fact in facts if fact[1] == "r"], "valid": asked[:1]})
    include = {"linked": "include"}
    cases = [(apart, include), (apart, {}), (some, include), (chance, include), (chance, {})]
    cases.append((apart, {**include, "kinds": ("chain",)}))
    found = ["linked" in Planner(split, given, Clock()).tried.kinds for split, given in cases]
    assert found == [True, False, False, False, False, False]


def test_a_gain_must_be_worth_its_work(planner):
    found = planner(lambda config: 0.5 + 0.006 * ("anchored" in config.kinds))
    run = found.trials.run
    found.trials.run = lambda config: replace(
        run(config), entries=1000.0 * (1 + 9 * ("anchored" in config.kinds))
    )
    assert "anchored" not in found.decide().kinds
    found = planner(lambda config: 0.5 + 0.006 * ("anchored" in config.kinds))
    assert "anchored" in found.decide().kinds


def test_the_less_is_missing_the_less_a_setting_must_gain(planner):
    def gains_with_anchored(mrr):
        return lambda config: mrr + 0.002 * ("anchored" in config.kinds)

    assert "anchored" not in planner(gains_with_anchored(0.3)).decide().kinds
    assert "anchored" in planner(gains_with_anchored(0.9)).decide().kinds


def test_kinds_that_gain_only_together_are_chosen_and_not_tried_again(planner):
    more = {"anchored", "mirrored"}
    found = planner(lambda config: 0.5 + 0.006 * (more <= set(config.kinds)))
    assert more <= set(found.decide().kinds)
    assert [trial.setting for trial in found.log if "kind" in trial.setting] == ["kinds anchored, mirrored"]


def test_training_is_tried_only_where_an_epoch_is_little_work(planner):
    found = planner(lambda config: 0.5)
    found.survey = replace(found.survey, num_facts=4000, walks=(10.0, 100.0))
    assert found.can_try_training
    found.survey = replace(found.survey, num_facts=40_000)  # the controller takes long for many questions
    assert not found.can_try_training
    found.survey = replace(found.survey, num_facts=4000, walks=(300.0, 90_000.0))
    assert not found.can_try_training


def test_settings_that_are_given_are_not_tried(planner):
    found = planner(lambda config: config.max_length / 10, max_length=3, kinds=("chain",))
    config = found.decide()
    assert (config.max_length, config.kinds) == (3, ("chain",))
    assert {each.max_length for each in found.trials.tried} == {3}
    assert not any("kind" in trial.setting for trial in found.log)


def test_bodies_with_too_many_walks_are_not_tried(planner):
    found = planner(lambda config: config.max_length / 10)
    found.survey = replace(found.survey, walks=(1, 1, 1, 2 * MAX_WALKS, 1))
    assert found.decide().max_length == 3


def test_the_first_length_reaches_nearly_all_pairs_that_can_be_reached(split):
    look = survey(split)
    assert first_length(replace(look, reached=(0.4, 0.5, 0.9, 0.92))) == 3
    assert first_length(replace(look, reached=(0.9, 0.95, 1.0, 1.0))) == 2
    assert first_length(replace(look, reached=())) == 2
    assert first_length(replace(look, reached=(0, 0, 0, 1.0), walks=(1, 1, 1, 1e9, 1e9))) == 3


def test_when_the_time_of_trials_is_over_the_plan_says_what_was_not_tried(planner):
    found = planner(lambda config: 0.5, Clock(1e-9))
    config = found.decide()
    assert isinstance(config, WeightingConfig)
    assert not found.log
    assert any("kind anchored" in cut for cut in found.cut)
    assert found.plan_log.minutes == 1e-9


def test_a_trial_that_the_time_ends_is_cut_and_compared_with_nothing(planner):
    found = planner(lambda config: 0.5)
    run = found.trials.run
    found.trials.run = lambda config: (
        replace(run(config), ranks=np.ones(3)) if "anchored" in config.kinds else run(config)
    )
    assert "anchored" not in found.decide().kinds
    assert found.cut == ["trial of kinds anchored, mirrored", "trial of kind anchored"]
    assert not any("anchored" in trial.setting for trial in found.log)


def test_a_time_limit_scales_what_is_mined_and_fitted_and_the_plan_says_so(planner):
    found = planner(lambda config: 0.5, Clock(0.01))
    found.limit = Clock()  # all trials are made
    config = found.decide()
    assert config.num_pairs < WeightingConfig().num_pairs
    assert config.num_pilot < WeightingConfig().num_pilot
    assert any(cut.startswith("sizes: num_pairs") for cut in found.cut)
    assert found.estimate(config).seconds <= 0.6


def test_enough_time_scales_nothing(planner):
    found = planner(lambda config: 0.5, Clock(10**6))
    assert found.decide().num_pairs == WeightingConfig().num_pairs
    assert not found.cut


@pytest.mark.parametrize(("gain", "dropout"), [(0.1, DROPOUT), (0.0, 0.0), (-0.1, 0.0)])
def test_dropout_is_used_where_it_validates_better(planner, gain, dropout):
    found = planner(lambda config: 0.5 + gain * (config.dropout > 0))
    assert found.decide().dropout == dropout
    assert [trial.chosen for trial in found.log if "dropout" in trial.setting] == [dropout > 0]


@pytest.mark.parametrize(("gain", "lengths"), [(0.1, (3, 2, 4)), (0.0, (3,))])
def test_queries_may_choose_other_lengths_where_that_validates_better(planner, gain, lengths):
    found = planner(lambda config: 0.5 + gain * len(config.other_lengths))
    found.survey = replace(found.survey, reached=(0.1, 0.5, 1.0, 1.0))
    assert found.decide().lengths == lengths
    tried = [trial.setting for trial in found.log if "some queries" in trial.setting]
    assert tried == ["bodies up to 2 for some queries", "bodies up to 4 for some queries"]


def test_a_length_that_is_given_is_that_of_all_queries(planner):
    found = planner(lambda config: 0.5 + 0.1 * len(config.other_lengths), max_length=3)
    assert found.decide().lengths == (3,)


@pytest.mark.parametrize("refines", [False, True])
def test_the_log_has_the_relations_and_the_number_of_questions_of_each_trial(planner, monkeypatch, refines):
    monkeypatch.setattr(planning, "MAX_REFINED_WORK", 1e12 if refines else 0)
    found = planner(lambda config: 0.5)
    found.trials.refine = lambda relations: setattr(found.trials, "refines", True)
    found.decide()
    asked = found.plan_log.survey["tried_on"]
    names = found.split.relations
    of_valid = sorted({names[relation] for relation in found.split.valid[:, 1]})
    assert asked["relations"] == (of_valid if refines else [names[0]])
    assert (asked["questions"], asked["refined"]) == (10, refines)


def test_a_first_trial_that_was_stopped_before_any_fit_is_not_recorded(planner):
    found = planner(lambda config: 0.5)
    found.trials.run = lambda config: TrialResult(np.zeros(0), 0.0, 0.0)
    found.decide()
    assert (found.log, found.best, found.trials.refines) == ([], None, False)
    assert "tried_on" not in found.plan_log.survey


def test_a_first_trial_that_refines_and_that_the_time_ends_leaves_that_of_few(planner):
    found = planner(lambda config: 0.5)

    def run(config):
        if found.trials.refines:
            found._ends = lambda: True
        return Scripted.run(found.trials, config)

    found.trials.run = run
    found.decide()
    assert (len(found.log), found.trials.refines) == (1, False)
    assert found.cut[0] == "trials that refine queries"


def test_a_trial_with_given_rules_that_the_time_ends_is_cut(planner):
    found = planner(lambda config: 0.5)
    found.decide()
    found.trials.run_with = lambda config, given: replace(found.best, ranks=found.best.ranks[:3] + 0.4)
    assert not found.is_better_with("rules of the neural model", {})
    assert found.cut == ["trial of rules of the neural model"]
    found.trials.run_with = lambda config, given: replace(found.best, ranks=found.best.ranks + 0.1)
    assert found.is_better_with("rules of the neural model", {})


def test_a_setting_that_is_given_is_not_tried(planner):
    for given in (0.2, 0.0):
        found = planner(lambda config: 0.5 + config.dropout, dropout=given)
        assert found.decide().dropout == given
        assert {config.dropout for config in found.trials.tried} == {given}


def test_trials_refine_queries_where_that_is_little_work(planner, monkeypatch):
    def rank(config):
        return 0.5 + config.dropout + len(config.other_lengths)

    found = planner(rank)
    found.decide()
    assert found.trials.refines
    every = found.trials.relations
    monkeypatch.setattr(planning, "MIN_REFINED", len(every[::3]))
    work = 2 * 1000.0 * found.sizes[every[::3]].sum()
    monkeypatch.setattr(planning, "MAX_REFINED_WORK", work)
    found = planner(rank)
    found.decide()
    assert found.trials.relations == every[::3]
    monkeypatch.setattr(planning, "MAX_REFINED_WORK", work - 1)  # which leaves too few relations
    found = planner(rank)
    config = found.decide()
    assert not found.trials.refines
    assert config.dropout == 0  # few questions do not tell


def test_trials_do_not_refine_queries_with_fewer_validation_questions_than_they_have(planner, monkeypatch):
    monkeypatch.setattr(planning, "MIN_REFINED", 1)
    few, many = planner(lambda config: 0.5), TrialResult(np.ones(10**6), 1000.0, 1.0)
    monkeypatch.setattr(
        planning, "MAX_REFINED_WORK", 2 * 1000.0 * few.sizes[few._relations_to_refine(many)].sum() - 1
    )
    assert few._relations_to_refine(many) == []


def test_trials_do_not_refine_where_a_time_limit_leaves_no_time_for_it(planner):
    short, long = (planner(lambda config: 0.5, Clock(minutes)) for minutes in (0.5, 10**6))
    short.decide()
    long.decide()
    assert (short.trials.refines, long.trials.refines) == (False, True)
    assert ("trials that refine queries" in short.cut, "trials that refine queries" in long.cut) == (
        True,
        False,
    )


def test_the_number_of_questions_keeps_the_work_in_bounds(planner, monkeypatch):
    found = planner(lambda config: 0.5)
    every = found.decide().max_questions
    monkeypatch.setattr(planning, "MAX_WORK", 1000.0 * found._num_questions(20))
    monkeypatch.setattr(planning, "NUMBERS_OF_QUESTIONS", (8000, 20, 10))
    assert found.decide().max_questions == 20 < every


def test_small_graphs_need_fewer_feature_values(planner):
    found = planner(lambda config: 0.5)
    found.survey = replace(found.survey, num_entities=50)
    assert found.decide().max_entries == 50 * planning.ENTRIES_PER_ENTITY
    found.survey = replace(found.survey, num_entities=10**5)
    assert found.decide().max_entries == WeightingConfig().max_entries
    assert planner(lambda config: 0.5, max_entries=70).decide().max_entries == 70


def test_fewer_feature_values_are_taken_before_fewer_questions(planner, monkeypatch):
    found = planner(lambda config: 0.5)
    monkeypatch.setattr(planning, "MAX_WORK", 500.0 * found._num_questions(4000))
    monkeypatch.setattr(planning, "MIN_ENTRIES", 100)
    config = found.decide()
    assert (config.max_entries, config.max_questions) == (500, 8000)


def test_equal_data_and_seed_give_equal_plans(split):
    settings = {"num_candidates": 5, "num_pairs": 10, "seed": 3}
    first, second = (Planner(split.without_test(), settings, Clock()) for _ in range(2))
    assert first.decide() == second.decide()
    assert first.plan_log == second.plan_log
    assert first.log


def test_without_a_validation_part_a_part_of_train_is_held_out_for_choices(split):
    found = Planner(replace(split.without_test(), valid=split.valid[:0]), {}, Clock())
    assert found.survey.held_out
    assert len(found.split.valid) == round(0.1 * len(split.train))
    assert len(found.split.train) + len(found.split.valid) == len(split.train)

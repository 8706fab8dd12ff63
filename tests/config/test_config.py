import subprocess
import sys
from dataclasses import replace

import pytest

from neurallp import ConfigError, ModelConfig, Plan, TrainingConfig, WeightingConfig
from neurallp.config import (
    KINDS,
    PRESETS,
    Objective,
    QuestionConfig,
    choices_of,
    configure,
    configure_questions,
    make_plan,
)


def test_configurations_import_neither_torch_nor_numpy():
    script = "import sys, neurallp.config; sys.exit(bool({'torch', 'numpy', 'numba'} & sys.modules.keys()))"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_choices_are_those_of_the_type():
    assert choices_of(Objective) == ("log-score", "normalized")
    assert choices_of(int) == ()


@pytest.mark.parametrize(
    ("config", "settings", "message"),
    [
        (ModelConfig, {"num_steps": 0}, "num_steps must be at least 1, got 0"),
        (ModelConfig, {"memory_keys": "future"}, "memory_keys must be one of present, previous"),
        (TrainingConfig, {"learning_rate": float("nan")}, "learning_rate must be above 0 and finite"),
        (TrainingConfig, {"objective": "share"}, "objective must be one of log-score, normalized"),
        (TrainingConfig, {"seed": -1}, "seed must be at least 0"),
        (WeightingConfig, {"kinds": ("chain", "anchord")}, "Did you mean 'anchored'"),
        (WeightingConfig, {"penalties": ()}, "at least one penalty"),
        (WeightingConfig, {"other_lengths": (0,)}, "other_lengths must be at least 1"),
        (QuestionConfig, {"encoder": "guess"}, "encoder must be one of order, mean"),
    ],
)
def test_a_wrong_value_is_refused_by_name(config, settings, message):
    with pytest.raises(ConfigError, match=message):
        config(**settings)


# Plans


def test_a_plan_has_the_settings_of_every_stage():
    plan = make_plan(num_steps=3, num_epochs=7, max_rules=5, seed=4)
    assert plan.model == ModelConfig(num_steps=3)
    assert plan.training == TrainingConfig(num_epochs=7, seed=4)
    assert plan.weighting == WeightingConfig(max_length=3, max_rules=5, seed=4)
    assert plan.seed == 4


def test_rules_are_weighted_by_default_but_not_in_the_preset_paper():
    weighted = {preset: make_plan(preset).weighting is not None for preset in PRESETS}
    assert weighted == {"default": True, "paper": False}
    assert make_plan("paper", weigh=True).weighting is not None
    assert make_plan(weigh=False).weighting is None


def test_mined_bodies_are_as_long_as_learned_rules_unless_given():
    assert make_plan(num_steps=4).weighting.max_length == 4
    assert make_plan(num_steps=4, max_length=2).weighting.max_length == 2
    assert make_plan(train=False).weighting.max_length == WeightingConfig().max_length


def test_settings_of_training_do_not_change_the_weighting():
    weighting = make_plan(batch_size=7, learning_rate=0.5).weighting
    assert (weighting.batch_size, weighting.learning_rate) == (
        WeightingConfig().batch_size,
        WeightingConfig().learning_rate,
    )


def test_a_plan_without_training_has_no_model():
    plan = make_plan(train=False, seed=3)
    assert (plan.model, plan.training, plan.seed) == (None, None, 3)


@pytest.mark.parametrize(
    "stages", [(None, None, None), (ModelConfig(), None, None), (None, TrainingConfig(), WeightingConfig())]
)
def test_a_plan_that_cannot_be_run_is_refused(stages):
    with pytest.raises(ConfigError):
        Plan(*stages)


def test_none_means_not_given():
    assert make_plan("paper", num_steps=None, objective=None) == make_plan("paper")


@pytest.mark.parametrize("make", [make_plan, configure, configure_questions])
def test_an_unknown_setting_is_refused_with_the_nearest(make):
    with pytest.raises(ConfigError, match=r"Unknown setting 'num_step'\. Did you mean 'num_steps'\?"):
        make(num_step=3)
    with pytest.raises(ConfigError, match=r"Unknown setting 'colour'\. See "):
        make(colour="red")
    with pytest.raises(ConfigError, match="Unknown preset 'papre'"):
        make("papre")


def test_every_kind_can_be_configured():
    assert WeightingConfig(kinds=KINDS).kinds == KINDS


def test_the_lengths_to_try_are_distinct():
    assert WeightingConfig(max_length=2, other_lengths=(3, 2)).lengths == (2, 3)


def test_a_query_with_more_facts_has_more_candidates_up_to_the_setting():
    config = WeightingConfig(num_candidates=1000, num_pairs=1000)
    assert [config.candidates_for(num) for num in (5, 700, 9000)] == [400, 700, 1000]
    assert [config.pairs_for(num) for num in (5, 700, 9000)] == [300, 350, 1000]
    few = WeightingConfig(num_candidates=20, num_pairs=10)
    assert (few.candidates_for(9000), few.pairs_for(9000)) == (20, 10)
    assert WeightingConfig(num_candidates=0).pairs_for(9000) == 0
    assert [config.counted_for(num) for num in (5, 700, 9000)] == [200, 350, 600]


def test_a_first_fit_is_wider_where_there_are_other_questions_to_fit_the_chosen_rules_on():
    config = WeightingConfig(max_entries=1000, max_questions=6000)
    assert [config.first_entries_for(num) for num in (5, 600, 1800, 9000)] == [1000, 1000, 3000, 8000]
    assert replace(config, max_questions=1200).first_entries_for(9000) == 2000
    assert replace(config, num_pilot=40).first_entries_for(1800) == 3000  # a time limit makes no fit wider

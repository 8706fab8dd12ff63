import numpy as np
import pytest

from neurallp import Callbacks, Checkpoints, ConfigError, KnowledgeBase, Rule, learn, load_model
from neurallp.config import make_plan
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.pipeline.learn import rules_to_weigh
from neurallp.pipeline.program import RuleProgram

SMALL = {"embedding_size": 8, "hidden_size": 8, "learning_rate": 0.01, "num_epochs": 2, "patience": 2}
QUICK = {
    "max_length": 2,
    "num_candidates": 5,
    "num_pairs": 10,
    "max_questions": 30,
    "num_learned": 3,
    "kinds": ("chain", "prior"),
    "masking": "fact",
}


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


class Recorder(Callbacks):
    """Record the calls; interrupt a stage after some progress where that is wanted."""

    def __init__(self, interrupt=None, keep=False, stop_after=None):
        self.calls, self.progress = [], {}
        self.interrupt, self.keep, self.stop_after = interrupt, keep, stop_after
        self.stage = None

    def on_training(self, training):
        self.calls.append("training")

    def on_stage(self, stage, total, done=0):
        self.stage = stage
        self.calls.append(stage)
        self.progress[stage] = [total, done]

    def on_progress(self, num):
        self.progress[self.stage][1] += num
        if self.interrupt == self.stage:
            raise KeyboardInterrupt

    def on_epoch(self, training):
        self.calls.append("epoch")
        if self.interrupt == "after an epoch":
            raise KeyboardInterrupt

    def should_stop(self):
        return self.stop_after is not None and self.calls.count("epoch") >= self.stop_after

    def on_interrupt(self, stage):
        self.calls.append(f"{stage} interrupted")
        return self.keep


# Stages


def test_callbacks_follow_the_stages_and_all_steps_are_counted(split):
    recorder = Recorder()
    learn(split, **SMALL, **QUICK, callbacks=recorder)
    assert recorder.calls == ["plan", "training", "train", "epoch", "epoch", "weigh", "calibrate"]
    for stage in ("plan", "train", "weigh"):
        total, done = recorder.progress[stage]
        assert done == total


def test_without_training_rules_are_mined_and_weighted_alone(split):
    recorder = Recorder()
    program = learn(split, train=False, **QUICK, callbacks=recorder)
    assert recorder.calls == ["plan", "weigh", "calibrate"]
    assert len(program.weighted_rules)
    assert not program.has_model
    assert program.history == []
    with pytest.raises(ConfigError, match="has no neural model"):
        _ = program.model


def test_given_rules_are_weighted_with_the_mined_ones(split):
    rule = Rule("uncle", ("father", "brother"), 0.9)
    settings = QUICK | {"num_candidates": 0}
    program = learn(split, train=False, given=[rule], **settings)
    assert {found.body for found in program.rules("uncle") if found.kind == "chain"} == {rule.body}


def test_a_plan_and_settings_exclude_each_other(split):
    with pytest.raises(ConfigError, match="Give a plan or settings, not both: num_epochs"):
        learn(split, make_plan(), num_epochs=2)


def test_a_plan_learns_what_its_settings_learn(split):
    from_settings = learn(split, **SMALL, **QUICK)
    from_plan = learn(split, from_settings.plan)
    assert from_plan.rules() == from_settings.rules()


# Stopping


def test_a_callback_can_stop_the_run_after_an_epoch(split):
    recorder = Recorder(stop_after=1)
    program = learn(split, **SMALL, **QUICK, callbacks=recorder)
    assert len(program.history) == 1
    assert program.weighted_rules is None


def test_ctrl_c_ends_the_run_unless_a_callback_keeps_it(split):
    for stage in ("train", "weigh"):
        with pytest.raises(KeyboardInterrupt):
            learn(split, **SMALL, **QUICK, callbacks=Recorder(interrupt=stage))


def test_ctrl_c_in_the_first_epoch_always_ends_the_run(split):
    with pytest.raises(KeyboardInterrupt):
        learn(split, **SMALL, **QUICK, callbacks=Recorder(interrupt="train", keep=True))


def test_ctrl_c_in_training_keeps_the_epochs_so_far_and_weighs_their_rules(split):
    recorder = Recorder(interrupt="after an epoch", keep=True)
    program = learn(split, **SMALL, **QUICK, callbacks=recorder)
    assert recorder.calls == ["plan", "training", "train", "epoch", "train interrupted", "weigh", "calibrate"]
    assert len(program.history) == 1
    assert program.weighted_rules is not None


def test_ctrl_c_in_weighting_keeps_the_neural_model(split):
    program = learn(split, **SMALL, **QUICK, callbacks=Recorder(interrupt="weigh", keep=True))
    assert program.weighted_rules is None
    assert program.rules("uncle")


# Checkpoints


def test_a_run_resumed_from_a_checkpoint_ends_as_one_that_was_never_cut(split, tmp_path):
    class Cut(Checkpoints):
        def should_stop(self):
            return True

    learn(split, weigh=False, **SMALL, callbacks=Cut(tmp_path))
    assert len(load_model(tmp_path).history) == 1
    resumed = learn(split, weigh=False, **SMALL, callbacks=Checkpoints(tmp_path, resume=True))
    whole = learn(split, weigh=False, **SMALL)
    assert [epoch.loss for epoch in resumed.history] == [epoch.loss for epoch in whole.history]
    assert resumed.rules() == whole.rules()


# Programs


@pytest.fixture(scope="module")
def weighted(split):
    return learn(split, **SMALL, **QUICK)


def test_a_loaded_program_reads_its_neural_model_only_when_it_is_used(weighted, tmp_path):
    weighted.save(tmp_path)
    loaded = load_model(tmp_path)
    assert loaded._load is not None
    assert loaded.rules() == weighted.rules_as_saved
    assert loaded._load is not None
    assert loaded.history == weighted.history
    assert loaded._load is None
    assert loaded.plan == weighted.plan


def test_a_loaded_program_saves_the_same_files(weighted, tmp_path):
    weighted.save(tmp_path / "0")
    for number in (0, 1):
        load_model(tmp_path / str(number)).save(tmp_path / str(number + 1))
    files = [{path.name: path.read_bytes() for path in (tmp_path / name).iterdir()} for name in "12"]
    assert files[0] == files[1]


def test_the_reasoner_follows_weights_that_are_set_later(split):
    program = learn(split, weigh=False, **SMALL)
    neural = program.reasoner()
    program.weighted_rules = learn(split, train=False, **QUICK).weighted_rules
    assert program.reasoner() is not neural
    assert program.reasoner() is program.reasoner()


def test_weighted_rules_can_be_weighted_again(weighted):
    offered = list(rules_to_weigh(weighted, 0))
    counts = weighted.weighted_rules.num_of_kinds
    assert {kind: sum(rule.kind == kind for rule in offered) for kind in counts} == counts


RULES = [
    Rule("uncle", ("mother", "brother"), 0.5),
    Rule("uncle", ("father", "brother"), 0.9),
    Rule("~aunt", ("niece",), 0.7),
]


def test_given_rules_are_listed_by_the_same_method_as_learned_ones():
    program = RuleProgram(RULES)
    assert [rule.confidence for rule in program.rules("uncle")] == [0.9, 0.5]
    assert [rule.confidence for rule in program.rules("uncle", limit=1)] == [0.9]
    assert [rule.body for rule in program.rules("uncle", deny=["father"])] == [("mother", "brother")]
    assert len(program.rules()) == 3
    assert repr(program) == "RuleProgram(3 rules for 2 queries)"


def test_the_support_of_given_rules_is_counted_on_data():
    kb = KnowledgeBase.from_triples(
        [("zoe", "father", "yan"), ("yan", "brother", "xan"), ("zoe", "uncle", "xan")]
    )
    (rule,) = RuleProgram(RULES).rules("uncle", limit=1, kb=kb)
    assert (rule.support, rule.num_predictions) == (1, 1)


def test_equal_seeds_learn_equal_weights(split, weighted):
    again = learn(split, **SMALL, **QUICK)
    for query, each in weighted.weighted_rules.queries.items():
        np.testing.assert_array_equal(each.weights, again.weighted_rules.queries[query].weights)

import pickle

import numpy as np
import pytest

from neurallp import (
    ConfigError,
    DataError,
    KnowledgeBase,
    ModelConfig,
    TrainingConfig,
    UnknownNameError,
    learn,
    load_model,
)
from neurallp.config import configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import DataWarning
from neurallp.graph.knowledge_base import Split, name_parts, split_triples
from neurallp.pipeline.learn import prepare

SMALL = {"embedding_size": 16, "hidden_size": 16, "learning_rate": 0.01}


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=40, num_generations=3))


@pytest.fixture(scope="module")
def program(split):
    return learn(split, weigh=False, **SMALL, num_epochs=6)


@pytest.fixture
def loaded(program, tmp_path):
    program.save(tmp_path)
    return load_model(tmp_path)


# Learning


def test_a_knowledge_base_is_split_by_the_seed_before_it_is_learned_from(split):
    kb = family_knowledge_base(num_people=40, num_generations=3)
    from_kb, from_split = (
        learn(kb, weigh=False, **SMALL, num_epochs=1),
        learn(split, weigh=False, **SMALL, num_epochs=1),
    )
    assert from_kb.kb is kb  # all facts that are given answer
    assert from_kb.rules(kb=kb) == from_split.rules(kb=kb)


def test_a_pickled_program_holds_the_model_and_not_what_questions_computed(program, split):
    before = pickle.dumps(program)
    asked = program.ask(head=split.entities[0], relation="uncle")
    after = pickle.dumps(program)
    assert len(after) == len(before)
    assert pickle.loads(after).ask(head=split.entities[0], relation="uncle") == asked


def test_a_loaded_program_can_be_pickled(loaded, split):
    copy = pickle.loads(pickle.dumps(loaded))
    question = {"head": split.entities[0], "relation": "uncle", "kb": split.given}
    assert copy.ask(**question) == loaded.ask(**question)


def test_the_repr_of_a_program_has_its_size(program):
    assert repr(program) == "LearnedProgram(17 relations, rules up to length 2)"


@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("default", {}),
        ("paper", {}),
        ("default", {"num_controllers": 2, "objective": "normalized", "normalize": False}),
    ],
)
def test_every_preset_and_objective_learns_rules(split, preset, settings):
    program = learn(split, preset=preset, weigh=False, **SMALL | settings, num_epochs=1)
    assert program.rules("uncle")
    assert 0 < program.evaluate(split).mrr <= 1


def test_settings_go_to_the_configuration_they_belong_to():
    model, training = configure(num_steps=3, num_epochs=7)
    assert model == ModelConfig(num_steps=3)
    assert training == TrainingConfig(num_epochs=7)


def test_the_preset_paper_masks_the_batch_and_never_stops_early():
    model, training = configure("paper")
    assert (training.training_masking, training.objective, training.patience) == ("batch", "log-score", 10)
    assert not model.exclude_source


def test_given_settings_replace_those_of_the_preset_and_none_means_not_given():
    _, training = configure("paper", training_masking="train", patience=None)
    assert (training.training_masking, training.patience) == ("train", 10)


def test_unknown_settings_and_presets_are_refused_by_name():
    with pytest.raises(ConfigError, match="Unknown setting 'num_layers'"):
        configure(num_layers=3)
    with pytest.raises(ConfigError, match=r"Unknown preset 'papre'\. There are: default, paper"):
        configure("papre")


def test_a_device_that_is_not_there_is_refused(split):
    for device in ("nonsense", "cuda:99"):
        with pytest.raises(ConfigError, match=f"Cannot use the device '{device}'"):
            learn(split, device=device)


def test_an_unknown_engine_is_refused_with_the_choices(split):
    with pytest.raises(ConfigError, match=r"engine must be one of auto, cuda.*, got 'warp'"):
        learn(split, engine="warp")


def test_without_train_there_is_nothing_to_learn_from():
    with pytest.raises(DataError, match="nothing to learn from"):
        prepare(name_parts({"facts": [("a", "r", "b")]}), *configure())


@pytest.mark.parametrize("masking", ["fact", "batch", "train"])
@pytest.mark.parametrize("objective", ["log-score", "normalized"])
def test_a_single_fact_can_be_learned_from_though_there_is_nothing_to_find(masking, objective):
    kb = KnowledgeBase.from_triples([("a", "r", "b")])
    program = learn(kb, weigh=False, **SMALL, num_epochs=2, training_masking=masking, objective=objective)
    assert all(rule.confidence > 0 for rule in program.rules())


# Rules


def test_rules_are_those_of_the_query_best_first_and_counted_on_what_was_learned_from(program):
    rules = program.rules("uncle")
    confidences = [rule.confidence for rule in rules]
    assert {rule.target for rule in rules} == {"uncle"}
    assert confidences == sorted(confidences, reverse=True)
    assert rules[0].normalized_confidence == 1.0
    assert all(0 <= rule.support <= rule.num_predictions for rule in rules)


def test_the_inverse_of_a_relation_is_a_query_too(program):
    assert {rule.target for rule in program.rules("~uncle")} == {"~uncle"}


def test_without_a_query_rules_of_every_relation_and_inverse_are_returned(program):
    assert len(program.rules(limit=1)) == 34


def test_rules_can_be_chosen(program):
    rules = program.rules("uncle", limit=3, max_length=1, min_share=0.0)
    assert len(rules) == 3
    assert {len(rule.body) for rule in rules} == {1}
    for rule in program.rules("uncle", allow=["father", "brother"], min_share=0.0):
        assert {name.strip("~") for name in rule.body} <= {"father", "brother"}
    for rule in program.rules("uncle", deny=["nephew"], min_share=0.0):
        assert not {"nephew", "~nephew"} & set(rule.body)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"query": "uncel"}, "Did you mean 'uncle'"),
        ({"query": "~uncel"}, "Did you mean 'uncle'"),
        ({"allow": ["fahter"]}, "Did you mean 'father'"),
        ({"deny": ["~father"]}, "Did you mean 'father'"),
    ],
)
def test_the_error_for_an_unknown_relation_suggests_the_nearest(program, choice, message):
    with pytest.raises(UnknownNameError, match=message):
        program.rules(**choice)


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_1_is_refused(program, limit):
    with pytest.raises(ConfigError, match="limit must be at least 1"):
        program.rules(limit=limit)


def test_support_can_be_counted_on_other_data(program):
    kb = family_knowledge_base(num_people=60, num_generations=3, seed=5)
    counted = program.rules("uncle", kb=kb)
    assert [rule.body for rule in counted] == [rule.body for rule in program.rules("uncle")]
    assert [rule.support for rule in counted] != [rule.support for rule in program.rules("uncle")]


def test_support_is_not_counted_without_data(loaded):
    assert all(rule.support is None for rule in loaded.rules("uncle"))


# Evaluation


def test_each_relation_by_itself_adds_up_to_the_whole(program, split):
    whole, parts = program.evaluate_per_relation(split)
    assert whole == program.evaluate(split)
    counts = [part.num_questions for part in parts.values()]
    assert sum(counts) == whole.num_questions == 2 * len(split.test)
    assert np.average([part.mrr for part in parts.values()], weights=counts) == pytest.approx(whole.mrr)


def test_optimistic_and_pessimistic_are_the_bounds(program, split):
    result = program.evaluate(split)
    assert result.pessimistic.mrr <= result.mrr <= result.optimistic.mrr


def test_an_unknown_or_empty_part_is_refused(program, split):
    with pytest.raises(ConfigError, match="part must be one of valid, test, got 'tset'"):
        program.evaluate(split, "tset")
    none = np.empty((0, 3), dtype=np.int64)
    empty = Split(split.entities, split.relations, none, split.train, none, none)
    with pytest.raises(DataError, match="nothing to evaluate: the part 'test' is empty"):
        program.evaluate(empty)


def test_other_data_is_ranked_by_name_whatever_the_numbers_of_its_relations(program, split):
    triples = {
        part: [
            (split.entities[h], split.relations[r], split.entities[t])
            for h, r, t in getattr(split, part)[::-1]
        ]
        for part in ("train", "valid", "test")
    }
    renumbered = name_parts(triples)
    assert list(renumbered.relations) != list(split.relations)
    assert program.evaluate(renumbered).mrr == pytest.approx(program.evaluate(split).mrr)


def test_relations_the_model_does_not_know_are_left_out_with_a_note(program, split):
    triples = [(split.entities[h], split.relations[r], split.entities[t]) for h, r, t in split.train]
    more = name_parts({"train": [*triples, ("x", "boss", "y")], "test": [("y", "boss", "x"), *triples[:3]]})
    with pytest.warns(DataWarning, match="Left out: the model does not know 'boss'"):
        assert program.evaluate(more).num_questions == 6


def test_data_that_shares_no_relation_is_refused(program):
    other = KnowledgeBase.from_triples([("a", "boss", "b"), ("b", "boss", "c")])
    for call in (
        lambda: program.rules(kb=other),
        lambda: program.ask(head="a", relation="uncle", kb=other),
        lambda: program.evaluate(name_parts({"train": [("a", "boss", "b")], "test": [("b", "boss", "c")]})),
    ):
        with pytest.raises(DataError, match="share no relation"):
            call()


# Questions


def test_an_answer_can_be_asked_for_and_explained(program):
    kb = program.kb
    head, relation, tail = next(fact for fact in kb.facts if kb.relations[fact[1]] == "grandmother")
    names = kb.entities[head], kb.relations[relation], kb.entities[tail]
    answers = program.ask(head=names[0], relation="grandmother", k=3)
    assert [answer.score for answer in answers] == sorted((a.score for a in answers), reverse=True)
    proof = program.explain(*names)
    assert str(proof).startswith(f"grandmother({names[0]}, {names[2]})\n  because ")


def test_a_loaded_program_asks_for_the_facts_to_reason_on(loaded, program):
    someone = program.kb.entities[0]
    with pytest.raises(ConfigError, match="kb="):
        loaded.ask(head=someone, relation="uncle")
    answers = loaded.ask(head=someone, relation="uncle", kb=program.kb)
    assert answers == program.ask(head=someone, relation="uncle")


def test_a_question_has_either_a_head_or_a_tail(program):
    for ends in ({}, {"head": "a", "tail": "b"}):
        with pytest.raises(ConfigError, match="head or the tail"):
            program.ask(relation="uncle", **ends)

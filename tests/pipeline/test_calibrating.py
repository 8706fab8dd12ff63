"""Probabilities of programs: learned, weighted, given and neural ones, with and without a validation part."""

from dataclasses import replace

import numpy as np
import pytest

import neurallp
from neurallp.config import WeightingConfig, configure
from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import DataError
from neurallp.graph.knowledge_base import KnowledgeBase, split_triples
from neurallp.io.models.calibration import read_calibration, write_calibration
from neurallp.io.models.neural import write_checkpoint
from neurallp.io.rules import export_rules
from neurallp.pipeline.calibrating import calibrate, measure
from neurallp.pipeline.learn import prepare, weigh_rules
from neurallp.pipeline.program import RuleProgram, load_model, load_program
from neurallp.rules.rule import Rule

CONFIG = WeightingConfig(max_length=2, num_candidates=50, seed=3)

RULES = [
    Rule("uncle", ("father", "brother"), 0.9),
    Rule("uncle", ("mother", "brother"), 0.9),
    Rule("grandfather", ("father", "father"), 0.9),
    Rule("father", ("brother", "father"), 0.8),
]


def weigh_family():
    split = split_triples(family_knowledge_base(num_people=150, num_generations=4), seed=3)
    program = weigh_rules(split, CONFIG)
    program.calibrate(split)
    return split, program


@pytest.fixture(scope="module")
def split(make_once):
    return make_once(weigh_family)[0]


@pytest.fixture(scope="module")
def weighted(make_once):
    return make_once(weigh_family)[1]


def answers_of(program, kb, relation, people=None):
    """Return the new answers to a relation of people, all by default."""
    asked = kb.entities if people is None else people
    found = (program.ask(head=person, relation=relation, k=200, kb=kb) for person in asked)
    return [answer for answers in found for answer in answers if not answer.is_known]


@pytest.mark.parametrize("relation", ["father", "mother", "husband"])
def test_who_has_a_father_has_no_second_one(weighted, split, relation):
    having = [h for h, r, _ in split.given.named_facts() if r == relation]
    found = answers_of(weighted, split.given, relation, having)
    likely = [answer for answer in found if answer.probability >= 0.5]
    test = {(split.entities[h], split.relations[r], split.entities[t]) for h, r, t in split.test.tolist()}
    assert not [answer for answer in likely if (answer.source, relation, answer.entity) not in test]
    assert len(having) > 20
    assert len(found) > 20


def test_who_has_an_uncle_may_well_have_another(weighted, split):
    having = {h for h, r, _ in split.given.named_facts() if r == "uncle"}
    found = answers_of(weighted, split.given, "uncle", sorted(having))
    assert max(answer.probability for answer in found) > 0.5


def test_probabilities_on_test_are_reliable_with_and_without_known_answers(weighted, split):
    found = measure(weighted.basis, weighted.calibration, split)
    for group in ("no known answer", "known answers"):
        assert found[group]["shown"].ece < 0.01
        assert found[group]["best"].ece < 0.03
        assert found[group]["best"].num_right > 30


def test_known_answers_have_no_probability_and_new_ones_always_do(weighted, split):
    questions = [{"head": name, "relation": r} for name in split.entities[:10] for r in split.relations]
    answers = [answer for question in questions for answer in weighted.ask(**question, kb=split.given)]
    assert {answer.is_known for answer in answers} == {True, False}
    assert all(answer.is_known == (answer.probability is None) for answer in answers)
    assert all(0 < answer.probability < 1 for answer in answers if not answer.is_known)


def test_probabilities_rise_with_the_score_within_a_question(weighted, split):
    for person in split.entities[:30]:
        found = answers_of(weighted, split.given, "uncle", [person])
        said = [answer.probability for answer in found]
        assert said == sorted(said, reverse=True)


def test_a_fact_that_no_rule_supports_has_a_probability_too(weighted, split):
    person = split.entities[0]
    proof = weighted.explain(person, "father", person, kb=split.given)
    assert 0 < proof.answer.probability < 0.01


def test_predictions_have_the_probabilities_that_asking_gives(weighted, split):
    predicted = {}
    for batch in weighted.predict(["uncle"], k=3, kb=split.given):
        rows = zip(batch.sources.tolist(), batch.entities.tolist(), batch.probabilities.tolist(), strict=True)
        predicted |= {(split.entities[source], split.entities[entity]): p for source, entity, p in rows}
    assert len(predicted) > 30
    for answer in answers_of(weighted, split.given, "uncle"):
        pair = answer.source, answer.entity
        if pair in predicted:
            assert predicted.pop(pair) == pytest.approx(answer.probability)
    assert not predicted


def test_predictions_can_be_limited_to_likely_ones(weighted, split):
    (batch,) = weighted.predict(["uncle"], kb=split.given)
    likely = batch.above(0.5)
    assert 0 < len(likely) < len(batch)
    assert (likely.probabilities >= 0.5).all()
    assert len(likely) == (batch.probabilities >= 0.5).sum()


def test_calibration_does_not_see_the_test_part(weighted, split):
    blind = replace(split, test=split.test[:0])
    assert calibrate(weighted.basis, blind, weighted.seed) == weighted.calibration


def test_without_a_validation_part_known_facts_are_held_out(weighted, split):
    bare = replace(split, valid=split.valid[:0], train=np.concatenate([split.train, split.valid]))
    found = measure(weighted.basis, calibrate(weighted.basis, bare), bare)
    assert found["known answers"]["shown"].ece < 0.025


def test_too_few_facts_to_hold_any_out_are_told():
    bare = split_triples(KnowledgeBase.from_triples([("a", "r", "b")]))
    with pytest.raises(DataError, match="too few facts"):
        calibrate([Rule("r", ("~r",), 1.0)], bare)


def test_given_rules_get_probabilities_that_are_kept_beside_them(tmp_path):
    split = split_triples(family_knowledge_base(), seed=3)
    program = RuleProgram(RULES)
    program.calibrate(split)
    found = measure(program.basis, program.calibration, split)
    assert all(choices["shown"].ece < 0.15 for choices in found.values())  # there are few answers
    path = tmp_path / "rules.json"
    export_rules(path, RULES, "json")
    write_calibration(path, program.calibration)
    loaded = load_program(path)
    assert loaded.calibration == program.calibration
    asked = {"head": split.entities[0], "relation": "uncle", "kb": split.given}
    assert [a.probability for a in loaded.ask(**asked)] == [a.probability for a in program.ask(**asked)]


def test_a_neural_model_is_calibrated_when_it_is_learned(split):
    program = neurallp.learn(split, num_epochs=2, weigh=False)
    assert program.weighted_rules is None
    assert program.calibration is not None
    new = answers_of(program, split.given, "father", split.entities[:20])
    assert all(0 < answer.probability < 1 for answer in new)


def test_equal_seeds_give_equal_probabilities(weighted, split):
    again = weigh_rules(split, CONFIG)
    again.calibrate(split)
    assert again.calibration == weighted.calibration


def test_saving_keeps_a_calibration_and_other_weights_remove_it(weighted, split, tmp_path):
    weighted.save(tmp_path)
    assert load_model(tmp_path).calibration == weighted.calibration
    weigh_rules(split, replace(CONFIG, num_candidates=3, max_questions=20)).save(tmp_path)
    assert load_model(tmp_path).calibration is None


def test_training_into_the_folder_removes_the_calibration(weighted, split, tmp_path):
    weighted.save(tmp_path)
    write_checkpoint(tmp_path, prepare(split, *configure()))
    assert read_calibration(tmp_path) is None

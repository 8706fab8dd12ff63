"""Vetoes: programs without some rules, and what they do to validation ranks."""

import numpy as np
import pytest
from learned_family import learned
from reasoning_samples import BIG_FAMILY, UNCLES
from samples import neural_program, untrained

from neurallp import ConfigError, KnowledgeBase, RuleProgram, UnknownNameError, load_model
from neurallp.pipeline.veto import VetoMeter, veto


@pytest.fixture(scope="module")
def rule():
    _, _, program = learned()
    return str(next(program.weighted_rules.rules(program.relations.id("uncle"))))


def answers(program, kb, relation="uncle"):
    return [
        vars(each) for name in kb.entities for each in program.ask(head=name, relation=relation, kb=kb, k=50)
    ]


def test_a_vetoed_rule_is_gone_and_the_others_keep_their_weights(rule):
    kb, _, program = learned()
    changed, query = veto(program, {"uncle": [rule]}), program.relations.id("uncle")
    before = {str(each): each.weight for each in program.weighted_rules.rules(query)}
    after = {str(each): each.weight for each in changed.weighted_rules.rules(query)}
    assert after == {text: weight for text, weight in before.items() if text != rule}
    assert answers(changed, kb) != answers(program, kb)
    assert answers(changed, kb, "aunt") == answers(program, kb, "aunt")
    assert changed.calibration is program.calibration


def test_every_rule_of_a_query_can_be_vetoed():
    kb, _, program = learned()
    query = program.relations.id("uncle")
    changed = veto(program, {"uncle": list(map(str, program.weighted_rules.rules(query)))})
    assert changed.ask(head=kb.entities[0], relation="uncle", kb=kb) == []


def test_the_vetoed_set_can_be_saved_and_loaded(rule, tmp_path):
    kb, _, program = learned()
    changed = veto(program, {"uncle": [rule]})
    changed.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    assert len(loaded.weighted_rules) == len(program.weighted_rules) - 1
    for one, other in zip(answers(loaded, kb), answers(changed, kb), strict=True):
        assert one["entity"] == other["entity"]
        assert one["score"] == pytest.approx(other["score"])


def test_the_effect_is_the_change_of_the_ranks_that_a_whole_evaluation_finds(rule):
    _, split, program = learned()
    effect = VetoMeter(program, split).measure({"uncle": [rule], "~uncle": []})
    whole = [each.evaluate(split, "valid").mrr for each in (program, veto(program, {"uncle": [rule]}))]
    assert effect.mrr_change == pytest.approx(whole[1] - whole[0])
    of_relation = program.evaluate_per_relation(split, "valid")[1]["uncle"]
    assert effect.before.mrr == pytest.approx(of_relation.mrr)
    assert effect.before.num_questions == of_relation.num_questions < effect.num_questions
    assert effect.as_dict()["mrr_change"] == effect.mrr_change


def test_given_rules_can_be_vetoed():
    kb, program = KnowledgeBase.from_triples(BIG_FAMILY), RuleProgram(UNCLES)
    changed = veto(program, {"uncle": [str(UNCLES[0])]})
    assert list(changed.given) == UNCLES[1:]
    assert np.isclose(changed.explain("zoe", "uncle", "xan", kb=kb).answer.score, 0.5)


def test_a_rule_that_is_not_there_is_an_error_with_the_nearest(rule):
    _, _, program = learned()
    with pytest.raises(UnknownNameError, match=r"Unknown rule .* Did you mean .* The query 'uncle' has"):
        veto(program, {"uncle": [rule[:-1]]})
    with pytest.raises(UnknownNameError, match="Unknown relation 'unkle'"):
        veto(program, {"unkle": []})


def test_a_neural_model_says_that_its_rules_must_be_weighted_first():
    kb = KnowledgeBase.from_triples(BIG_FAMILY)
    with pytest.raises(ConfigError, match="weigh them first"):
        veto(neural_program(untrained(kb), kb), {"father": []})

"""Iterative structural gradient on graphs so small that gains and rules can be written out."""

import numpy as np
import pytest
import torch

from neurallp.config import TrainingConfig
from neurallp.experiments.baselines.isg import Chain, StructuralGradient, chain_attention, fit_isg
from neurallp.graph.knowledge_base import name_parts
from neurallp.neural.training import TrainingExamples

#: Every uncle is the father's brother; every father also has a friend, who is no uncle.
FAMILIES = range(6)
FACTS = [
    fact
    for i in FAMILIES
    for fact in (
        (f"child{i}", "father", f"father{i}"),
        (f"father{i}", "brother", f"uncle{i}"),
        (f"father{i}", "friend", f"friend{i}"),
    )
]
UNCLES = [(f"child{i}", "uncle", f"uncle{i}") for i in FAMILIES]


@pytest.fixture
def split():
    return name_parts({"facts": FACTS, "train": UNCLES[:4], "valid": UNCLES[4:5], "test": UNCLES[5:]})


@pytest.fixture
def learner(split):
    return StructuralGradient(TrainingExamples.of(split, TrainingConfig(training_masking="train")))


def chain(split, target, *body):
    k = split.relations.operator_id
    return Chain(k(target), tuple(map(k, body)))


def test_the_search_finds_the_chains_that_lead_to_answers(split, learner):
    assert learner.grow(num_steps=2, rules_per_round=1, beam=5)
    uncle, niece = chain(split, "uncle", "father", "brother"), chain(split, "~uncle", "~brother", "~father")
    assert set(learner.chains) == {uncle, niece}


def test_no_chain_is_found_where_bodies_are_too_short(learner):
    assert not learner.grow(num_steps=1, rules_per_round=5, beam=5)
    assert learner.chains == []


def test_a_chain_is_added_once(learner):
    assert learner.grow(num_steps=2, rules_per_round=5, beam=5)
    before = list(learner.chains)
    learner.grow(num_steps=2, rules_per_round=5, beam=5)
    assert len(learner.chains) == len(set(learner.chains))
    assert learner.chains[: len(before)] == before


def test_paths_to_answers_and_to_others_are_counted_apart(split, learner):
    chains = [chain(split, "uncle", "father", "brother"), chain(split, "uncle", "father", "friend")]
    attention = chain_attention(chains, 2, learner.operators.num_operators, stop=True)
    counts = learner._collect(chains, attention)
    assert counts.chains.tolist() == [0] * 4 + [1] * 4
    assert counts.positives.tolist() == [1.0] * 4 + [0.0] * 4
    assert counts.negatives.tolist() == [0.0] * 4 + [1.0] * 4


def test_fitting_raises_the_weight_of_a_right_rule_above_that_of_a_wrong_one(split, learner):
    chains = [chain(split, "uncle", "father", "brother"), chain(split, "uncle", "father", "friend")]
    learner._add(chains)
    start = learner.log_weights.tolist()
    assert start[0] == start[1] < 0
    learner.refit()
    right, wrong = learner.log_weights.tolist()
    assert right > start[0] > wrong


def test_the_rules_have_their_weights_as_confidences(split, learner):
    learner._add([chain(split, "uncle", "father", "brother"), chain(split, "uncle", "father", "friend")])
    learner.log_weights = torch.tensor([np.log(0.8), np.log(0.2)], dtype=torch.float64)
    rules = learner.rules(split)
    assert [rule.body for rule in rules] == [("father", "brother"), ("father", "friend")]
    assert [rule.confidence for rule in rules] == pytest.approx([0.8, 0.2])
    assert [rule.normalized_confidence for rule in rules] == pytest.approx([1.0, 0.25])


def test_the_whole_search_answers_the_test(split):
    reasoner = fit_isg(split)
    assert [answer.entity for answer in reasoner.ask(head="child5", relation="uncle")] == ["uncle5"]
    assert [answer.entity for answer in reasoner.ask(tail="uncle5", relation="uncle")] == ["child5"]


def test_without_a_way_to_the_answers_there_are_no_rules():
    split = name_parts(
        {"facts": FACTS[:3], "train": [("child0", "enemy", "stranger")], "valid": [], "test": []}
    )
    assert len(fit_isg(split).basis) == 0


def test_attention_follows_a_chain_and_then_every_operator_alike():
    attention = chain_attention([Chain(0, (2,)), Chain(0, ())], length=2, num_operators=4)
    operator = attention.operator[0].tolist()
    assert operator[0] == [[0, 0, 1, 0], [0.25] * 4]
    assert operator[1] == [[0.25] * 4] * 2
    assert attention.memory[0, 0].tolist() == np.eye(3).tolist()


def test_attention_that_stops_reads_the_memory_where_its_chain_ends():
    chains = [Chain(0, (2,)), Chain(0, (1, 3))]
    attention = chain_attention(chains, length=2, num_operators=4, stop=True)
    assert attention.memory[0, :, -1].tolist() == [[0, 1, 0], [0, 0, 1]]

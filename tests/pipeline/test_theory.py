"""Small theories: how many rules they keep, and what they say it costs."""

import numpy as np
import pytest

from neurallp import learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.pipeline.program import RuleProgram
from neurallp.pipeline.theory import Theory, plain_theory, small_theory
from neurallp.rules.rule import Rule, RuleSet


@pytest.fixture(scope="module")
def split():
    return split_triples(family_knowledge_base(num_people=60, num_generations=3), 0)


@pytest.fixture(scope="module")
def program(split):
    return learn(
        split, train=False, weigh=True, max_length=2, num_candidates=60, num_pairs=50, masking="fact"
    )


def test_a_small_theory_keeps_so_many_rules_of_each_query_and_measures_its_cost(program, split):
    theory = small_theory(program, split, 3)
    assert max(len(theory.rules.about(target)) for target in theory.rules.targets) <= 3
    assert theory.whole_mrr == pytest.approx(program.evaluate(split, "valid").mrr)
    assert theory.mrr == pytest.approx(theory.program.evaluate(split, "valid").mrr)
    assert theory.cost == f"3 rules a query: validation MRR {theory.mrr:.3f}".replace(" 0.", " .") + (
        f" instead of {theory.whole_mrr:.3f}.".replace(" 0.", " .")
    )


def test_a_plain_theory_has_only_chains_with_counted_confidence(program, split):
    theory = plain_theory(program, split, 5)
    assert {rule.kind for rule in theory.rules} == {"chain"}
    assert all(rule.confidence == rule.measured_confidence > 0 for rule in theory.rules)
    assert 0 < theory.mrr < 1


def test_a_plain_theory_is_ranked_by_noisy_or(program, split):
    theory = plain_theory(program, split, 4)
    reasoner = theory.program.reasoner(split.known)
    kb = reasoner.kb
    rules = theory.rules.about("uncle")
    assert rules
    source = int(kb.facts[kb.facts[:, 1] == kb.relations.id("uncle")][0, 0])
    row = reasoner.scores(np.array([source]), np.array([kb.relations.id("uncle")])).row(0)
    found = dict(zip(*(each.tolist() for each in row), strict=True))
    edges = {(h, r, t) for h, r, t in kb.facts.tolist()}

    def follow(entities, name):
        inverse, relation = name.startswith("~"), kb.relations.id(name.removeprefix("~"))
        return {
            (h if inverse else t) for h, r, t in edges if r == relation and (t if inverse else h) in entities
        }

    expected = {}
    for rule in rules:
        reached = {source}
        for name in rule.body:
            reached = follow(reached, name)
        for entity in reached - {source}:
            expected[entity] = expected.get(entity, 1.0) * (1 - min(0.999, rule.measured_confidence))
    for entity, doubt in expected.items():
        assert 1 - np.exp(-found[entity]) == pytest.approx(1 - doubt, abs=1e-9)


def test_given_rules_keep_the_most_confident(split):
    rules = [Rule("uncle", ("father", "brother"), 0.9), Rule("uncle", ("mother", "brother"), 0.8)]
    theory = small_theory(RuleProgram(rules), split, 1)
    assert [rule.body for rule in theory.rules] == [("father", "brother")]


def test_without_validation_the_cost_is_not_known():
    theory = Theory(RuleSet([]), 1, None, None, RuleProgram([]))
    assert theory.cost == "1 rule a query: there is no validation part to measure what that costs."

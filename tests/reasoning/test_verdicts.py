"""Verdicts on claims: true, likely, unlikely or unknown."""

import json

import pytest
from learned_family import learned, with_wrong_fact
from reasoning_samples import BIG_FAMILY, UNCLES

from neurallp import ConfigError, KnowledgeBase, Reasoner


@pytest.fixture(scope="module")
def reasoner():
    kb, _, program = learned()
    return program.reasoner(kb)


def known(reasoner, relation="uncle"):
    return next(fact for fact in reasoner.kb.named_facts() if fact[1] == relation)


def test_a_known_fact_is_true_and_judged_without_itself(reasoner):
    fact = known(reasoner)
    found = reasoner.verify(*fact)
    assert (found.verdict, found.problem) == ("true", None)
    assert found.probability == reasoner.changed(removed=[fact]).verify(*fact).probability
    assert str(found) == f"{found.claim} is true."


def test_a_removed_fact_is_likely_and_a_wrong_one_unlikely(reasoner):
    fact = known(reasoner)
    likely = reasoner.changed(removed=[fact]).verify(*fact)
    assert (likely.verdict, likely.probability > 0.5, likely.threshold) == ("likely", True, 0.5)
    assert likely.proof.reasons
    _, (child, relation, mother) = with_wrong_fact()
    wrong = reasoner.verify(child, relation, mother)
    assert wrong.verdict in ("unlikely", "unknown")
    assert wrong.probability < 0.01


def test_the_threshold_divides_likely_from_unlikely(reasoner):
    fact = known(reasoner)
    changed = reasoner.changed(removed=[fact])
    probability = changed.verify(*fact).probability
    for threshold, verdict in ((probability, "likely"), (probability + 1e-9, "unlikely")):
        assert changed.verify(*fact, threshold=threshold).verdict == verdict


@pytest.mark.parametrize("threshold", [float("nan"), -0.1, 1.1])
def test_a_threshold_that_is_no_probability_is_refused(reasoner, threshold):
    with pytest.raises(ConfigError, match="a probability from 0 to 1, got"):
        reasoner.verify("anna", "uncle", "bob", threshold=threshold)


def test_the_direction_that_finds_it_more_likely_counts(reasoner):
    head, relation, tail = known(reasoner, "cousin")
    changed = reasoner.changed(removed=[(head, relation, tail)])
    both = [changed.explain(head, relation, tail), changed.explain(tail, "~cousin", head)]
    found = changed.verify(head, relation, tail)
    assert found.probability == max(proof.answer.probability for proof in both)
    assert found.proof in both
    assert changed.verify(tail, "~cousin", head) == found


def test_nothing_is_known_where_no_rule_but_a_prior_applies(reasoner):
    head, tail = reasoner.kb.entities[0], reasoner.kb.entities[0]
    found = reasoner.verify(head, "wife", tail)
    assert (found.verdict, found.problem) == ("unknown", "No rule applies to it.")


def test_an_unknown_name_is_no_error_but_unknown(reasoner):
    found = reasoner.verify("nobody at all", "uncle", reasoner.kb.entities[0])
    assert (found.verdict, found.probability, found.proof) == ("unknown", None, None)
    assert found.problem.startswith("Unknown entity 'nobody at all'.")
    assert reasoner.verify(*known(reasoner)[:1], "uncel", "x").problem.startswith("Unknown relation 'uncel'.")


def test_a_verdict_is_a_json_object(reasoner):
    told = json.loads(json.dumps(reasoner.verify(*known(reasoner)).as_dict()))
    assert (told["verdict"], told["threshold"]) == ("true", 0.5)
    assert told["proof"]["reasons"]


def test_without_probabilities_only_facts_and_claims_without_rules_are_judged():
    reasoner = Reasoner(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES)
    assert reasoner.verify("zoe", "father", "yan").verdict == "true"
    assert reasoner.verify("yan", "uncle", "zoe").verdict == "unknown"
    with pytest.raises(ConfigError, match="no probabilities"):
        reasoner.verify("zoe", "uncle", "xan")

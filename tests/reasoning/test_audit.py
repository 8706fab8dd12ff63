"""Audits: unlikely facts first, each judged without itself, and what was looked at."""

import numpy as np
import pytest
from learned_family import learned, with_wrong_fact
from reasoning_samples import BIG_FAMILY, UNCLES
from weighted_samples import random_kb, random_rules

from neurallp import ConfigError, KnowledgeBase, Reasoner, UnknownNameError
from neurallp.reasoning.audit import Auditor
from neurallp.reasoning.verdicts import most_likely_proof


def triple(doubt):
    return doubt.head, doubt.relation, doubt.tail


@pytest.fixture(scope="module")
def reasoner():
    return learned()[2].reasoner(with_wrong_fact()[0])


def test_a_wrong_fact_is_the_least_likely(reasoner):
    _, wrong = with_wrong_fact()
    first, second, *_ = reasoner.audit(limit=5).doubts
    assert triple(first) == wrong
    assert first.probability < 0.01 < 0.1 < second.probability


def test_each_fact_is_judged_as_if_it_alone_were_not_known(reasoner):
    for doubt in reasoner.audit("uncle", limit=3).doubts:
        head, relation, tail = triple(doubt)
        changed = reasoner.changed(removed=[triple(doubt)])
        forward = changed.explain(head, relation, tail).answer.probability
        backward = changed.explain(tail, f"~{relation}", head).answer.probability
        assert doubt.probability == max(forward, backward)
        assert not doubt.proof.answer.is_known


@pytest.mark.parametrize("seed", range(3))
def test_no_fact_that_is_left_out_is_less_likely(seed):
    """Only facts that may be among the least likely are asked in both directions."""
    kb = random_kb(seed, num_facts=60)
    reasoner = Reasoner(kb, random_rules(kb, seed), calibration=learned()[2].calibration)
    every = [
        most_likely_proof(reasoner.changed(removed=[fact]), fact, 1).answer.probability
        for fact in kb.named_facts()
    ]
    found = [doubt.probability for doubt in reasoner.audit(limit=7).doubts]
    assert found == pytest.approx(sorted(every)[:7])


def test_batches_end_where_no_other_fact_can_be_less_likely(reasoner):
    auditor = Auditor(reasoner)
    beliefs = np.arange(1000.0)
    assert [len(rows) for rows in auditor._doubtful(beliefs, 5)] == [256]
    raised = []
    for rows in auditor._doubtful(beliefs, 5):
        beliefs[rows] = 600.0
        raised.append(len(rows))
    assert raised == [256, 256, 256]


def test_it_says_what_was_looked_at(reasoner):
    total = len(reasoner.kb.facts)
    whole, part = reasoner.audit(limit=1), reasoner.audit(limit=1, sample=50)
    assert whole.scope == f"All {total:,} facts were looked at."
    assert part.scope == f"50 of {total:,} facts were looked at, drawn at random."
    assert (part.num_examined, part.num_facts) == (50, total)


def test_the_seed_draws_the_sample(reasoner):
    drawn = [Auditor(reasoner, sample=20, seed=seed).facts.tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_relation_or_an_entity_can_be_chosen(reasoner):
    _, (child, _, _) = with_wrong_fact()
    assert {doubt.relation for doubt in reasoner.audit("aunt", limit=4).doubts} == {"aunt"}
    for doubt in reasoner.audit(entity=child, limit=99).doubts:
        assert child in (doubt.head, doubt.tail)
    with pytest.raises(UnknownNameError, match="Unknown relation 'aun'"):
        reasoner.audit("aun")
    with pytest.raises(ConfigError, match="limit must be at least 1"):
        reasoner.audit(limit=0)


def test_progress_counts_every_fact_once(reasoner):
    done = []
    reasoner.audit(limit=1, on_done=done.append)
    assert sum(done) == len(reasoner.kb.facts)


def test_given_rules_without_probabilities_put_first_what_none_of_them_supports():
    kb = KnowledgeBase.from_triples([*BIG_FAMILY, ("zoe", "uncle", "xan"), ("zoe", "uncle", "kim")])
    first, second = Reasoner(kb, UNCLES).audit("uncle").doubts
    assert (first.tail, first.probability, first.reasons) == ("kim", None, ["no rule applies to it"])
    assert second.reasons == ["because father(zoe, yan) and brother(yan, xan)"]


def test_a_graph_without_facts_of_a_relation_has_no_doubts():
    kb = KnowledgeBase.from_triples(BIG_FAMILY)
    audit = Reasoner(kb, UNCLES).audit("uncle")
    assert (audit.doubts, audit.num_facts) == ((), 0)
    assert audit.as_dict() == {"doubts": [], "num_examined": 0, "num_facts": 0}

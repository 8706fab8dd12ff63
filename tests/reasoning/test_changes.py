"""What-if: a reasoner over changed facts answers as one that was made from them."""

import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from reasoning_samples import BIG_FAMILY, UNCLES, family, reason
from samples import untrained
from weighted_samples import random_kb, random_rules

from neurallp import DataError, KnowledgeBase, Reasoner, UnknownNameError
from neurallp.errors import DataWarning
from neurallp.reasoning.calibration import NUM_FREE, Calibration

CALIBRATION = Calibration(
    (-4.0, -1.0, 2.0), (1.0, 0.5, 0.8, 0.4, 0.7, *[0.3] * NUM_FREE), {}, (0.0, -1.0, -2.0)
)
NEW = [("newcomer", "r", "anna"), ("it's", "T", "newcomer")]


def make(kb, basis):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return Reasoner(kb, basis, calibration=CALIBRATION)


def everything(reasoner):
    """Return what a reasoner says of every question, by name, without regard to the order of equals."""
    said = {}
    for name in sorted(reasoner.kb.entities):
        for k in range(reasoner.relations.num_operators):
            relation = reasoner.relations.operator_name(k)
            for answer in reasoner.ask(head=name, relation=relation, k=99):
                said[name, relation, answer.entity] = (
                    answer.score,
                    answer.rank,
                    float(answer.is_known),
                    answer.probability or 0.0,
                )
    return said


def assert_equal(changed, loaded):
    ours, theirs = everything(changed), everything(loaded)
    assert ours.keys() == theirs.keys()
    keys = sorted(ours)
    assert np.array([ours[key] for key in keys]) == pytest.approx(
        np.array([theirs[key] for key in keys]), rel=1e-9
    )


@pytest.mark.parametrize("seed", range(4))
def test_weighted_rules_answer_as_if_loaded_on_the_changed_facts(seed):
    kb = random_kb(seed)
    facts = list(kb.named_facts())
    basis = random_rules(kb, seed, excludes_linked=seed % 2 == 1)
    removed = facts[seed : seed + 3]
    changed = make(kb, basis).changed(added=NEW, removed=removed)
    triples = [fact for fact in facts if fact not in removed] + NEW
    loaded = KnowledgeBase.from_triples(triples)
    assert set(loaded.entities) == set(changed.kb.entities), "no entity lost its last fact"
    assert set(changed.kb.named_facts()) == set(triples)
    assert_equal(changed, make(loaded, basis))


def test_given_rules_and_a_neural_model_answer_so_too():
    kb = KnowledgeBase.from_triples(BIG_FAMILY)
    added, removed = [("zoe", "mother", "eva"), ("eva", "brother", "udo")], [("uma", "brother", "will")]
    triples = [fact for fact in BIG_FAMILY if fact not in removed] + added
    for basis in (UNCLES, untrained(kb)):
        changed = make(kb, basis).changed(added, removed)
        # The entity that lost its last fact is still one, so the facts are named by the same entities.
        rows = [
            [changed.kb.entities.id(h), kb.relations.id(r), changed.kb.entities.id(t)] for h, r, t in triples
        ]
        loaded = KnowledgeBase(changed.kb.entities, kb.relations, np.array(rows))
        assert_equal(changed, make(loaded, basis))


def test_proofs_use_the_changed_facts_and_the_old_reasoner_stays_as_it_is():
    old = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES)
    before = everything(old)
    without = old.changed(removed=[("yan", "brother", "xan")])
    assert str(without.explain("zoe", "uncle", "xan")) == (
        "uncle(zoe, xan) because mother(zoe, uma) and brother(uma, xan)"
    )
    with_more = without.changed(added=[("yan", "brother", "kim")])
    assert "kim" in {answer.entity for answer in with_more.ask(head="zoe", relation="uncle")}
    assert everything(old) == before


def test_what_cannot_be_changed_is_said():
    old = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES)
    with pytest.raises(DataError, match=r"brother\(yan, uma\) cannot be removed: it is no fact"):
        old.changed(removed=[("yan", "brother", "uma")])
    with pytest.raises(DataError, match=r"brother\(yan, xan\) cannot be added: it is a fact already"):
        old.changed(added=[("yan", "brother", "xan")])
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'brothr'\. Did you mean 'brother'"):
        old.changed(added=[("yan", "brothr", "uma")])
    with pytest.raises(UnknownNameError, match="Unknown entity 'ya'"):
        old.changed(removed=[("ya", "brother", "xan")])


def test_a_model_on_other_entities_can_be_changed_without_another_warning():
    model = family()
    changed = reason(KnowledgeBase.from_triples([("a", "father", "b"), ("b", "brother", "c")]), model)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        answers = changed.changed(added=[("a", "uncle", "c")]).ask(head="a", relation="uncle")
    assert [answer.entity for answer in answers if answer.is_known] == ["c"]


def test_many_threads_may_change_and_ask_at_once():
    kb = random_kb(1)
    old = make(kb, random_rules(kb, 1))
    facts = list(kb.named_facts())
    alone = [everything(old.changed(removed=[fact])) for fact in facts[:6]]
    with ThreadPoolExecutor(6) as pool:
        together = list(pool.map(lambda fact: everything(old.changed(removed=[fact])), facts[:6]))
    for one, other in zip(alone, together, strict=True):
        assert one.keys() == other.keys()
        assert np.array([*one.values()]) == pytest.approx(np.array([*other.values()]), rel=1e-9)

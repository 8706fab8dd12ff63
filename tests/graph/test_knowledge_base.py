from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.errors import ConfigError, DataError, UnknownNameError
from neurallp.graph.arrays import distinct
from neurallp.graph.knowledge_base import KnowledgeBase, name_parts, separate_facts, split_triples
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.graph.vocabulary import Relations, Vocabulary

FAMILY = [("anna", "father", "bob"), ("bob", "brother", "carl"), ("anna", "uncle", "carl")]

ids = st.integers(0, 5)
id_triples = st.lists(st.tuples(ids, st.integers(0, 2), ids), min_size=1, max_size=80)
few = settings(max_examples=40, deadline=None)


def kb_of(id_triples):
    return KnowledgeBase.from_triples((f"e{h}", f"r{r}", f"e{t}") for h, r, t in id_triples)


def dense_kb(num_entities=30, num_relations=4, num_facts=400, seed=0):
    rng = np.random.default_rng(seed)
    draw = (rng.integers(0, size, num_facts) for size in (num_entities, num_relations, num_entities))
    return kb_of(zip(*draw, strict=True))


def rows(triples):
    return list(map(tuple, triples.tolist()))


def pairs(triples):
    return {frozenset((head, tail)) for head, _, tail in rows(triples)}


# Names and ids


def test_a_name_s_place_is_its_id():
    names = Vocabulary(["anna", "bob"])
    assert [names.id(name) for name in names] == [0, 1]
    assert names[1] == "bob"
    assert "bob" in names
    assert "carl" not in names
    assert names.find("carl") == -1


def test_names_are_numbered_in_order_of_appearance_and_head_before_tail():
    kb = KnowledgeBase.from_triples(FAMILY)
    assert kb.entities.names == ("anna", "bob", "carl")
    assert kb.relations.names == ("father", "brother", "uncle")
    assert rows(kb.facts) == [(0, 0, 1), (1, 1, 2), (0, 2, 2)]


def test_an_unknown_entity_is_answered_with_the_nearest_name():
    entities = Vocabulary(["Anna", *(f"person {i}" for i in range(23))])
    with pytest.raises(UnknownNameError) as caught:
        entities.id("Ana")
    assert (
        str(caught.value) == "Unknown entity 'Ana'. Did you mean 'Anna'? The knowledge base has 24 entities."
    )


def test_an_unknown_relation_without_near_names_gets_no_suggestion():
    with pytest.raises(UnknownNameError) as caught:
        Relations(["father", "uncle"]).operator_id("~xyz")
    assert str(caught.value) == "Unknown relation 'xyz'. The knowledge base has 2 relations."


def test_a_name_given_twice_is_refused():
    with pytest.raises(DataError, match="distinct"):
        Vocabulary(["anna", "bob", "anna"])


def test_a_relation_that_looks_like_an_inverse_is_refused():
    with pytest.raises(DataError, match="'~father' starts with '~'"):
        KnowledgeBase.from_triples([("anna", "~father", "bob")])


def test_an_operator_has_one_name_and_the_inverse_of_its_inverse_is_itself():
    relations = Relations(["father", "uncle"])
    names = [relations.operator_name(k) for k in range(relations.num_operators)]
    assert names == ["father", "uncle", "~father", "~uncle"]
    assert [relations.operator_id(name) for name in names] == [0, 1, 2, 3]
    assert [relations.inverse(k) for k in range(4)] == [2, 3, 0, 1]


# Facts


def test_repetitions_are_dropped_and_counted():
    kb = KnowledgeBase.from_triples([*FAMILY, *FAMILY[:2]])
    assert len(kb.facts) == 3
    assert kb.num_duplicates == 2


def test_a_triple_in_two_parts_is_known_once():
    split = name_parts({"facts": FAMILY, "train": FAMILY[:1], "test": FAMILY[:1]})
    assert len(split.known.facts) == 3
    assert len(split.true_triples) == 3
    assert split.num_duplicates == 0


@few
@given(id_triples)
def test_distinct_keeps_first_appearances_in_order(triples):
    assert rows(distinct(np.array(triples))) == list(dict.fromkeys(triples))


def test_parts_share_their_vocabularies_and_those_not_given_are_empty():
    split = name_parts({"train": FAMILY[:2], "test": [("carl", "brother", "dora")]})
    assert split.entities.names == ("anna", "bob", "carl", "dora")
    assert rows(split.test) == [(2, 1, 3)]
    assert split.facts.shape == split.valid.shape == (0, 3)
    assert repr(split) == "Split(facts 0, train 2, valid 0, test 1; 4 entities, 2 relations)"


def test_known_is_facts_and_train_and_nothing_else():
    split = name_parts({"facts": FAMILY[:1], "train": FAMILY[1:2], "valid": FAMILY[2:]})
    assert rows(split.known.facts) == rows(split.facts) + rows(split.train)


def test_a_relation_is_reflexive_if_somebody_stands_in_it_to_themselves():
    kb = KnowledgeBase.from_triples([*FAMILY, ("anna", "knows", "anna"), ("anna", "knows", "bob")])
    assert kb.reflexive_relations.tolist() == [False, False, False, True]


# Questions


def test_a_triple_is_asked_for_its_tail_and_then_for_its_head():
    questions = ask_both_ways(np.array([[0, 2, 7], [3, 1, 4]]), num_relations=5)
    assert questions.sources.tolist() == [0, 7, 3, 4]
    assert questions.queries.tolist() == [2, 7, 1, 6]
    assert questions.answers.tolist() == [7, 0, 4, 3]
    assert questions[1:3].sources.tolist() == [7, 3]
    assert len(questions) == 4


@few
@given(id_triples)
def test_known_answers_are_those_of_the_triples_in_both_directions(triples):
    triples = sorted(set(triples))
    sources, queries = (axis.reshape(-1) for axis in np.meshgrid(np.arange(7), np.arange(6)))
    row, answer = KnownAnswers(np.array(triples), num_relations=3).pairs(sources, queries)
    found = Counter(zip(sources[row].tolist(), queries[row].tolist(), answer.tolist(), strict=True))
    assert found == Counter([(h, r, t) for h, r, t in triples] + [(t, r + 3, h) for h, r, t in triples])
    assert (np.diff(row) >= 0).all()


# Another numbering


def test_facts_move_to_another_numbering_and_those_of_other_relations_are_left_out():
    kb = KnowledgeBase.from_triples(FAMILY)
    moved = kb.with_relations(Relations(["wife", "uncle", "father"]))
    assert rows(moved.facts) == [(0, 2, 1), (0, 1, 2)]
    assert moved.entities is kb.entities
    assert rows(kb.facts) == [(0, 0, 1), (1, 1, 2), (0, 2, 2)]


def test_all_parts_of_a_split_move_to_another_numbering():
    split = name_parts({"facts": FAMILY[:1], "train": FAMILY[1:2], "valid": FAMILY[2:], "test": FAMILY[:1]})
    moved = split.with_relations(Relations(["uncle", "father"]))
    assert rows(moved.facts) == rows(moved.test) == [(0, 1, 1)]
    assert rows(moved.train) == []
    assert rows(moved.valid) == [(0, 0, 2)]


# A random split


@few
@given(id_triples, st.integers(0, 3))
def test_split_parts_are_disjoint_and_together_all_facts(triples, seed):
    kb = kb_of(triples)
    split = split_triples(kb, seed, share=0.2)
    parts = rows(split.train) + rows(split.valid) + rows(split.test)
    assert sorted(parts) == sorted(rows(kb.facts))
    assert len(split.facts) == 0


@few
@given(id_triples, st.integers(0, 3))
def test_every_relation_stays_in_train(triples, seed):
    kb = kb_of(triples)
    assert set(split_triples(kb, seed, share=0.45).train[:, 1]) == set(kb.facts[:, 1])


def test_a_split_has_the_shares_asked_for():
    kb = dense_kb()
    split = split_triples(kb, share=0.2)
    assert len(split.valid) == len(split.test) == round(0.2 * len(kb.facts))


def test_the_same_seed_gives_the_same_split_and_another_seed_another():
    kb = dense_kb()
    assert rows(split_triples(kb, 1).test) == rows(split_triples(kb, 1).test)
    assert rows(split_triples(kb, 1).test) != rows(split_triples(kb, 2).test)


@pytest.mark.parametrize("share", [0, 0.5, -1, float("nan")])
def test_a_share_that_leaves_nothing_is_refused(share):
    with pytest.raises(ConfigError, match=r"between 0 and 0\.5"):
        split_triples(dense_kb(), share=share)


# Facts and train apart


@few
@given(id_triples, st.integers(0, 3))
def test_each_relation_puts_a_quarter_of_its_triples_in_train_but_at_least_one(triples, seed):
    split = split_triples(kb_of(triples), share=0.1)
    inequalities = separate_facts(split, seed)
    asked = Counter(inequalities.train[:, 1].tolist())
    assert asked == {r: max(1, n // 4) for r, n in Counter(split.train[:, 1].tolist()).items()}
    assert sorted(rows(inequalities.facts) + rows(inequalities.train)) == sorted(rows(split.train))


@few
@given(id_triples, st.integers(0, 3))
def test_unlinked_training_pairs_are_not_linked_in_facts(triples, seed):
    split = split_triples(kb_of(triples), share=0.1)
    inequalities = separate_facts(split, seed, unlinked=True)
    assert not pairs(inequalities.facts) & pairs(inequalities.train)
    assert sorted(rows(inequalities.facts) + rows(inequalities.train)) == sorted(rows(split.train))


@few
@given(id_triples, st.integers(0, 3))
def test_unlinked_takes_a_quarter_up_to_the_size_of_the_largest_pair(triples, seed):
    split = split_triples(kb_of(triples), share=0.1)
    largest = max(Counter(frozenset((h, t)) for h, _, t in rows(split.train)).values())
    quarter = max(1, len(split.train) // 4)
    assert quarter <= len(separate_facts(split, seed, unlinked=True).train) < quarter + largest


@pytest.mark.parametrize("unlinked", [False, True])
def test_facts_are_set_apart_reproducibly_and_leave_the_rest_alone(unlinked):
    split = split_triples(dense_kb())
    first, again, other = (separate_facts(split, seed, unlinked) for seed in (1, 1, 2))
    assert rows(first.train) == rows(again.train) != rows(other.train)
    assert first.valid is split.valid
    assert first.test is split.test


def test_facts_that_are_given_stay():
    split = name_parts({"facts": FAMILY[:1], "train": FAMILY[1:]})
    assert separate_facts(split) is split


# Little data


def test_no_triples_give_an_empty_knowledge_base():
    kb = KnowledgeBase.from_triples([])
    assert repr(kb) == "KnowledgeBase(0 entities, 0 relations, 0 facts)"
    assert list(kb.named_facts()) == []
    assert kb.reflexive_relations.tolist() == []
    assert kb.facts.shape == (0, 3)


def test_named_facts_are_the_given_triples():
    assert list(KnowledgeBase.from_triples(FAMILY).named_facts()) == FAMILY


def test_triples_can_come_from_a_generator_once():
    assert len(KnowledgeBase.from_triples(fact for fact in FAMILY).facts) == 3


def test_a_single_fact_stays_in_train():
    split = split_triples(KnowledgeBase.from_triples(FAMILY[:1]), share=0.4)
    assert [len(part) for part in (split.train, split.valid, split.test)] == [1, 0, 0]


def test_a_relation_of_one_fact_each_leaves_nothing_to_hold_out():
    split = split_triples(KnowledgeBase.from_triples(FAMILY), share=0.4)
    assert [len(part) for part in (split.train, split.valid, split.test)] == [3, 0, 0]


@few
@given(id_triples, st.integers(0, 3))
def test_valid_and_test_have_the_same_size_and_keep_the_order_of_the_facts(triples, seed):
    kb = kb_of(triples)
    split = split_triples(kb, seed, share=0.3)
    assert len(split.valid) == len(split.test)
    places = {fact: place for place, fact in enumerate(rows(kb.facts))}
    for part in (split.train, split.valid, split.test):
        assert (np.diff([places[fact] for fact in rows(part)]) > 0).all()


def test_a_split_carries_the_number_of_repetitions_with_it():
    split = split_triples(KnowledgeBase.from_triples([*FAMILY, FAMILY[0]]))
    assert split.num_duplicates == split.known.num_duplicates == 1
    assert separate_facts(split).num_duplicates == 1
    assert split.with_relations(Relations(["father"])).num_duplicates == 1


def test_repetitions_are_counted_in_every_part():
    split = name_parts({"train": [*FAMILY, FAMILY[0]], "test": [FAMILY[1]] * 3})
    assert split.num_duplicates == 3


def test_the_same_numbering_changes_nothing_and_another_order_is_undone_by_its_opposite():
    kb = KnowledgeBase.from_triples(FAMILY)
    assert kb.with_relations(Relations(["father", "brother", "uncle"])).facts is kb.facts
    turned = kb.with_relations(Relations(["uncle", "brother", "father"]))
    assert list(turned.named_facts()) == FAMILY
    assert rows(turned.with_relations(kb.relations).facts) == rows(kb.facts)


def test_facts_of_no_known_relation_are_all_left_out():
    kb = KnowledgeBase.from_triples(FAMILY).with_relations(Relations(["wife"]))
    assert kb.facts.shape == (0, 3)
    assert kb.reflexive_relations.tolist() == [False]


@pytest.mark.parametrize("unlinked", [False, True])
def test_facts_of_a_split_without_train_cannot_be_set_apart_but_stay_empty(unlinked):
    split = name_parts({"test": FAMILY})
    apart = separate_facts(split, unlinked=unlinked)
    assert (len(apart.facts), len(apart.train), len(apart.test)) == (0, 0, 3)


def test_true_triples_are_those_of_all_parts_each_once():
    parts = {"facts": FAMILY[:1], "train": FAMILY[:2], "valid": FAMILY[1:2], "test": FAMILY[2:]}
    split = name_parts(parts)
    assert rows(split.true_triples) == [(0, 0, 1), (1, 1, 2), (0, 2, 2)]

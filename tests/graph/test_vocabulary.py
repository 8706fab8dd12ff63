"""Vocabularies and the names of operators: edge cases and messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.errors import DataError, UnknownNameError
from neurallp.graph.vocabulary import (
    Relations,
    Vocabulary,
    inverse_name,
    inverse_operator,
    is_inverse,
    relation_of,
)

names = st.text("ab~ é", min_size=1, max_size=6)
relation_names = names.filter(lambda name: not name.startswith("~"))


@given(st.lists(names, unique=True, max_size=8))
def test_ids_are_places_and_find_agrees_with_them(drawn):
    vocabulary = Vocabulary(drawn)
    assert list(vocabulary) == drawn
    assert [vocabulary.id(name) for name in drawn] == list(range(len(drawn)))
    assert [vocabulary.find(name) for name in drawn] == list(range(len(drawn)))
    assert len(vocabulary) == len(drawn)


@given(st.lists(names, unique=True, min_size=1, max_size=5), st.data())
def test_any_name_given_twice_is_refused(drawn, data):
    twice = [*drawn, data.draw(st.sampled_from(drawn))]
    with pytest.raises(DataError, match="some entity is given twice"):
        Vocabulary(twice)
    if not any(map(is_inverse, drawn)):
        with pytest.raises(DataError, match="some relation is given twice"):
            Relations(twice)


@given(st.lists(relation_names, unique=True, min_size=1, max_size=6))
def test_the_name_of_an_operator_leads_back_to_it(drawn):
    relations = Relations(drawn)
    for k in range(relations.num_operators):
        name = relations.operator_name(k)
        assert relations.operator_id(name) == k
        assert relations.operator_id(inverse_name(name)) == relations.inverse(k)
        assert relation_of(name) == drawn[k % len(drawn)]
        assert is_inverse(name) == (k >= len(drawn))


@given(st.integers(1, 50), st.data())
def test_the_inverse_of_an_inverse_is_the_operator_itself(num_relations, data):
    k = data.draw(st.integers(0, 2 * num_relations - 1))
    inverse = inverse_operator(k, num_relations)
    assert inverse != k
    assert inverse % num_relations == k % num_relations
    assert inverse_operator(inverse, num_relations) == k


@given(relation_names)
def test_a_name_and_its_inverse_differ_by_one_mark(name):
    assert inverse_name(name) == "~" + name
    assert inverse_name(inverse_name(name)) == name


def test_vocabularies_of_equal_names_are_equal_and_can_be_keys():
    first, again, other = Vocabulary(["a", "b"]), Vocabulary(["a", "b"]), Vocabulary(["b", "a"])
    assert first == again
    assert first != other
    assert first != ("a", "b")
    assert {first: 1}[again] == 1


def test_a_part_of_a_vocabulary_is_a_tuple_of_names():
    assert Vocabulary("abcd")[1:3] == ("b", "c")
    assert Vocabulary("abcd")[-1] == "d"


def test_a_vocabulary_is_printed_by_its_size():
    assert repr(Vocabulary(map(str, range(1200)))) == "Vocabulary(1,200 names)"
    assert repr(Relations(["father"])) == "Relations(1 names)"


def test_names_are_told_apart_by_case_and_by_spaces():
    vocabulary = Vocabulary(["anna", "Anna", "anna "])
    assert [vocabulary.id(name) for name in ("anna", "Anna", "anna ")] == [0, 1, 2]


def test_an_empty_vocabulary_knows_nobody():
    with pytest.raises(
        UnknownNameError, match=r"Unknown entity 'anna'\. The knowledge base has 0 entities\."
    ):
        Vocabulary([]).id("anna")
    assert Vocabulary([]).find("anna") == -1
    assert Relations([]).num_operators == 0


@pytest.mark.parametrize("asked", ["fathr", "~fathr"])
def test_an_unknown_operator_is_answered_with_the_nearest_relation(asked):
    with pytest.raises(UnknownNameError, match=r"Unknown relation 'fathr'\. Did you mean 'father'"):
        Relations(["father", "uncle"]).operator_id(asked)


def test_an_id_that_is_unknown_is_not_an_entity():
    assert 0 not in Vocabulary(["anna"])
    assert "" not in Vocabulary(["anna"])


def test_the_relation_that_looks_like_an_inverse_is_named():
    with pytest.raises(
        DataError, match=r"Relation '~b' starts with '~', which marks an inverse\. Rename it\."
    ):
        Relations(["a", "~b", "~c"])


def test_an_extended_vocabulary_keeps_its_ids_and_the_old_one_its_names():
    old = Vocabulary(["a", "b"])
    new = old.extended(["b", "c", "c", "d"])
    assert (new.names, [new.id(name) for name in "abcd"]) == (("a", "b", "c", "d"), [0, 1, 2, 3])
    assert (old.names, old.find("c")) == (("a", "b"), -1)
    assert old.extended(["a"]) is old

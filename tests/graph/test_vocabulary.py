"""Vocabularies and the names of operators: edge cases and messages."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.errors import DataError, UnknownNameError
from neurallp.graph.numbers import Bins
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


IRIS = ["http://ex.org/anna", "http://ex.org/bob", "http://other.org/bob", "wd:Q42", "carl"]


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("http://ex.org/anna", "http://ex.org/anna"),
        ("<http://ex.org/anna>", "http://ex.org/anna"),
        ("ex:anna", "http://ex.org/anna"),  # a declared prefix
        ("anna", "http://ex.org/anna"),  # what follows the namespace
        ("http://www.wikidata.org/entity/Q42", "wd:Q42"),
        ("Q42", "wd:Q42"),
        ("carl", "carl"),
    ],
)
def test_a_name_may_be_given_in_full_by_a_prefix_or_by_its_end(asked, name):
    vocabulary = Vocabulary(IRIS).with_prefixes({"ex": "http://ex.org/"})
    assert vocabulary.canonical(asked) == name
    assert vocabulary.id(asked) == IRIS.index(name)


def test_an_unknown_text_stays_as_it_is_but_for_a_declared_prefix():
    vocabulary = Vocabulary(IRIS).with_prefixes({"ex": "http://ex.org/"})
    assert [vocabulary.canonical(text) for text in ("eve", "ex:eve")] == ["eve", "http://ex.org/eve"]


def test_a_name_comes_before_what_it_might_be_short_for():
    assert Vocabulary(["anna", "http://ex.org/anna"]).canonical("anna") == "anna"
    assert (
        Vocabulary(["ex:anna", "http://ex.org/anna"]).with_prefixes({"ex": "http://ex.org/"}).id("ex:anna")
        == 0
    )


@pytest.mark.parametrize(("kind", "made"), [("entities", Vocabulary), ("relations", Relations)])
def test_the_end_of_several_names_is_refused_with_these(kind, made):
    both = "http://ex.org/bob, http://other.org/bob"
    for ask in (made(IRIS).canonical, made(IRIS).id):
        with pytest.raises(
            UnknownNameError, match=rf"^'bob' may be any of 2 {kind}: {both}\. Give one in full\.$"
        ):
            ask("bob")


def test_prefixes_are_added_and_the_old_vocabulary_stays():
    old = Vocabulary(IRIS).with_prefixes({"ex": "http://ex.org/"})
    new = old.with_prefixes({"o": "http://other.org/"})
    assert new.prefixes == {"ex": "http://ex.org/", "o": "http://other.org/"}
    assert (old.prefixes, Vocabulary(IRIS).prefixes) == ({"ex": "http://ex.org/"}, {})
    assert new == old
    assert old.with_prefixes({}) is old


def test_an_inverse_may_be_given_by_the_end_of_its_relation():
    relations = Relations(["http://ex.org/knows", "http://ex.org/likes"])
    assert relations.canonical_operator("~likes") == "~http://ex.org/likes"
    assert relations.canonical_operator("likes") == "http://ex.org/likes"
    assert relations.operator_id("~likes") == 3


def test_a_number_stands_for_its_bin_where_the_relation_has_bins():
    vocabulary = Vocabulary(["anna", "< 1950", ">= 1950", "1955"])
    vocabulary.bins = {"born": Bins((1950.0,), ("< 1950", ">= 1950"))}
    assert vocabulary.canonical_object("1955", "born") == ">= 1950"
    assert vocabulary.canonical_object("< 1950", "born") == "< 1950"
    assert vocabulary.canonical_object("1955", "knows") == "1955"
    assert [vocabulary.object_id(text, "born") for text in ("1920", "1955", "anna")] == [1, 2, 0]
    assert vocabulary.object_id("1955", "knows") == 3
    with pytest.raises(UnknownNameError, match="Unknown entity 'eve'"):
        vocabulary.object_id("eve", "born")


def test_other_names_keep_prefixes_and_bins():
    vocabulary = Vocabulary(IRIS).with_prefixes({"ex": "http://ex.org/"})
    vocabulary.bins = {"born": Bins((), ("any",))}
    renamed = vocabulary.with_names(["http://ex.org/eve"])
    assert renamed.names == ("http://ex.org/eve",)
    assert renamed.id("ex:eve") == 0
    assert renamed.bins == vocabulary.bins


def test_vocabularies_of_other_names_are_other_keys():
    assert len({hash(Vocabulary([name])) for name in "abcdef"}) > 1


@pytest.mark.parametrize(("operator", "inverse"), [(0, 3), (2, 5), (3, 0), (5, 2)])
def test_the_inverse_of_relation_r_of_three_is_operator_r_plus_three(operator, inverse):
    assert inverse_operator(operator, 3) == inverse


@pytest.mark.parametrize(("size", "is_searched"), [(1_000_000, True), (1_000_001, False)])
def test_more_than_a_million_names_are_not_searched_for_an_end(size, is_searched, monkeypatch):
    monkeypatch.setattr(Vocabulary, "__len__", lambda self: size)
    assert Vocabulary(IRIS).canonical("anna") == (IRIS[0] if is_searched else "anna")


def test_a_declared_prefix_decides_between_names_with_the_same_end():
    vocabulary = Vocabulary(["http://ex.org/bob", "http://other.org/bob"])
    vocabulary = vocabulary.with_prefixes({"ex": "http://ex.org/", "o": "http://other.org/"})
    assert [vocabulary.id(text) for text in ("ex:bob", "o:bob", "<http://other.org/bob>")] == [0, 1, 1]

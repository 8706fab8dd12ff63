"""Changes in an address."""

from hypothesis import given
from hypothesis import strategies as st

from neurallp.web.changes import UNCHANGED, Changes, as_fact, read_changes

FACT, OTHER = ("a", "r", "b"), ("b", "s", "c")
names = st.text(st.characters(exclude_characters="\t", exclude_categories=["Cs"]), min_size=1)


def test_nothing_changes_without_changes():
    assert not UNCHANGED
    assert read_changes() == UNCHANGED


def test_a_fact_that_is_added_and_removed_again_is_as_before():
    assert UNCHANGED.adding(FACT).removing(FACT) == UNCHANGED
    assert UNCHANGED.removing(FACT).adding(FACT) == UNCHANGED
    assert UNCHANGED.switching("uncle:1").switching("uncle:1") == UNCHANGED


def test_a_change_that_is_made_twice_is_made_once():
    assert UNCHANGED.adding(FACT).adding(FACT) == UNCHANGED.adding(FACT)
    assert UNCHANGED.removing(FACT).removing(OTHER).remove == ("a\tr\tb", "b\ts\tc")


def test_a_fact_in_three_fields_is_added_only_when_it_is_complete():
    assert read_changes(add_head="a", add_relation="r", add_tail="b") == UNCHANGED.adding(FACT)
    assert read_changes(add_head="a", add_relation="r") == UNCHANGED


@given(st.lists(st.tuples(names, names, names), max_size=3, unique=True))
def test_an_address_holds_all_changes(facts):
    changes = UNCHANGED
    for fact in facts:
        changes = changes.adding(fact)
    parameters = changes.parameters
    assert Changes(add=tuple(value for _, value in parameters)) == changes
    assert [as_fact(value) for _, value in parameters] == facts

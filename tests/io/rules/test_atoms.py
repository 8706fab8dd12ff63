import pytest

from neurallp import Rule
from neurallp.io.rules.atoms import Atom, body_atoms, decimal, find_chain


def test_an_inverse_has_its_variables_swapped():
    assert body_atoms(Rule("r", ("s", "~t"), 1.0)) == [Atom("s", "X", "A"), Atom("t", "Y", "A")]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ([Atom("s", "X", "A"), Atom("t", "A", "Y")], ("s", "t")),
        ([Atom("t", "Y", "A"), Atom("s", "A", "X")], ("~s", "~t")),
        ([Atom("s", "X", "Y")], ("s",)),
        ([Atom("s", "X", "A")], None),  # does not reach the end
        ([Atom("s", "A", "B")], None),  # does not begin at the source
        ([Atom("s", "X", "A"), Atom("t", "X", "B")], None),  # branches
        ([Atom("s", "X", "A"), Atom("t", "A", "X"), Atom("u", "X", "Y")], None),  # returns
        ([Atom("s", "X", "X")], None),
    ],
)
def test_atoms_in_any_order_are_a_chain_or_none(body, expected):
    assert find_chain(Atom("r", "X", "Y"), body) == expected


@pytest.mark.parametrize(("value", "text"), [(0.5, "0.5"), (1.0, "1.0"), (1e-7, "0.0000001"), (0.0, "0.0")])
def test_numbers_have_a_point_and_no_exponent(value, text):
    assert decimal(value) == text


def test_a_chain_never_returns_to_a_variable():
    around = [Atom("s", "X", "A"), Atom("t", "A", "B"), Atom("u", "B", "A"), Atom("v", "A", "Y")]
    assert find_chain(Atom("r", "X", "Y"), around) is None

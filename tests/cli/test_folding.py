import pytest
from rich.cells import cell_len

from neurallp.cli.folding import filled, lines_of_atoms, lines_of_proof

BODY = "granddaughter(A, X), granddaughter(A, B), brother(B, Y), X != Y"


def test_no_line_of_a_rule_begins_or_ends_within_an_atom_or_an_inequality():
    assert lines_of_atoms(BODY, 45) == ["granddaughter(A, X), granddaughter(A, B),", "brother(B, Y), X != Y"]
    assert lines_of_atoms(BODY, 22)[-1] == "brother(B, Y), X != Y"
    assert lines_of_atoms("a(X, Y), X != A, X != Y", 20) == ["a(X, Y), X != A,", "X != Y"]


def test_an_example_is_folded_before_what_it_is_based_on():
    text = "uncle(ann, tom) as mother(ann, eve), brother(eve, tom)"
    assert lines_of_atoms(text, 40) == ["uncle(ann, tom) as mother(ann, eve),", "brother(eve, tom)"]
    assert lines_of_atoms(text, 30) == ["uncle(ann, tom)", "as mother(ann, eve),", "brother(eve, tom)"]


def test_an_atom_that_is_too_long_is_folded_between_words():
    text = "works on(Zoë de Boer, the Project of the Year), led by(A, B)"
    lines = lines_of_atoms(text, 24)
    assert max(map(cell_len, lines)) <= 24
    assert " ".join(lines) == text


@pytest.mark.parametrize("width", [20, 33, 80])
@pytest.mark.parametrize(
    "text", [BODY, "r(小明 Wang, b)  (+1 similar)", "no_atom", "r(a, b) and s(b, c) as t(c, d)"]
)
def test_folding_changes_no_character_but_spaces_at_the_ends_of_lines(width, text):
    assert " ".join(lines_of_atoms(text, width)) == text


def test_lines_are_filled_and_a_part_that_is_longer_stands_alone():
    assert list(filled(["MRR 0.9", "Hits@10 0.95", "x"], 12)) == ["MRR 0.9", "Hits@10 0.95", "x"]
    assert list(filled(["MRR 0.9", "x", "Hits@10 0.95"], 12, ", ")) == ["MRR 0.9, x", "Hits@10 0.95"]
    assert list(filled([], 12)) == []


PROOF = """uncle(zoe, xan)
  because     +2.00 ██████████ father(zoe, yan) and brother(yan, xan)  (and 2 more paths)
              +0.25            4 more reasons together, the largest +0.12"""


def test_the_facts_of_a_proof_go_on_below_where_they_begin():
    assert list(lines_of_proof(PROOF, 72)) == [
        "uncle(zoe, xan)",
        "  because     +2.00 ██████████ father(zoe, yan)",
        "                               and brother(yan, xan)  (and 2 more paths)",
        "              +0.25            4 more reasons together, the largest",
        "                               +0.12",
    ]
    assert "\n".join(lines_of_proof(PROOF, 100)) == PROOF


def test_in_a_narrow_terminal_the_facts_of_a_proof_stand_below_their_bar():
    lines = list(lines_of_proof(PROOF, 40))
    assert lines[1:3] == ["  because     +2.00 ██████████", "    father(zoe, yan) and brother(yan,"]
    assert max(map(cell_len, lines)) <= 40


def test_a_proof_of_one_sentence_is_indented_from_its_second_line_on():
    text = "uncle(zoe, xan) because father(zoe, yan) and brother(yan, xan)"
    first, second = lines_of_proof(text, 45)
    assert first == "uncle(zoe, xan) because father(zoe, yan)"
    assert second == "    and brother(yan, xan)"

from dataclasses import replace

import pytest

from neurallp.errors import FormatError
from neurallp.io.rules import problog, prolog, souffle
from neurallp.io.rules.logic import quote_atom
from neurallp.io.rules.souffle import quote_symbol
from neurallp.io.triples import write_triples
from neurallp.rules.rule import Rule

UNCLE = Rule("uncle", ("father", "~brother"), 0.25, 0.5, distinct_ends=True)
SELF = Rule("like", (), 1.0)


def last_line(text):
    return text.splitlines()[-1]


def test_prolog_concludes_with_confidence():
    expected = r"derived(X, uncle, Y, 0.25) :- fact(X, father, A), fact(Y, brother, A), X \= Y."
    assert last_line(prolog.render([UNCLE], {})) == expected


def test_problog_takes_the_measured_confidence_or_the_one_the_rule_came_with():
    assert last_line(problog.render([UNCLE], {})).startswith("0.25::derived(X, uncle, Y) :- ")
    counted = replace(UNCLE, support=1, num_predictions=8)
    assert last_line(problog.render([counted], {})).startswith("0.125::derived(")


def test_souffle_declares_what_it_reads_and_writes():
    text = souffle.render([UNCLE], {})
    assert ".input fact\n" in text
    assert ".output derived\n" in text
    expected = 'derived(X, "uncle", Y, 0.25) :- fact(X, "father", A), fact(Y, "brother", A), X != Y.'
    assert last_line(text) == expected


@pytest.mark.parametrize("render", [prolog.render, problog.render, souffle.render])
def test_entities_are_named_only_where_a_rule_has_no_body(render):
    assert "entity" not in render([UNCLE], {})
    assert last_line(render([UNCLE, SELF], {})).endswith(":- entity(X), X = Y.")


def test_small_confidences_have_no_exponent():
    assert "Y, 0.00000001)" in prolog.render([replace(UNCLE, confidence=1e-8)], {})


@pytest.mark.parametrize(
    ("name", "atom"),
    [
        ("father", "father"),
        ("Father", "'Father'"),
        ("is father of", "'is father of'"),
        ("it's", r"'it\u0027s'"),
        ("a\\", r"'a\u005c'"),
        ("père", "'père'"),
        ("a\nb", r"'a\u000ab'"),
        ("\U000e0001", r"'\U000e0001'"),
        ("", "''"),
    ],
)
def test_names_become_atoms(name, atom):
    assert quote_atom(name) == atom


def test_names_become_symbols_of_souffle_but_for_a_null():
    assert quote_symbol('a"b\\c\n\t\r') == r'"a\"b\\c\n\t\r"'
    with pytest.raises(FormatError, match="Rename it"):
        quote_symbol("a\0")


def test_triples_are_written_as_facts(tmp_path):
    write_triples(tmp_path / "facts.pl", [("Anna", "father", "bob")])
    write_triples(tmp_path / "facts.problog", [("Anna", "father", "bob")])
    fact = "fact('Anna', father, bob).\n"
    assert (tmp_path / "facts.pl").read_text() == ":- encoding(utf8).\n" + fact
    assert (tmp_path / "facts.problog").read_text() == fact

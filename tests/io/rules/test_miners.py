from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import load_model
from neurallp.errors import ConfigError, FormatError
from neurallp.io.rules import amie, anyburl
from neurallp.io.rules.atoms import Atom, body_atoms, find_chain
from neurallp.io.rules.base import RuleFile
from neurallp.io.triples import load, write_triples
from neurallp.rules.rule import Rule, RuleSet

UNCLE = Rule("uncle", ("father", "brother"), 0.5, distinct_ends=True, support=60, num_predictions=120)
LINE = "120\t60\t0.5\tuncle(X,Y) <= father(X,A), brother(A,Y)\n"

AMIE = """\
Assuming 9 as type relation
Starting the mining phase... Using 16 threads
Rule\tHead Coverage\tStd Confidence\tPCA Confidence\tPositive Examples\tBody size\tPCA Body size\tFunctional
?a  father  ?h  ?h  brother  ?b   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\t-1\r
?h  brother  ?b  ?a  father  ?h   => ?a  uncle  ?b\t0.1\t0,25\t0,6\t30\t120\t100\t?a
?h  <has son>  ?b  ?a  <has son>  ?h   => ?b  <http://ex.org/grandfather>  ?a\t0.1\t1\t1\t20\t20\t20\t-2
?a  father  ?b  ?a  mother  ?b   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\t-1
?a  livesIn  Rome   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120\t100\t-1
Mining done in 31 ms
4 rules mined.
"""


def parsed(text):
    return anyburl.parse(text, Path("rules.txt"))


def test_a_rule_is_written_as_anyburl_writes_it_and_read_back():
    assert anyburl.render([UNCLE], {}) == LINE
    assert parsed(LINE) == RuleFile(RuleSet([UNCLE]))


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("r(X,Y) <= s(Y,X)", ("~s",)),
        ("r(X,Y) <= s(A,X), t(A,Y)", ("~s", "t")),
        ("r(X,Y) <= s(A,Y), t(A,X)", ("~t", "s")),
        ("r(X,Y) <= s(B,Y), t(X,A), u(B,A)", ("t", "~u", "s")),
        ("r(X,Y) <= /film/film(2)/genre(X,A), s, t(A,Y)", ("/film/film(2)/genre", "s, t")),
        ("r(X,Y) <= s(X,Y) ", ("s",)),
    ],
)
def test_atoms_may_stand_in_any_order_and_direction(text, body):
    file = parsed(f"4\t2\t0.5\t{text}\r\n\n")
    assert (file.rules[0].target, file.rules[0].body, file.num_skipped) == ("r", body, 0)


@pytest.mark.parametrize(
    "text",
    [
        "r(X,anna) <= s(X,A), t(A,bob)",
        "r(X,anna) <= ",
        "r(bob,anna) <= s(X,A)",
        "r(X,Y) <= s(X,anna), t(anna,Y)",
        "r(X,X) <= s(X,A)",
        "r(Y,X) <= s(Y,X)",
        "r(X,Y) <= s(X,A), t(A,B)",
        "r(X,Y) <= s(X,Y), t(X,Y)",
        "r(X,Y) <= s(X,A), t(A,A), u(A,Y)",
        "r(X,Y) <= s(X,A), t(B,Y)",
        "r(X,Y)",
    ],
)
def test_rules_of_other_forms_are_skipped_and_counted(text):
    assert parsed(f"4\t2\t0.5\t{text}\n") == RuleFile(RuleSet([]), 1)


@pytest.mark.parametrize(
    ("text", "target", "answer", "body", "end"),
    [
        ("r(X,anna) <= s(X,A)", "r", "anna", "s", None),
        ("r(X,anna) <= s(A,X)", "r", "anna", "~s", None),
        ("r(X,anna) <= s(X,bob)", "r", "anna", "s", "bob"),
        ("r(X,anna) <= s(bob,X)", "r", "anna", "~s", "bob"),
        ("r(anna,Y) <= s(bob,Y)", "~r", "anna", "~s", "bob"),
        ("r(anna,Y) <= s(Y,A)", "~r", "anna", "s", None),
        ("in (now)(X,York (NY), US) <= s(X,a b, (c))", "in (now)", "York (NY), US", "s", "a b, (c)"),
    ],
)
def test_rules_of_one_edge_that_name_their_answer_are_read(text, target, answer, body, end):
    (rule,) = parsed(f"4\t2\t0.5\t{text}\n").rules
    expected = Rule(target, (body,), 0.5, distinct_ends=True, kind="unary", answer=answer, body_end=end)
    assert rule == replace(expected, support=2, num_predictions=4)


FILMS = {"noir": "wilder", "comedy": "tati", "horror": "romero"}


def test_rules_of_anyburl_that_name_two_entities_are_weighted_in_both_directions(run, tmp_path):
    names = [(genre, director, f"{genre}{i}") for genre, director in FILMS.items() for i in range(20)]
    facts = [
        fact
        for place, (genre, director, film) in enumerate(names)
        for fact in [(film, "director", director), *([(film, "genre", genre)] if place % 5 else [])]
    ]
    write_triples(tmp_path / "facts.tsv", facts)
    rules = [f"20\t16\t0.8\tgenre(X,{genre}) <= director(X,{name})\n" for genre, name in FILMS.items()]
    (tmp_path / "rules.txt").write_text("".join(rules) + "20\t1\t0.05\tgenre(X,noir) <= director(X,A)\n")
    code, *_ = run("weigh", tmp_path / "rules.txt", tmp_path / "facts.tsv", "--out", tmp_path / "model")
    assert code == 0
    model = load_model(tmp_path / "model")
    queries = model.weighted_rules.queries
    kinds = {query: {rule.kind for rule in own.rules} for query, own in queries.items()}
    named = {model.relations.operator_name(query): found - {"prior"} for query, found in kinds.items()}
    assert (named["genre"], named["~genre"]) == ({"unary"}, {"sourced"})
    kb = load(tmp_path / "facts.tsv")
    assert model.ask(head="noir0", relation="genre", kb=kb)[0].entity == "noir"
    films = {answer.entity for answer in model.ask(relation="genre", tail="noir", kb=kb, k=20)}
    assert films == {"noir0", "noir5", "noir10", "noir15"}  # those whose genre is no known fact


def test_every_fault_is_reported_with_its_line():
    with pytest.raises(FormatError) as caught:
        parsed(f"{LINE}4\t2\tr(X,Y) <= s(X,Y)\n{LINE}4\ttwo\t0.5\tr(X,Y) <= s(X,Y)\n")
    first, second = str(caught.value).splitlines()
    assert first.startswith("rules.txt:2: expected predictions, support, confidence and rule")
    assert second.startswith("rules.txt:4: ")


def test_anyburl_refuses_rules_without_counts_and_names_the_option():
    with pytest.raises(ConfigError) as caught:
        anyburl.render([replace(UNCLE, support=None)], {})
    assert str(caught.value) == (
        f"AnyBURL needs counts, and {UNCLE} has none. Count them on facts: give DATA."
    )


def test_anyburl_refuses_a_rule_without_body():
    rule = replace(UNCLE, body=())
    with pytest.raises(FormatError) as caught:
        anyburl.render([rule], {})
    assert str(caught.value) == (
        f"AnyBURL cannot represent {rule}. Leave it out, or rename relations that contain brackets."
    )


def test_confidences_are_normalised_by_target():
    rules = parsed(LINE + LINE.replace("60\t0.5", "30\t0.25")).rules
    assert [rule.normalized_confidence for rule in rules] == [1.0, 0.5]


def test_amie_is_read_among_its_messages():
    file = amie.parse(AMIE, Path("rules.tsv"))
    rules = file.rules
    assert file.num_skipped == 2
    plain = replace(UNCLE, distinct_ends=False)
    assert list(rules[:2]) == [
        plain,
        replace(plain, confidence=0.25, normalized_confidence=0.5, support=30),
    ]
    assert (rules[2].target, rules[2].body) == ("http://ex.org/grandfather", ("~<has son>", "~<has son>"))


def test_a_damaged_line_of_amie_is_reported():
    with pytest.raises(FormatError, match=r"rules.tsv:1: expected rule, head coverage"):
        amie.parse("?a  father  ?b   => ?a  uncle  ?b\t0.1", Path("rules.tsv"))
    with pytest.raises(FormatError, match=r"rules.tsv:1"):
        amie.parse("?a  father   => ?a  uncle  ?b\t0.1\t0.5\t0.6\t60\t120", Path("rules.tsv"))


@given(st.lists(st.sampled_from(["r", "~r", "s", "~s"]), max_size=30), st.randoms())
def test_a_chain_is_found_again_from_its_atoms_in_any_order(body, random):
    rule = Rule("r", tuple(body), 1.0)
    atoms = body_atoms(rule)
    random.shuffle(atoms)
    assert find_chain(Atom("r", "X", "Y"), atoms) == (rule.body if body else None)


@pytest.mark.parametrize(
    "line", ["nan\t1\t0.5", "3\t-1\t0.5", "-3\t1\t0.5", "3\t1\tnan", "3\t1\tinf", "3\t1\t-0.5"]
)
def test_counts_and_confidences_that_nothing_can_have_are_refused(line):
    with pytest.raises(FormatError, match=r"rules.txt:1: expected predictions, support, confidence"):
        anyburl.parse(f"{line}\tuncle(X,Y) <= father(X,A), brother(A,Y)\n", Path("rules.txt"))


def test_anyburl_is_recognised_by_the_arrow_of_its_first_line():
    assert anyburl.recognizes("1\t1\t1.0\tr(X,Y) <= s(X,Y)\n")
    assert not anyburl.recognizes("other\n1\t1\t1.0\tr(X,Y) <= s(X,Y)\n")
    assert not anyburl.recognizes("r(X,Y)<=s(X,Y)")


def test_anyburl_has_one_line_for_each_rule_and_no_line_end_in_a_name():
    counted = Rule("r", ("s",), 0.5, support=1, num_predictions=2)
    assert anyburl.render([counted, counted], {}) == 2 * "2\t1\t0.5\tr(X,Y) <= s(X,Y)\n"
    for name in ("s\t", "a\nb", "a\rb"):
        with pytest.raises(FormatError, match="cannot represent"):
            anyburl.render([replace(counted, body=(name,))], {})


def test_a_line_without_a_body_is_no_chain():
    found = anyburl.parse("1\t1\t1.0\tr(X,Y) <= \n1\t1\t1.0\tr(X,Y) <= s(X,Y)\n", Path("rules.txt"))
    assert (len(found.rules), found.num_skipped) == (1, 1)


@pytest.mark.parametrize("text", ["r(X,Y) <= s(anna,X), t(anna,Y)", "r <= s(X,Y)"])
def test_a_constant_on_the_path_or_no_head_is_no_chain(text):
    assert parsed(f"4\t2\t0.5\t{text}\n") == RuleFile(RuleSet([]), 1)


def test_the_first_arrow_divides_head_and_body():
    (chain,) = parsed("4\t2\t0.5\tr(X,Y) <= s <= t(X,Y)\n").rules
    assert (chain.target, chain.body) == ("r", ("s <= t",))
    (named,) = parsed("4\t2\t0.5\tr(X,anna) <= s <= t(X,A)\n").rules
    assert (named.target, named.answer, named.body) == ("r", "anna", ("s <= t",))

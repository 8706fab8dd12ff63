import importlib
import json
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import foreign
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurallp.datasets.family import family_knowledge_base
from neurallp.errors import ConfigError, DataError, DataWarning, FormatError
from neurallp.io.rules import EXPORTS, IMPORTS, LOSSLESS, export_rules, import_rules
from neurallp.rules.rule import Rule, RuleSet
from neurallp.rules.simplify import face_forward, invert_rule, require_distinct_variables
from neurallp.rules.support import measure

UNCLE = Rule("uncle", ("father", "brother"), 0.5, distinct_ends=True, support=60, num_predictions=120)

NASTY = [
    "it's",
    'say "hi"',
    "back\\slash",
    "end\\",
    "new\nline",
    "\r",
    "tab\t",
    "x" * 10_000,
    "é",
    "X",
    "a(X,Y)",
    "<b>",
    "%",
]
names = st.one_of(st.sampled_from(NASTY), st.text(min_size=1)).filter(
    lambda name: not name.startswith("~") and "\0" not in name
)
any_rules = st.builds(
    Rule,
    target=names,
    body=st.lists(names, max_size=3).map(tuple),
    confidence=st.floats(0, 2),
    normalized_confidence=st.floats(0, 1),
    distinct_ends=st.booleans(),
    inequalities=st.just(()) | st.just(((0, 1),)),
    support=st.none() | st.integers(0, 9),
    num_predictions=st.none() | st.integers(0, 9),
).filter(lambda rule: rule.body or not rule.inequalities)
within_test = settings(
    deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)

TOOLS = {
    "prolog": foreign.by_prolog,
    "problog": foreign.by_problog,
    "sparql": foreign.by_sparql,
    "sql": foreign.by_duckdb,
    "souffle": foreign.by_souffle,
}

TRIPLES = [tuple(word) for word in ["arb", "brc", "csa", "asa", "dtb", "btd", "drd", "ctc", "atd", "bsb"]]


def all_kinds_of_rules():
    """Rules of every length and direction; each has a target of its own, which tells them apart."""
    bodies = [
        (),
        ("r",),
        ("~s",),
        ("r", "s"),
        ("~t", "r"),
        ("r", "~r"),
        ("~r", "~s"),
        ("r", "s", "~t"),
        ("s", "s", "s"),
    ]
    kinds = [(body, distinct, mark) for body in bodies for distinct in (False, True) for mark in ("", "~")]
    rules = [
        Rule(f"{mark}rule{i}", body, 0.5 + 0.001 * i, 0.5, distinct_ends=distinct)
        for i, (body, distinct, mark) in enumerate(kinds)
    ]
    long = [replace(rule, target=f"{rule.target}_apart") for rule in rules if len(rule.body) > 1]
    from_source = [replace(rule, inequalities=((0, 1), (0, 2))) for rule in long]
    return [
        *rules,
        *from_source,
        *require_distinct_variables(replace(r, target=f"{r.target}_all") for r in long),
    ]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_kind_of_rule_derives_the_same_pairs_elsewhere(tool, tmp_path):
    rules = all_kinds_of_rules()
    expected = foreign.by_engine(rules, TRIPLES)
    assert {relation for _, relation, _ in expected} >= {f"rule{i}" for i in (0, 1, 4)}
    assert TOOLS[tool](rules, TRIPLES, tmp_path) == expected


@pytest.mark.parametrize("tool", TOOLS)
def test_no_rule_feeds_on_what_another_concludes(tool, tmp_path):
    rules = [Rule("r", ("r", "r"), 0.5), Rule("s", ("r", "s"), 0.5)]
    assert TOOLS[tool](rules, TRIPLES, tmp_path) == foreign.by_engine(rules, TRIPLES)


def test_random_rules_derive_the_same_pairs_here_in_duckdb_and_in_prolog(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parent.parent.parent.parent / "benchmarks")
    exports = importlib.import_module("exports")
    rows = exports.compare(exports.make_rules(5, 100, seed=0), exports.make_triples(300, 5, 1_000))
    assert [row["program"] for row in rows] == ["neurallp", "DuckDB", "SWI-Prolog"]
    assert rows[0]["derived"] > 10_000
    assert all(row["equal"] for row in rows)


@pytest.mark.parametrize("tool", TOOLS)
@given(entities=st.lists(names, min_size=2, max_size=3), relations=st.lists(names, min_size=2, max_size=2))
@settings(within_test, max_examples=12)
def test_any_name_survives_another_program(tool, tmp_path, entities, relations):
    if tool == "souffle":
        pytest.skip("its facts are tab-separated text, which holds no tabs or line ends")
    (first, *_, last), (one, two) = entities, relations
    triples = [(first, one, last), (last, two, first)]
    rules = [Rule(one, (one, two), 0.5), Rule("~" + two, ("~" + two,), 0.25, distinct_ends=True)]
    assert TOOLS[tool](rules, triples, tmp_path) == foreign.by_engine(rules, triples)


@pytest.mark.parametrize("form", ["tsv", "json"])
@given(rules=st.lists(any_rules, min_size=1, max_size=3))
@settings(within_test, max_examples=50)
def test_our_own_formats_give_back_every_rule(form, tmp_path, rules):
    export_rules(tmp_path / "rules", rules, form)
    assert import_rules(tmp_path / "rules", form).rules == RuleSet(rules)


NAMED = Rule("r", ("~s",), 0.5, distinct_ends=True, kind="sourced", source="it's", body_start="a\tb")


@pytest.mark.parametrize("form", EXPORTS)
def test_rules_that_name_their_source_are_held_by_our_own_formats_alone(form, tmp_path):
    rules = [UNCLE, NAMED]
    kept = export_rules(tmp_path / "rules", rules, form)
    assert kept == (rules if form in LOSSLESS else [UNCLE])
    if form in LOSSLESS:
        assert import_rules(tmp_path / "rules", form).rules == RuleSet(rules)


@given(rule=any_rules)
@settings(within_test, max_examples=100)
def test_anyburl_gives_a_rule_back_or_refuses_it(tmp_path, rule):
    rule = replace(rule, support=3, num_predictions=4, distinct_ends=True, inequalities=())
    with suppress(FormatError):
        export_rules(tmp_path / "rules.txt", [rule], "anyburl")
        found = import_rules(tmp_path / "rules.txt", "anyburl")
        assert found.rules == RuleSet([replace(rule, confidence=0.75, normalized_confidence=1.0)])


def test_what_is_learned_survives_anyburl(tmp_path):
    kb = family_knowledge_base(num_people=60, num_generations=3)
    bodies = [
        ("father", "brother"),
        ("mother", "brother"),
        ("~son", "brother"),
        ("~nephew",),
        ("father", "~son", "~wife"),
    ]
    rules = measure((Rule("uncle", body, 0.5, distinct_ends=True) for body in bodies), kb)
    kept = {"num_answerable": None, "num_paths": None}  # AnyBURL has no column for these
    rules = [replace(rule, confidence=rule.measured_confidence, **kept) for rule in rules]
    export_rules(tmp_path / "rules.txt", rules, "anyburl")
    found = import_rules(tmp_path / "rules.txt", "anyburl").rules
    assert [replace(rule, normalized_confidence=1.0) for rule in found] == rules


@pytest.mark.parametrize("form", EXPORTS)
def test_an_inverse_target_is_written_as_what_it_derives(form, tmp_path):
    rule = Rule("~uncle", ("~brother", "~father"), 0.5, support=60, num_predictions=120)
    export_rules(tmp_path / "one", [rule], form)
    export_rules(tmp_path / "other", [face_forward(rule)], form)
    same = (tmp_path / "one").read_text() == (tmp_path / "other").read_text()
    assert same == (form not in ("tsv", "json"))


def test_a_rule_given_from_both_ends_is_written_once(tmp_path):
    export_rules(tmp_path / "rules", [UNCLE, invert_rule(UNCLE)], "anyburl")
    assert (tmp_path / "rules").read_text().count("\n") == 1


def test_a_format_that_is_misspelt_is_suggested(tmp_path):
    with pytest.raises(
        ConfigError, match=r"must be one of anyburl, .*, got 'prolg'. Did you mean 'prolog'\?"
    ):
        export_rules(tmp_path / "rules", [UNCLE], "prolg")
    with pytest.raises(ConfigError, match=r"Did you mean 'amie'\?"):
        import_rules(tmp_path / "rules", "amei")


def test_no_rules_are_not_written(tmp_path):
    with pytest.raises(DataError, match="no rules to write"):
        export_rules(tmp_path / "rules", [], "sql")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", EXPORTS)
def test_a_name_that_utf8_cannot_hold_is_refused(form, tmp_path):
    rule = replace(UNCLE, target="\ud800")
    with pytest.raises(DataError):
        export_rules(tmp_path / "rules", [rule], form)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("form", IMPORTS)
@pytest.mark.parametrize("content", [b"\xff\xfe", b"{}", b"[1]", b"a => b\tc", b'[{"target": "r"}]'])
def test_a_file_that_is_no_rules_is_refused_with_its_name(form, content, tmp_path):
    path = tmp_path / "rules"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=str(path)):
        import_rules(path, form)


def test_rules_of_other_forms_are_skipped_with_a_warning(tmp_path):
    path = tmp_path / "rules.txt"
    path.write_text("4\t2\t0.5\tr(X,Y) <= s(Y,X)\n4\t2\t0.5\tr(X,Y) <= s(X,A)\n")
    with pytest.warns(DataWarning, match="skipped 1 of 2 rules, whose form is not supported"):
        found = import_rules(path, "anyburl")
    assert (len(found.rules), found.num_skipped) == (1, 1)


def test_json_says_the_rule_in_words_too(tmp_path):
    export_rules(tmp_path / "rules.json", [UNCLE], "json")
    (described,) = json.loads((tmp_path / "rules.json").read_text())
    assert described["rule"] == "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y"
    assert described["confidence"] == 0.5

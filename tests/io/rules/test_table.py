import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import FormatError, Rule, RuleSet
from neurallp.config import KINDS
from neurallp.io.rules.table import (
    COLUMNS,
    format_rules,
    make_rule,
    read_rules,
    recognizes,
    render,
    safe_rule,
    write_rules,
)

UNCLE = Rule("uncle", ("father", "brother"), 0.5, 1.0, distinct_ends=True, support=3, num_predictions=4)
BACK = Rule("~uncle", ("~brother", "~father"), 0.25, 0.5)

names = st.text(min_size=1)
counts = st.none() | st.integers(0, 10**12)
rules = st.builds(
    Rule,
    target=names,
    body=st.lists(names, max_size=4).map(tuple),
    confidence=st.floats(0, 10),
    normalized_confidence=st.floats(0, 1),
    distinct_ends=st.booleans(),
    inequalities=st.sampled_from([(), ((0, 1),)]),
    support=counts,
    num_predictions=counts,
).filter(lambda rule: rule.body or not rule.inequalities)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "rules.tsv"


def message_of(path):
    with pytest.raises(FormatError) as caught:
        read_rules(path)
    return str(caught.value)


@given(st.lists(rules, max_size=5).map(RuleSet))
def test_what_was_written_is_read_back_whatever_the_names(tmp_path_factory, written):
    path = tmp_path_factory.getbasetemp() / "rules.tsv"
    write_rules(path, written)
    assert read_rules(path) == written


@pytest.mark.parametrize(
    "name", ["a\tb", "a\nb", "a\r\nb", "a\u2028b", "a\x85b", 'a"b', "a\\b", " a ", "日本 😀"]
)
def test_a_name_may_hold_what_separates_fields_and_lines_elsewhere(path, name):
    write_rules(path, [Rule(name, (name, "~" + name), 0.5), UNCLE])
    assert list(read_rules(path)) == [Rule(name, (name, "~" + name), 0.5), UNCLE]


def test_every_rule_is_one_line_and_every_field_of_it_is_json(path):
    write_rules(path, [UNCLE, BACK])
    header, *lines = path.read_text().splitlines()
    assert header.split("\t") == [*COLUMNS, "rule"]
    assert [json.loads(field) for field in lines[0].split("\t")] == [
        *[0.5, 1.0, 3, 4, None, None, True, [], None, "chain", "uncle", ["father", "brother"]],
        *[None, None, None, None],
        "uncle(X, Y) <= father(X, A), brother(A, Y), X != Y",
    ]
    assert len(lines) == 2


def test_a_spreadsheet_may_have_changed_the_line_ends(path):
    path.write_text(format_rules([UNCLE, BACK]), newline="\r\n")
    assert list(read_rules(path)) == [UNCLE, BACK]


def test_a_table_without_rules_is_an_empty_set(path):
    write_rules(path, [])
    assert read_rules(path) == RuleSet([])


@pytest.mark.parametrize("content", ["", "\n", "a\tb\n", "target <= body\n"])
def test_a_file_with_other_columns_is_refused_with_those_expected(path, content):
    path.write_text(content)
    assert message_of(path).startswith(f"{path}:1: expected the columns confidence, normalized_confidence,")


def test_all_faults_are_reported_at_once_each_with_its_line(path):
    good = format_rules([UNCLE]).split("\n")[1]
    bad = ["0.5", good.replace("0.5", "much"), good.replace('["father", "brother"]', '"father"')]
    path.write_text(format_rules([BACK]) + "\n".join(bad) + "\n")
    faults = message_of(path).split("\n")
    assert [fault.removeprefix(f"{path}:").split(" ")[0] for fault in faults] == ["3:", "4:", "5:"]
    assert "expected 17 tab-separated fields, got 1" in faults[0]
    assert "Expected `array`, got `str` - at `$.body`" in faults[2]


def test_a_file_that_is_not_utf_8_is_refused(path):
    path.write_bytes(format_rules([UNCLE]).encode().replace(b"father", b"f\xe4ther"))
    assert "is not UTF-8" in message_of(path)


def test_a_table_is_recognised_by_its_columns():
    assert recognizes(format_rules([]))
    assert recognizes("body\tconfidence\ttarget\nx\ny")
    assert not recognizes("body\tconfidence\nx")
    assert not recognizes("x\nbody\tconfidence\ttarget")
    assert render([Rule("r", ("s",), 0.5)], {}) == format_rules([Rule("r", ("s",), 0.5)])


def test_no_field_of_a_safe_rule_begins_like_a_formula():
    rule = Rule("=r", ("=s",), 0.5, kind="unary", answer="@a", body_end="+b", weight=-1.0)
    assert safe_rule(rule) == replace(rule, target="'=r", answer="'@a", body_end="'+b")
    sourced = Rule("r", ("s",), 0.5, kind="sourced", source="-c", body_start="=d", weight=1.0)
    assert safe_rule(sourced) == replace(sourced, source="'-c", body_start="'=d")
    assert safe_rule(Rule("r", ("s",), 0.5)) == Rule("r", ("s",), 0.5)


def test_only_tabs_of_the_first_line_divide_columns():
    assert not recognizes("body confidence target\nx")
    assert recognizes("body\tconfidence\ttarget\tmore\nx\ny")
    assert not recognizes("x\nbody\tconfidence\ttarget\ny")


def test_names_are_written_in_their_own_letters():
    assert "frère(X, Y) <= père(X, Y)" in format_rules([Rule("frère", ("père",), 0.5)])


def test_a_table_of_three_columns_and_the_text_is_enough(path):
    path.write_text('target\tbody\tconfidence\tas text\n"r"\t["s"]\t0.5\tr <= s\n"r"\t["t"]\t0.5\n')
    assert list(read_rules(path)) == [Rule("r", ("s",), 0.5), Rule("r", ("t",), 0.5)]


def test_a_table_without_columns_for_sources_is_of_rules_that_name_none(path):
    lines = [line.split("\t") for line in format_rules([UNCLE, BACK]).splitlines()]
    assert lines[0][-3:-1] == ["source", "body_start"]
    path.write_text("".join("\t".join([*line[:-3], line[-1]]) + "\n" for line in lines))
    assert list(read_rules(path)) == [UNCLE, BACK]


@pytest.mark.parametrize("pair", [[1, 1], [1, 0], [-1, 1], [0, 3]])
def test_an_inequality_is_between_two_positions_of_the_path_the_earlier_first(path, pair):
    with pytest.raises(
        ValueError, match=r"^inequalities must be two positions of the path, the earlier first"
    ):
        make_rule({"target": "r", "body": ["s", "t"], "confidence": 0.5, "inequalities": [pair]})
    rule = make_rule({"target": "r", "body": ["s", "t"], "confidence": 0.5, "inequalities": [[0, 2]]})
    assert rule.inequalities == ((0, 2),)


def test_what_is_wrong_with_a_line_is_told_in_eighty_characters_and_so_is_the_line(path):
    line = '"' + "x" * 100 + '"\t["s"]\t0.5\t"' + "y" * 100 + '"'
    path.write_text(f"target\tbody\tconfidence\tkind\trule\n{line}\n")
    kinds = f"The kind of a rule is one of {', '.join(KINDS)}, got"[:79].rstrip()
    assert message_of(path) == f"{path}:2: not a rule ({kinds}…): {line[:80]!r}…."


def test_of_a_long_first_line_the_beginning_is_shown(path):
    path.write_text("x" * 81 + "\n")
    assert message_of(path).endswith(f"body_end, source, body_start, got {'x' * 80!r}….")

from pathlib import Path

import pytest

from neurallp import ConfigError, FormatError
from neurallp.io.triples.layout import (
    find_columns,
    find_wide,
    parse_columns,
    place_columns,
    require_text,
    suspect_header,
    suspect_order,
    suspect_table,
)


@pytest.mark.parametrize(
    ("given", "expected"), [(None, ()), ("", ()), ("1,3,2", ("1", "3", "2")), (" a , b,c", ("a", "b", "c"))]
)
def test_columns_are_given_by_three_names_or_numbers(given, expected):
    assert parse_columns(given) == expected


@pytest.mark.parametrize("given", ["1,2", "1,2,3,4", "a,,c", ","])
def test_other_than_three_columns_are_refused(given):
    with pytest.raises(
        ConfigError, match=r"--columns takes the columns .*such as 1,3,2 or person,knows,friend"
    ):
        parse_columns(given)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["head", "relation", "tail"], (0, 1, 2)),
        (["Tail", "x", "HEAD", "edge"], (2, 3, 0)),
        (["o", "s", "p"], (1, 2, 0)),
        (["head", "head", "relation", "tail"], (0, 2, 3)),
        (["head", "relation", "object"], ()),
        (["from", "to"], ()),
    ],
)
def test_usual_headers_are_found_in_any_order(names, expected):
    assert find_columns(names) == expected


def test_columns_are_placed_by_number_or_by_name():
    names = ["id", "Person", "knows", "friend"]
    assert place_columns(["2", "3", "4"], names, "f") == ((1, 2, 3), False)
    assert place_columns(["person", "knows", "FRIEND"], names, "f") == ((1, 2, 3), True)
    assert place_columns(["1", "2", "3"], ["head", "relation", "tail"], "f") == ((0, 1, 2), True)
    assert place_columns(["1", "2", "3"], ["3", "2", "1"], "f") == ((2, 1, 0), True)


@pytest.mark.parametrize("columns", [["0", "1", "2"], ["1", "2", "5"]])
def test_numbers_that_are_no_column_are_refused(columns):
    with pytest.raises(FormatError, match=r"^f has 4 columns, not --columns \d,\d,\d\.$"):
        place_columns(columns, ["a", "b", "c", "d"], "f")


def test_names_that_are_no_column_are_refused_with_those_there_are():
    with pytest.raises(FormatError, match=r"^f has no column 'x'\. It has a, b, c\.$"):
        place_columns(["a", "x", "y"], ["a", "b", "c"], "f")


ROWS = [("a", "r", "b"), ("b", "r", "c"), ("c", "r", "a")]


@pytest.mark.parametrize(
    ("first", "others", "is_suspected"),
    [
        (("Kopf", "Art", "Ende"), ROWS, True),
        (("Kopf", "Art", "Ende"), ROWS[:2], False),  # too few rows to tell
        (("Kopf", "r", "Ende"), ROWS, False),
        (("a", "Art", "Ende"), ROWS, False),
        (("Kopf", "Art", "r"), ROWS, False),
        (("Kopf", "Art", "Ende"), [*ROWS, ("x", "y", "z")], False),  # another row is like that
    ],
)
def test_a_first_row_that_resembles_no_other_may_be_a_header(first, others, is_suspected):
    assert suspect_header([first, *others]) == (first if is_suspected else None)


@pytest.mark.parametrize(
    ("content", "what"),
    [
        (b"\x1f\x8bxyz", "compressed with gzip. Add .gz to its name"),
        (b"PAR1", "Parquet. Name it .parquet"),
        (b"\xef\xbb\xbf  <!DOCTYPE html>", "a web page. Download the file itself"),
        (b'[ {"a": 1}]', "JSON. Write its triples as .tsv or .csv: head, relation, tail"),
        (b"<a> <b> <c> .\n", "N-Triples. Name it .nt"),
        (b"\n@prefix ex: <http://ex.org/> .", "Turtle. Name it .ttl"),
        (b"<?xml version='1.0'?>", "XML. If it is RDF, name it .rdf"),
    ],
)
def test_what_is_no_table_is_recognised_by_its_beginning(content, what):
    with pytest.raises(FormatError) as caught:
        require_text(Path("facts.tsv"), content)
    assert str(caught.value) == f"facts.tsv is {what}."


@pytest.mark.parametrize(
    "content", [b"", b"a\tr\tb\n", b"PAR", b" PAR1", b"<a\tr\tb\n", b"x" * 1001 + b"<html"]
)
def test_other_text_passes(content):
    require_text(Path("facts.tsv"), content)


def few_in(place, num=40, few=2, values=40):
    """Return triples with `few` names at one place, `values` in the second column unless it is that one."""
    rows = [[f"h{i}", f"r{i % values}", f"t{i}"] for i in range(num)]
    for i, row in enumerate(rows):
        row[place] = f"few{i % few}"
    return [tuple(row) for row in rows]


@pytest.mark.parametrize(
    ("rows", "columns"),
    [
        (few_in(2), "1,3,2"),
        (few_in(0), "2,1,3"),
        (few_in(1), ""),  # the second column has few names, as relations do
        (few_in(2, num=20, values=20), "1,3,2"),
        (few_in(2, num=19, values=19), ""),  # too few rows to tell
        (few_in(2, values=20), "1,3,2"),
        (few_in(2, values=19), ""),
        (few_in(2, few=5), "1,3,2"),
        (few_in(2, few=6), ""),  # not few enough
        ([("a", f"r{i}", "b") for i in range(20)], "1,3,2"),
        ([(f"h{i % 2}", f"r{i}", "b") for i in range(20)], "1,3,2"),
        ([("a", f"r{i}", f"t{i % 2}") for i in range(20)], "2,1,3"),
    ],
)
def test_a_second_column_of_many_names_beside_one_of_few_is_not_that_of_relations(rows, columns):
    assert suspect_order(rows) == columns


WIDE = [["name", "born", "city", "job"], ["anna", "1950", "Rome", "cook"], ["bob", "1960", "Oslo", "cook"]]


def test_rows_of_more_columns_are_described_and_what_to_do_is_told_by_their_own_cells():
    assert find_wide(WIDE) == (
        "rows have 4 columns (name | born | city | job), not head, relation and tail. If three of "
        "the columns are these, say which, by name or number, as in --columns 1,2,3. If each row describes "
        "one entity, write a line for each cell instead: anna, born, 1950."
    )


@pytest.mark.parametrize(
    ("rows", "width", "cell"),
    [
        (WIDE[:2], 4, "anna, born, 1950"),
        ([WIDE[0], ["anna"], WIDE[2]], 4, "bob, born, 1960"),  # a row of one cell describes nothing
        ([WIDE[0], ["anna"]], 4, "entity, column name, value"),
        ([WIDE[0], ["anna", "1950"]], 4, "anna, born, 1950"),
        (WIDE[1:], 4, "entity, column name, value"),  # `cook` is in both rows: no header
        ([["a", "a", "b", "c"], WIDE[1]], 4, "entity, column name, value"),  # a header has distinct names
        ([[*WIDE[1], "x"], WIDE[2]], 4, "entity, column name, value"),  # the least width
    ],
)
def test_a_first_row_of_distinct_names_that_occur_nowhere_else_is_a_header(rows, width, cell):
    told = find_wide(rows)
    assert told.startswith(f"rows have {width} columns (")
    assert told.endswith(f" instead: {cell}.")


@pytest.mark.parametrize(
    "rows",
    [
        [["a", "r", "b"], ["b", "r", "c", "d"]],  # three columns somewhere
        [["a", "r", "b", "x"], ["b", "r", "c"]],
        [["name", "born", "city"], ["anna", "1950", "Rome", "cook"]],
        WIDE[:1],  # a single row
        [["a", "r", "b"]],
    ],
)
def test_rows_of_three_columns_are_not_wide(rows):
    assert find_wide(rows) == ""


def test_of_long_rows_the_beginning_is_told():
    names = [c * 20 for c in "abcdefg"]
    told = find_wide([names, [c * 30 for c in "tuvwxyz"]])
    assert f"({' | '.join(names[:6])[:60]})" in told
    assert f"instead: {'t' * 30}, {'b' * 20}, tttttt"[:60] in told
    assert len(told) < 400


def table(num=20, values=20, header=False):
    """Return rows of an entity of its own, a word out of some, and another word."""
    rows = [(f"e{i}", f"v{i % values}", f"w{i}") for i in range(num)]
    return [("name", "job", "city"), *rows] if header else rows


NUMBERS = [(f"e{i}", str(1950 + i), f"w{i}") for i in range(10)]


@pytest.mark.parametrize(
    "rows",
    [
        NUMBERS[:4],
        [("name", "born", "city"), *NUMBERS[:4]],
        [("name", "born", "city"), *NUMBERS[:9], ("e", "unknown", "w")],  # nine in ten are numbers
        table(num=21),
        table(header=True),
        table(num=21, values=11),
    ],
)
def test_a_head_in_each_row_and_numbers_or_many_values_beside_it_are_a_table_of_entities(rows):
    assert suspect_table(rows) != ""


@pytest.mark.parametrize(
    "rows",
    [
        NUMBERS[:3],  # too few rows to tell
        [("name", "born", "city"), *NUMBERS[:3]],
        [*NUMBERS, NUMBERS[0]],  # a head occurs twice
        [*NUMBERS, ("x", "1999", "e0")],  # a head is a tail
        [NUMBERS[0], *NUMBERS[2:9], ("e", "unknown", "w")],  # fewer numbers
        table(num=20),  # below a header there would be too few
        table(num=21, values=10),  # the values repeat
        few_in(2),  # a likely other order is told instead
    ],
)
def test_other_rows_are_triples(rows):
    assert suspect_table(rows) == ""


def test_a_table_of_entities_is_told_with_how_its_first_row_was_read():
    assert suspect_table(NUMBERS) == (
        "column 2 was read as the relation, as in 1950(e0, w0). If each row describes one "
        "entity, write a line for each cell instead: entity, column name, value. If the relation is in "
        "another column, say which, as in --columns 1,3,2."
    )
    below = [("name", "born", "city"), *NUMBERS]
    assert "as in 1950(e0, w0)." in suspect_table(below)
    hostile = [("\x1b[31m", "1950", "x" * 500), *NUMBERS[1:]]
    assert rf"1950(\x1b[31m, {'x' * 59}…)" in suspect_table(hostile)


def test_only_the_first_thousand_rows_are_compared():
    rows = [(f"e{i}", str(1000 + i), f"w{i}") for i in range(1001)]
    assert suspect_table([*rows, rows[0]]) != ""
    assert suspect_table([*rows[:1000], rows[0]]) == ""


def test_many_or_long_columns_are_not_all_listed():
    with pytest.raises(FormatError) as caught:
        place_columns(["x" * 999, "b", "c"], ["a" * 999, "b", "c"], "f")
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("first", "is_suspected"), [(("Kopf", "b", "Ende"), False), (("Kopf", "Art", "Art"), True)]
)
def test_a_header_shares_no_name_with_any_row(first, is_suspected):
    assert suspect_header([first, *ROWS]) == (first if is_suspected else None)

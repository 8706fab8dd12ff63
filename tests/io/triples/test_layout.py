from pathlib import Path

import pytest

from neurallp import ConfigError, FormatError
from neurallp.io.triples.layout import (
    find_columns,
    parse_columns,
    place_columns,
    require_text,
    suspect_header,
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

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp import ConfigError
from neurallp.io.names import find_unwritable, quote_field, require_spreadsheet, safe_cell


@pytest.mark.parametrize("delimiter", ["", "tab", "comma"])
@pytest.mark.parametrize("name", ["anna", "it's", 'say "hi"', "a,b", "日本 😀", "a b"])
def test_plain_names_can_be_written_everywhere(name, delimiter):
    assert find_unwritable(name, delimiter) == ""


@pytest.mark.parametrize(
    ("name", "delimiter", "why"),
    [
        ("", "", "is empty"),
        (" anna", "tab", "begins or ends with whitespace"),
        ("anna\n", "comma", "begins or ends with whitespace"),
        ("a\tb", "tab", "contains a tab or a line end, which only .csv can hold"),
        ("a\nb", "tab", "contains a tab or a line end, which only .csv can hold"),
        ("a\ud800", "", "contains half a surrogate pair, which UTF-8 cannot hold"),
    ],
)
def test_names_that_would_not_be_read_back_are_named_with_the_reason(name, delimiter, why):
    assert find_unwritable(name, delimiter) == why


def test_formats_that_are_not_text_keep_whitespace():
    assert find_unwritable(" a\tb\n") == ""


@given(st.lists(st.text(alphabet='ab,"\n\r ;é'), min_size=3, max_size=3))
def test_quoted_fields_are_read_back_by_another_csv_reader(fields):
    line = ",".join(map(quote_field, fields))
    assert list(csv.reader(io.StringIO(line, newline=""), strict=True)) == [fields]


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"])
def test_a_formula_gets_a_quote_before_it(name):
    assert safe_cell(name) == "'" + name
    assert safe_cell("anna") == "anna"


@pytest.mark.parametrize("path", ["a.csv", "a.TSV", "a.csv.gz"])
def test_spreadsheets_open_tables_of_text(path):
    require_spreadsheet(path)


@pytest.mark.parametrize("path", ["a.ttl", "a.parquet", "csv"])
def test_other_files_are_refused(path):
    with pytest.raises(ConfigError, match=rf"^--safe-csv is for \.csv and \.tsv, .*, not for {path}\.$"):
        require_spreadsheet(path)


@pytest.mark.parametrize("name", ["anna", "it's", "a b", "a;b"])
def test_a_field_that_needs_no_quotes_has_none(name):
    assert quote_field(name) == name

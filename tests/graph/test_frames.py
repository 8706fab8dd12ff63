from typing import ClassVar

import pytest

from neurallp.errors import ConfigError
from neurallp.graph import frames
from neurallp.graph.frames import Tabular, html_table

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pandas")


class Towns(Tabular):
    SCHEMA: ClassVar = {"name": "string", "people": "int64", "roads": "[string]"}

    def __init__(self, rows):
        self.rows = rows

    def columns(self):
        return {name: [row[i] for row in self.rows] for i, name in enumerate(self.SCHEMA)}


TOWNS = Towns([("Ulm", 120, ["A8"]), ("Bad <Wörishofen>", 15, [])])


def test_a_table_has_the_columns_and_types_of_its_schema():
    table = TOWNS.to_arrow()
    assert table.column_names == ["name", "people", "roads"]
    assert table.schema.field("roads").type == pa.list_(pa.string())
    assert TOWNS.to_pandas()["people"].tolist() == [120, 15]


def test_an_empty_table_keeps_columns_and_types():
    assert Towns([]).to_arrow().schema == TOWNS.to_arrow().schema
    assert "people" in Towns([])._repr_html_()


def test_html_escapes_names_and_shows_the_first_rows_only():
    html = TOWNS._repr_html_()
    assert "Bad &lt;Wörishofen&gt;" in html
    many = html_table({"n": list(range(25))})
    assert many.count("<tr>") == 1 + frames.MAX_ROWS
    assert "and 5 more rows" in many


def test_a_bar_is_as_long_as_the_share_of_the_largest_and_shows_the_sign():
    html = html_table({"x": [4.0, -2.0, None]}, {"x": None})
    assert html.count("width:5.00em") == html.count("width:2.50em") == 1
    assert html.index(frames.FOR) < html.index(frames.AGAINST)


def test_a_bar_of_a_share_is_a_share_of_1():
    assert "width:2.50em" in html_table({"probability": [0.5, 0.1]}, {"probability": 1.0})


def test_a_column_without_any_value_is_not_shown():
    assert "weight" not in html_table({"name": ["a"], "weight": [None]})


def test_without_pyarrow_the_error_names_the_command_that_installs_it(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(ConfigError, match=r"pip install 'neurallp\[formats\]'"):
        TOWNS.to_arrow()

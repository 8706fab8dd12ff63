import xml.etree.ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.graph.spelling import CONTROLS, as_html, neutral, one_line


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("\x1b[31mred", r"\x1b[31mred"),
        ("\x9b31m", r"\x9b31m"),
        ("one\ntwo", r"one\ntwo"),
        ("back\rfront", r"back\rfront"),
        ("abc\u202edcb", r"abc\u202edcb"),
        ("\x7f", r"\x7f"),
    ],
)
def test_what_is_acted_on_is_spelled_out(name, shown):
    assert one_line(name) == shown


def test_names_of_all_scripts_stay_as_they_are():
    for name in ("père", "日本", "می\u200cخواهم", "👩\u200d👧", "a\u0301", "a b"):
        assert one_line(name) == neutral(name) == name


def test_a_text_of_several_lines_keeps_them_where_it_is_only_made_neutral():
    assert neutral("one\ntwo\x07") == "one\ntwo\\x07"


@given(st.text())
def test_every_name_is_text_of_a_page(name):
    (element,) = ET.fromstring(f"<p><b>{as_html(name)}</b></p>")
    assert not CONTROLS.search(element.text or "")
    assert "\n" not in (element.text or "")


def test_half_a_surrogate_pair_is_replaced():
    assert as_html("a\ud800<") == "a\ufffd&lt;"

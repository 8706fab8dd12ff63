"""Drawings for pages."""

from types import SimpleNamespace
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from neurallp.web.drawings import bar, curves, draw_rule, heat_map, two_sided_bar


def elements(drawn, tag):
    return list(ElementTree.fromstring(drawn).iter(tag))


def lines_of(points):
    return [SimpleNamespace(points=[SimpleNamespace(x=x, y=y) for x, y in points])]


def test_a_bar_is_as_long_as_its_share():
    rail, filled = elements(bar(1.0, 4.0, "weight"), "rect")
    assert (rail.get("width"), filled.get("width"), filled.get("class")) == ("100", "25.0", "for")
    assert elements(bar(-9.0, 4.0), "rect")[1].attrib == {"class": "against", "width": "100.0", "height": "8"}
    assert bar(None) == ""


def test_a_bar_to_the_left_is_against():
    _, filled, _ = elements(two_sided_bar(-1.0, 2.0), "rect")
    assert (filled.get("x"), filled.get("width"), filled.get("class")) == ("25.0", "25.0", "against")


def test_a_rule_has_a_circle_for_each_variable_and_arrows_that_point_from_head_to_tail():
    drawn = draw_rule(("father", "~son"))
    assert [each.text for each in elements(drawn, "text")] == ["father", "son", "X", "A", "Y"]
    first, second = (
        [float(each) for each in part.get("points").replace(",", " ").split()]
        for part in elements(drawn, "polygon")
    )
    circles = [float(each.get("cx")) for each in elements(drawn, "circle")]
    assert circles[0] < first[0] < circles[1]
    assert first[0] > first[2]  # the tip is to the right of its base
    assert second[0] < second[2]
    assert draw_rule(()) == ""


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")))
def test_any_name_is_escaped(name):
    drawn = draw_rule((f"{name}<b>&",))
    assert "<b>" not in drawn
    ElementTree.fromstring(drawn)


def test_curves_stay_within_their_frame():
    drawn = curves(lines_of([(0.0, 0.0), (1.0, 1.0)]), ("x", "y"), "a curve", diagonal=True)
    diagonal, line = elements(drawn, "polyline")
    assert diagonal.get("points") == line.get("points") == "44.0,206.0 392.0,8.0"
    assert len(elements(drawn, "circle")) == 2


def test_a_heat_map_has_a_cell_for_each_value_and_numbers_for_the_larger_ones():
    drawn = heat_map(["father", "x" * 99], ["step 1", "step 2"], [[0.0, 1.0], [0.5, 0.004]], "attention")
    opacities = [float(each.get("fill-opacity")) for each in elements(drawn, "rect")]
    assert opacities == [0.06, 1.0, 0.53, 0.06]
    assert [each.text for each in elements(drawn, "text")].count("1.00") == 1

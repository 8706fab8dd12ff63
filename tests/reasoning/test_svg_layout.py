"""Where the parts of a drawn proof stand."""

from itertools import combinations, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from neurallp.reasoning.svg_layout import STRETCHES, Link, box_width, lay_out

names = st.sampled_from(["a", "b", "m", "n", "a name of several words", "K" * 30])
paths = st.lists(st.lists(names, min_size=0, max_size=3), min_size=1, max_size=8)


def laid_out(middles):
    """Return the layout of paths from a source to an answer, each link with a label of its own."""
    ways = [["source", *middle, "answer"] for middle in middles]
    links = {
        Link(f"r{number}{place}", one, other): f"relation {number} +0.{place}0"
        for number, way in enumerate(ways)
        for place, (one, other) in enumerate(pairwise(way))
    }
    return lay_out(("source", "answer"), ways, links, 30)


def overlaps(one, other):
    (x, y, width, height), (x2, y2, width2, height2) = one, other
    return abs(x - x2) < (width + width2) / 2 and abs(y - y2) < (height + height2) / 2


@settings(max_examples=40, deadline=None)
@given(paths)
def test_no_label_and_no_box_overlaps_another_and_all_are_inside(middles):
    found = laid_out(middles)
    boxes = [(*place, box_width(name), 28.0) for name, place in found.places.items()]
    parts = [*boxes, *found.labels.values()]
    assert not [pair for pair in combinations(parts, 2) if overlaps(*pair)]
    for x, y, width, height in parts:
        assert 0 <= x - width / 2 < x + width / 2 <= found.width
        assert 0 <= y - height / 2 < y + height / 2 <= found.height


def test_an_arrow_past_a_column_runs_around_its_boxes():
    found = laid_out([["m"], ["n"], []])
    (arc,) = (place for link, place in found.labels.items() if link[1:] == ("source", "answer"))
    assert arc[1] > max(y for _, y in found.places.values()) + 28


def test_entities_stand_beside_those_that_they_are_linked_with():
    found = laid_out([["m", "n"], ["k", "l"]])
    assert found.places["m"][1] == found.places["n"][1]
    assert found.places["k"][1] == found.places["l"][1]


def test_labels_without_a_free_place_are_listed_below(monkeypatch):
    monkeypatch.setattr("neurallp.reasoning.svg_layout.STRETCHES", STRETCHES[:1])
    monkeypatch.setattr("neurallp.reasoning.svg_layout.CLEAR", 500.0)
    found = laid_out([["m"], ["n"]])
    assert min(y for _, y, *_ in found.labels.values()) > max(y for _, y in found.places.values())

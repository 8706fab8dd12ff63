"""Drawings of proofs."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_samples import BIG_FAMILY, UNCLES, reason

from neurallp import KnowledgeBase, Rule
from neurallp.reasoning.svg import draw_paths

few = settings(max_examples=25, deadline=None)


def parts(drawn, name):
    return [each for each in ElementTree.fromstring(drawn).iter() if each.get("class") == name]


def test_a_proof_is_drawn_with_every_entity_and_relation_of_its_paths():
    drawn = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES).explain("zoe", "uncle", "xan").svg()
    texts = "".join(ElementTree.fromstring(drawn).itertext())
    for name in ("uncle(zoe, xan)", "zoe", "xan", "yan", "uma", "father", "mother", "brother", "+0.90"):
        assert name in texts
    assert len(parts(drawn, "link")) == len(parts(drawn, "label")) == 4
    assert drawn.count("<polygon") == 4


def test_an_entity_on_several_paths_has_one_box_and_a_fact_of_several_one_arrow():
    paths = [(("r", "s"), ("a", "m", "b"), 1.0), (("r", "t"), ("a", "m", "b"), 2.0)]
    drawn = draw_paths("t", "a", "b", paths)
    assert len(parts(drawn, "entity")) == 1
    assert len(parts(drawn, "end")) == 2
    assert len(parts(drawn, "link")) == 3
    assert ">r +3.00<" in drawn


def test_an_arrow_points_from_head_to_tail_whichever_way_it_is_walked():
    kb = KnowledgeBase.from_triples([("a", "child", "b")])
    drawn = reason(kb, [Rule("parent", ("~child",), 1.0)]).explain("b", "parent", "a").svg()
    (link,) = parts(drawn, "link")
    (start, end) = (each.find("{*}rect") for each in parts(drawn, "end"))
    assert float(start.get("x")) < float(end.get("x"))  # the source b is at the left
    beginning = float(link.get("d")[1:].split()[0])
    assert beginning > float(start.get("x")) + float(start.get("width")) + 20  # the arrow starts at a


@few
@given(name=st.text(min_size=1), relation=st.text(min_size=1))
def test_any_name_can_be_drawn(name, relation):
    ElementTree.fromstring(draw_paths(name, name, name, [((relation, relation), (name, name, name), 1.0)]))


def test_a_path_without_links_is_a_plain_line_between_equal_entities():
    drawn = draw_paths("same(a, a)", "a", "a", [((), ("a",), 1.0)])
    assert "<polygon" not in drawn
    assert ">=<" in drawn


def test_a_drawing_without_paths_shows_both_ends():
    assert len(parts(draw_paths("r(a, b)", "a", "b", []), "end")) == 2


@pytest.mark.parametrize("letter", ["i", "M", "漢"])
def test_a_long_name_stays_whole_in_a_box_that_is_wide_enough(letter):
    name = letter * 50
    drawn = draw_paths("t", name, "b", [])
    assert f">{name}</text>" in drawn
    wide = float(parts(drawn, "end")[0].find("{*}rect").get("width"))
    assert wide > 50 * {"i": 4, "M": 11, "漢": 13}[letter]  # the widths of 13 px sans-serif


def test_what_speaks_against_is_dashed_and_contributions_are_widths():
    drawn = draw_paths("t", "a", "b", [(("r",), ("a", "b"), 4.0), (("s",), ("a", "b"), -1.0)])
    one, other = parts(drawn, "link")
    assert "stroke-dasharray" not in one.attrib
    assert "stroke-dasharray" in other.attrib
    assert float(one.get("stroke-width")) > 2 * float(other.get("stroke-width"))


def test_no_feature_of_svg_is_used_that_plain_viewers_lack():
    drawn = draw_paths("t", "a", "b", [(("r",), ("a", "b"), 4.0)])
    assert not any(word in drawn for word in ("paint-order", "marker", "<style", "textLength"))


def test_labels_do_not_cover_each_other():
    paths = [((f"relation {i}",), ("a", "b"), 1.0) for i in range(4)]
    drawn = draw_paths("t", "a", "b", paths)
    boxes = [each.find("{*}rect") for each in parts(drawn, "label")]
    rows = sorted(float(box.get("y")) for box in boxes)
    assert all(later - earlier >= 18 for earlier, later in pairwise(rows))


def test_the_picture_is_wide_enough_for_the_longest_path():
    short, long = (("r",), ("a", "b"), 1.0), (("r",) * 4, ("a", "c", "d", "e", "b"), 2.0)
    sizes = [
        ElementTree.fromstring(draw_paths("t", "a", "b", paths)).attrib for paths in ([short], [short, long])
    ]
    assert float(sizes[0]["width"]) < float(sizes[1]["width"])

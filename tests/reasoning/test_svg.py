"""Drawings of proofs."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_samples import BIG_FAMILY, UNCLES, reason

from neurallp import KnowledgeBase, Rule
from neurallp.reasoning.svg import MAX_LETTERS, draw_paths

few = settings(max_examples=25, deadline=None)


def test_a_proof_is_drawn_with_every_entity_and_relation_of_its_paths():
    proof = reason(KnowledgeBase.from_triples(BIG_FAMILY), UNCLES).explain("zoe", "uncle", "xan")
    drawn = ElementTree.fromstring(proof.svg())
    texts = "".join(drawn.itertext())
    for name in ("uncle(zoe, xan)", "zoe", "xan", "yan", "uma", "father", "mother", "brother", "0.9"):
        assert name in texts
    links = [each for each in drawn.iter() if each.get("class") == "link"]
    assert len(links) == 4
    assert all("marker-end" in link.attrib for link in links)


def test_an_arrow_points_from_head_to_tail_whichever_way_it_is_walked():
    kb = KnowledgeBase.from_triples([("a", "child", "b")])
    drawn = reason(kb, [Rule("parent", ("~child",), 1.0)]).explain("b", "parent", "a").svg()
    assert "marker-start" in drawn
    assert "marker-end" not in drawn


@few
@given(name=st.text(min_size=1), relation=st.text(min_size=1))
def test_any_name_can_be_drawn(name, relation):
    ElementTree.fromstring(draw_paths(name, name, name, [((relation, relation), (name, name, name), "1")]))


def test_a_path_without_links_is_a_plain_line_between_equal_entities():
    drawn = draw_paths("same(a, a)", "a", "a", [((), ("a",), "1")])
    assert "marker-" not in drawn.split("</defs>")[1]
    assert ">=<" in drawn


def test_a_drawing_without_paths_shows_both_ends():
    drawn = ElementTree.fromstring(draw_paths("r(a, b)", "a", "b", []))
    assert len([each for each in drawn.iter() if each.get("class") == "end"]) == 2


@pytest.mark.parametrize("letter", ["i", "M", "漢"])
def test_a_long_name_is_shortened_but_kept_in_its_title(letter):
    name = letter * 50
    drawn = draw_paths("t", name, "b", [])
    assert f"<title>{name}</title>" in drawn
    shown = drawn.split(">" + letter)[-1].split("…")[0]
    assert len(shown) < MAX_LETTERS


def test_the_picture_is_wide_enough_for_the_longest_path_and_has_a_lane_for_each():
    short, long = (("r",), ("a", "b"), "1"), (("r",) * 4, ("a", "c", "d", "e", "b"), "2")
    sizes = [
        ElementTree.fromstring(draw_paths("t", "a", "b", paths)).attrib for paths in ([short], [short, long])
    ]
    assert int(sizes[0]["width"]) < int(sizes[1]["width"])
    assert float(sizes[0]["height"]) < float(sizes[1]["height"])

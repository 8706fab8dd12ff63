"""Labels: read from lines or RDF, told apart where they are equal, and understood in questions."""

import pytest

from neurallp.errors import FormatError
from neurallp.io.labels import load_labels, name_of, read_labels

TURTLE = """
@prefix ex: <http://ex.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
ex:e1 ex:father ex:e2 ; rdfs:label "Anne"@fr, "Anna"@en .
ex:e2 rdfs:label "Bob" .
ex:e3 rdfs:label "Bob" ; ex:father ex:e1 .
"""


def test_lines_have_a_name_a_tab_and_a_label(tmp_path):
    (tmp_path / "labels.tsv").write_text("e1\tAnna Smith\n\ne2\tBob\n")
    assert read_labels(tmp_path / "labels.tsv") == {"e1": "Anna Smith", "e2": "Bob"}


@pytest.mark.parametrize("line", ["e1", "e1\t", "\tAnna"])
def test_a_line_without_a_label_is_named(tmp_path, line):
    (tmp_path / "labels.tsv").write_text(f"e0\tZoe\n{line}\n")
    with pytest.raises(FormatError, match=r"labels\.tsv:2: expected a name, a tab and a label"):
        read_labels(tmp_path / "labels.tsv")


def test_rdf_has_its_own_labels_english_ones_first_and_equal_ones_apart(tmp_path):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    (tmp_path / "family.ttl").write_text(TURTLE)
    names = [f"http://ex.org/e{number}" for number in (1, 2, 3)]
    expected = {names[0]: "Anna", names[1]: f"Bob ({names[1]})", names[2]: f"Bob ({names[2]})"}
    assert load_labels(tmp_path / "family.ttl") == expected
    (tmp_path / "other.tsv").write_text("ex:e1\tAnita\n")
    assert load_labels(tmp_path / "family.ttl", tmp_path / "other.tsv") == {"ex:e1": "Anita"}


def test_other_data_has_no_labels(tmp_path):
    (tmp_path / "facts.tsv").write_text("a\tr\tb\n")
    assert load_labels(tmp_path / "facts.tsv") == {}


def test_an_entity_is_called_by_its_name_or_its_label():
    labels, names = {"e1": "Anna", "e2": "e3"}, ["e1", "e2", "e3"]
    assert [name_of(text, labels, names) for text in ("e1", "Anna", "e3", "Zoe")] == ["e1", "e1", "e3", "Zoe"]


HOSTILE = {
    "made.rdf": '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;">]><r>&b;<!-- label --></r>',
    "deep.rdf": "<!-- label -->" + "<r>" * 2000,
    "deep.ttl": "# label\n" + "<< " * 2000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_file_of_labels_is_read_with_the_limits_of_a_file_of_facts(tmp_path, name):
    pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")
    (tmp_path / name).write_text(HOSTILE[name])
    with pytest.raises(FormatError, match=r"is not plain text|nested more than") as caught:
        read_labels(tmp_path / name)
    assert len(str(caught.value)) < 500

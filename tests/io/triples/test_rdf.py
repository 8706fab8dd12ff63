import sys
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from neurallp.errors import ConfigError, DataError, DataWarning, FormatError
from neurallp.graph.iris import shorten
from neurallp.io.triples import load, read_file, read_triples, write_triples
from neurallp.io.triples.rdf import Names

pytest.importorskip("pyoxigraph", reason="pyoxigraph is not installed: pip install 'neurallp[formats]'")

TURTLE = """\
@prefix ex: <http://ex.org/> .
ex:anna ex:father ex:bob ; a ex:Person ; ex:age 4 ; ex:name "Anna"@en .
<http://other.org/x> ex:knows _:someone .
"""

NASTY = [
    "it's",
    '"',
    "back\\",
    "new\nline",
    "x" * 10_000,
    "é",
    "_:b",
    "_:",
    "<a:b>",
    "%41",
    "ex:a",
    "a:b",
    ":x",
    "rdf:",
    "rdf:type",
]
names = st.one_of(st.sampled_from(NASTY), st.text(min_size=1)).filter(
    lambda name: not name.startswith("~") and "\0" not in name
)
triples = st.lists(st.tuples(names, names, names), min_size=1, max_size=4)
settings_here = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def turtle(tmp_path):
    path = tmp_path / "facts.ttl"
    path.write_text(TURTLE)
    return path


EX = "http://ex.org/"


def test_iris_keep_their_namespace_unless_it_is_well_known_and_literals_are_counted(turtle):
    file = read_file(turtle)
    assert file.triples == [
        (f"{EX}anna", f"{EX}father", f"{EX}bob"),
        (f"{EX}anna", "rdf:type", f"{EX}Person"),
        ("http://other.org/x", f"{EX}knows", "_:someone"),
    ]
    assert file.num_literals == 2
    assert file.prefixes == {"ex": "http://ex.org/"}


def test_numbers_and_dates_are_entities_where_that_is_asked_for(tmp_path):
    path = tmp_path / "facts.ttl"
    dated = 'ex:anna ex:born "1950-07-01"^^<http://www.w3.org/2001/XMLSchema#date> .'
    path.write_text(f"{TURTLE}{dated}\n")
    file = read_file(path, numbers=True)
    assert (f"{EX}anna", f"{EX}age", "4") in file.triples
    assert (f"{EX}anna", f"{EX}born", "1950-07-01") in file.triples
    assert file.num_literals == 1


def test_loading_warns_of_literals(turtle):
    with pytest.warns(DataWarning, match=r"facts.ttl: skipped 2 of 5 triples, which end in a literal."):
        kb = load(turtle)
    assert len(kb.facts) == 3


@pytest.mark.parametrize("suffix", [".nt", ".ttl", ".ttl.gz"])
@given(rows=triples)
@settings(settings_here, max_examples=40)
def test_any_name_comes_back(suffix, tmp_path, rows):
    write_triples(tmp_path / f"facts{suffix}", rows)
    assert read_triples(tmp_path / f"facts{suffix}") == rows


@given(rows=triples)
@settings(settings_here, max_examples=40)
def test_rdf_xml_gives_triples_back_or_refuses_a_relation(tmp_path, rows):
    path = tmp_path / "facts.rdf"
    with suppress(FormatError):
        write_triples(path, rows)
        assert sorted(read_triples(path)) == sorted(rows)


def test_rdf_xml_refuses_a_relation_that_cannot_be_an_element(tmp_path):
    with pytest.raises(FormatError, match="relation '123' cannot be an XML element"):
        write_triples(tmp_path / "facts.rdf", [("a", "123", "b")])
    assert not list(tmp_path.iterdir())


@given(name=names)
@settings(deadline=None)
def test_every_name_has_an_iri_of_its_own(name):
    assert shorten(Names().expand(name)) == name


@pytest.mark.parametrize("suffix", [".nt", ".ttl", ".rdf", ".nt.gz"])
def test_a_graph_has_the_same_names_in_every_format_and_with_any_prefixes(turtle, tmp_path, suffix):
    file = read_file(turtle)
    for prefixes in ({}, file.prefixes, {"other": EX}):
        write_triples(tmp_path / f"copy{suffix}", file.triples, prefixes)
        assert sorted(read_triples(tmp_path / f"copy{suffix}")) == sorted(file.triples)


def test_the_iris_of_a_file_survive_another_format(turtle, tmp_path):
    file = read_file(turtle)
    write_triples(tmp_path / "copy.nt", file.triples, file.prefixes)
    text = (tmp_path / "copy.nt").read_text()
    assert "<http://ex.org/anna> <http://ex.org/father> <http://ex.org/bob> ." in text
    assert "<http://other.org/x> <http://ex.org/knows> _:someone ." in text


def test_turtle_is_written_with_the_prefixes_it_uses(tmp_path):
    write_triples(tmp_path / "a.ttl", [("ex:anna", "father", "bob")], {"ex": "http://ex.org/"})
    text = (tmp_path / "a.ttl").read_text()
    assert "ex:anna :father :bob ." in text
    assert "dbpedia" not in text


def test_a_syntax_error_is_reported_with_its_line(tmp_path):
    path = tmp_path / "a.ttl"
    path.write_text("<a:b> <a:c> <a:d> .\n<a:b> oops .\n")
    with pytest.raises(FormatError, match=r"a.ttl:2: .*oops"):
        load(path)


@pytest.mark.parametrize(
    ("content", "told"), [("", "no triples"), ("<a:b> <a:c> 4 .", "all 1 triples end in a literal")]
)
def test_a_file_without_entities_is_refused(tmp_path, content, told):
    (tmp_path / "a.ttl").write_text(content)
    with pytest.raises(DataError, match=told):
        load(tmp_path / "a.ttl")


def test_a_relation_that_looks_like_an_inverse_is_refused(tmp_path):
    (tmp_path / "a.nt").write_text("<a:b> <urn:neurallp:~r> <a:d> .")
    with pytest.raises(FormatError, match=r"a.nt: relation '~r' starts with '~'"):
        load(tmp_path / "a.nt")


def test_a_folder_of_rdf_is_a_split(tmp_path):
    for part in ("train", "valid"):
        write_triples(tmp_path / f"{part}.nt", [("a", "r", "b"), ("b", "r", "a")])
    split = load(tmp_path)
    assert (len(split.train), len(split.valid)) == (2, 2)


def test_without_the_library_the_command_that_installs_it_is_reported(turtle, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyoxigraph", None)
    with pytest.raises(ConfigError, match=r"pip install 'neurallp\[formats\]'"):
        load(turtle)

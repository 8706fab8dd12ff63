import pytest

from neurallp.errors import FormatError
from neurallp.io.triples import read_triples

pytest.importorskip("pyoxigraph")

SPACES = 'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/"'


def rdf(body, doctype=""):
    return f"<?xml version='1.0'?>{doctype}<rdf:RDF {SPACES}>{body}</rdf:RDF>"


def nested(depth):
    return rdf("<rdf:Description><e:p>" * depth + "</e:p></rdf:Description>" * depth)


def message_of(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(FormatError) as caught:
        read_triples(tmp_path / name)
    assert len(str(caught.value)) < 500
    return str(caught.value)


def test_deep_xml_is_refused_before_it_is_parsed(tmp_path):
    assert "nested more than 1,000 deep" in message_of(tmp_path, "a.rdf", nested(200_000))
    (tmp_path / "b.rdf").write_text(nested(100))
    with pytest.warns(UserWarning, match="skipped 1 of 100"):
        assert len(read_triples(tmp_path / "b.rdf")) == 99


def test_entities_made_of_entities_are_refused(tmp_path):
    doubling = "".join(f'<!ENTITY e{i} "&e{i - 1};&e{i - 1};">' for i in range(1, 40))
    doctype = f'<!DOCTYPE r [<!ENTITY e0 "http://e/">{doubling}]>'
    assert "the entity 'e1' is not plain text" in message_of(tmp_path, "a.rdf", rdf("", doctype))


def test_entities_of_other_files_are_refused(tmp_path):
    doctype = '<!DOCTYPE r [<!ENTITY secret SYSTEM "file:///etc/passwd">]>'
    assert "'secret' is not plain text" in message_of(tmp_path, "a.rdf", rdf("", doctype))


def test_plain_entities_as_ontologies_have_them_are_read(tmp_path):
    fact = '<rdf:Description rdf:about="&e;a"><e:p rdf:resource="&e;b"/></rdf:Description>'
    (tmp_path / "a.rdf").write_text(rdf(fact, '<!DOCTYPE r [<!ENTITY e "http://e/">]>'))
    assert read_triples(tmp_path / "a.rdf") == [("http://e/a", "http://e/p", "http://e/b")]


def test_what_is_no_xml_is_reported_with_its_line(tmp_path):
    assert "a.rdf:1: not RDF/XML (mismatched tag)" in message_of(tmp_path, "a.rdf", rdf("<e:a></e:b>"))


def test_a_fault_of_no_line_is_reported_without_one(tmp_path):
    assert "a.rdf: XML namespaces are required in RDF/XML." in message_of(tmp_path, "a.rdf", "<r></r>")


@pytest.mark.parametrize("suffix", ["nt", "ttl"])
def test_triples_quoted_within_each_other_are_refused_when_too_deep(tmp_path, suffix):
    depth = 100_000
    text = (
        "<http://e/a> <http://e/b> "
        + "<<( <http://e/a> <http://e/b> " * depth
        + "<http://e/c>"
        + " )>>" * depth
    )
    assert "nested more than 1,000 deep" in message_of(tmp_path, f"a.{suffix}", text + " .")


def test_marks_within_names_and_texts_do_not_count(tmp_path):
    line = '<http://e/a> <http://e/b> "cout << 1 << 2;" .\n'
    (tmp_path / "a.nt").write_text(line * 2000 + "<http://e/a> <http://e/b> <http://e/c> .\n")
    with pytest.warns(UserWarning, match="2,000 of 2,001"):
        assert len(read_triples(tmp_path / "a.nt")) == 1

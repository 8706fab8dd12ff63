"""The registry of triple formats: every suffix is written and read back, with odd names and damaged files."""

import pytest

from neurallp.errors import DataError, FormatError
from neurallp.io.triples import READERS, WRITERS, load, read_triples, write_triples

ODD = [
    ("it's", "say hi", 'a "quoted" name'),
    ("back\\slash", "x:y", "a,b"),
    ("日本 😀", "é", "tail"),
    ("head", "relation", "tail"),
    ("<b>", "r", "_:blank"),
    ("%41", "r", "&amp;"),
]
#: Relations that are XML elements, which RDF/XML needs.
PLAIN = [(head, f"r{number}", tail) for number, (head, _, tail) in enumerate(ODD)]


def triples_of(suffix):
    return PLAIN if suffix == ".rdf" else ODD


def require_extra(suffix):
    library = {".parquet": "pyarrow", ".nt": "pyoxigraph", ".ttl": "pyoxigraph", ".rdf": "pyoxigraph"}.get(
        suffix
    )
    if library:
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'neurallp[formats]'")


@pytest.mark.parametrize("packed", ["", ".gz"])
@pytest.mark.parametrize("suffix", [suffix for suffix in READERS if suffix in WRITERS])
def test_odd_names_are_read_back(suffix, packed, tmp_path):
    require_extra(suffix)
    path = tmp_path / f"facts{suffix}{packed}"
    write_triples(path, triples_of(suffix))
    assert sorted(read_triples(path)) == sorted(triples_of(suffix))


@pytest.mark.parametrize("suffix", WRITERS)
def test_a_relation_that_looks_like_an_inverse_is_not_written(suffix, tmp_path):
    require_extra(suffix)
    with pytest.raises(FormatError, match="relation '~r' starts with '~'"):
        write_triples(tmp_path / f"facts{suffix}", [("a", "~r", "b")])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", WRITERS)
def test_no_triples_and_empty_names_are_not_written(suffix, tmp_path):
    require_extra(suffix)
    path = tmp_path / f"facts{suffix}"
    with pytest.raises(DataError, match="no triples to write"):
        write_triples(path, [])
    with pytest.raises(FormatError, match="name '' is empty"):
        write_triples(path, [("", "r", "b")])
    assert not path.exists()


@pytest.mark.parametrize("suffix", READERS)
def test_a_damaged_file_is_refused_with_its_name(suffix, tmp_path):
    require_extra(suffix)
    path = tmp_path / f"facts{suffix}"
    path.write_bytes(b"\x00\xff\xfe damaged < file")
    with pytest.raises(FormatError, match=str(path)):
        load(path)


@pytest.mark.parametrize("suffix", READERS)
def test_an_empty_file_has_no_triples(suffix, tmp_path):
    require_extra(suffix)
    path = tmp_path / f"facts{suffix}"
    path.touch()
    with pytest.raises(FormatError, match=str(path)):
        load(path)


def test_formats_that_are_only_written_are_not_read(tmp_path):
    path = tmp_path / "facts.pl"
    write_triples(path, [("a", "r", "b")])
    with pytest.raises(FormatError, match=r"unknown format: \.pl\. Use \.tsv, "):
        read_triples(path)


def test_every_registered_module_can_read_or_write():
    assert all(hasattr(module, "read") for module in READERS.values())
    assert all(hasattr(module, "write") for module in WRITERS.values())
    assert READERS.keys() - WRITERS.keys() == {".nq", ".trig"}

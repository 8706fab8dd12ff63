import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from neurallp.errors import DataError, FormatError
from neurallp.io.files import atomic_write, is_gzip, read_bytes, read_utf8, replacing, suffix_of


@pytest.mark.parametrize(
    ("name", "suffix"),
    [("a.tsv", ".tsv"), ("a.TSV.GZ", ".tsv"), ("a.b.csv.gz", ".csv"), ("a", ""), (".gz", ""), ("a.gz", "")],
)
def test_the_suffix_ignores_case_and_compression(name, suffix):
    assert suffix_of(name) == suffix


@given(st.binary(max_size=200), st.sampled_from(["plain", "packed.gz"]))
def test_what_was_written_is_read_back(tmp_path_factory, data, name):
    path = tmp_path_factory.mktemp("files") / name
    atomic_write(path, data)
    assert read_bytes(path) == data
    assert not is_gzip(path) or path.read_bytes().startswith(b"\x1f\x8b")


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfanna")
    assert read_utf8(tmp_path / "a.txt") == "anna"


def test_text_that_is_not_utf8_is_refused_with_the_byte(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"ab\xff")
    with pytest.raises(FormatError, match=r"a\.txt: byte 3 is not UTF-8"):
        read_utf8(tmp_path / "a.txt")


def test_equal_content_gives_equal_compressed_files(tmp_path):
    for name in ("a.gz", "b.gz"):
        atomic_write(tmp_path / name, "same")
    assert (tmp_path / "a.gz").read_bytes() == (tmp_path / "b.gz").read_bytes()


@pytest.mark.parametrize("data", [b"not gzip", gzip.compress(b"cut off" * 100, mtime=0)[:-9]])
def test_damaged_gzip_is_refused_with_the_remedy(tmp_path, data):
    (tmp_path / "a.gz").write_bytes(data)
    with pytest.raises(FormatError, match=r"damaged gzip .* Download or compress the file again"):
        read_bytes(tmp_path / "a.gz")


def test_a_missing_file_suggests_a_similar_name(tmp_path):
    (tmp_path / "family.tsv").touch()
    with pytest.raises(DataError, match=r"Did you mean '.*family\.tsv'"):
        read_bytes(tmp_path / "famly.tsv")
    with pytest.raises(DataError, match="Check the path"):
        read_bytes(tmp_path / "zzz")
    with pytest.raises(DataError, match=r"the folder .*none does not exist"):
        read_bytes(tmp_path / "none" / "family.tsv")


def test_a_failure_within_the_block_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(TypeError), replacing(path) as file:
        file.writelines([b"new", "text"])
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_error_is_reported_as_a_failure_to_write(tmp_path):
    with pytest.raises(DataError, match=r"Cannot write .*: No space left"), replacing(tmp_path / "a.txt"):
        raise OSError(28, "No space left on device")
    assert not list(tmp_path.iterdir())


def test_a_folder_is_not_replaced_by_a_file(tmp_path):
    with pytest.raises(DataError, match="not a regular file"):
        atomic_write(tmp_path, "text")


def test_a_symbolic_link_stays_and_its_target_is_replaced(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    atomic_write(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "new"


def test_half_a_surrogate_pair_cannot_be_written(tmp_path):
    with pytest.raises(FormatError, match="half a surrogate pair"):
        atomic_write(tmp_path / "a.txt", "ab\ud800")
    assert not list(tmp_path.iterdir())

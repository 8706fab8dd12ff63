import gzip
import io
import resource
import tarfile
from pathlib import Path

import pytest

from neurallp.datasets.download import FetchError, unpack
from neurallp.errors import ConfigError, FormatError
from neurallp.io.files import read_bytes
from neurallp.io.limits import SMALL, VARIABLE, max_bytes
from neurallp.io.triples import read_triples


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def bomb(size):
    """Return `size` zeros, compressed; made piece by piece."""
    content = io.BytesIO()
    with gzip.GzipFile(fileobj=content, mode="wb", compresslevel=9, mtime=0) as file:
        for _ in range(size >> 20):
            file.write(bytes(1 << 20))
    return content.getvalue()


def test_a_small_file_may_expand_freely_and_a_large_one_by_a_factor():
    assert max_bytes(10) == SMALL
    assert max_bytes(10 << 20) == 2000 << 20


def test_compressed_zeros_are_refused_before_they_fill_memory(tmp_path):
    (tmp_path / "facts.tsv.gz").write_bytes(bomb(300 << 20))
    before = peak()
    with pytest.raises(FormatError, match=rf"facts.tsv.gz: .* limit for a file of .* set {VARIABLE}"):
        read_triples(tmp_path / "facts.tsv.gz")
    assert peak() - before < 200 << 20


def test_the_variable_sets_the_limit(tmp_path, monkeypatch):
    (tmp_path / "a.gz").write_bytes(gzip.compress(b"x" * 2000, mtime=0))
    monkeypatch.setenv(VARIABLE, "1000")
    with pytest.raises(FormatError, match="more than 1,000 bytes"):
        read_bytes(tmp_path / "a.gz")
    monkeypatch.setenv(VARIABLE, "2000")
    assert len(read_bytes(tmp_path / "a.gz")) == 2000
    monkeypatch.setenv(VARIABLE, "lots")
    with pytest.raises(ConfigError, match="must be a number of bytes, got 'lots'"):
        read_bytes(tmp_path / "a.gz")


def test_a_file_without_end_is_refused(monkeypatch):
    monkeypatch.setenv(VARIABLE, "100000")
    with pytest.raises(FormatError, match="more than 100,000 bytes"):
        read_bytes("/dev/zero")


def test_repeated_names_of_a_parquet_file_are_decoded_once(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    num, long = 20_000, "x" * 100_000  # 2 GB if each row had its own name
    names = pa.DictionaryArray.from_arrays(pa.array([0] * num, pa.int32()), pa.array([long]))
    table = pa.table({"head": names, "relation": ["r"] * num, "tail": [f"e{i}" for i in range(num)]})
    parquet.write_table(table, tmp_path / "facts.parquet")
    before = peak()
    triples = read_triples(tmp_path / "facts.parquet")
    assert triples[0] == (long, "r", "e0")
    assert len(triples) == num
    assert peak() - before < 300 << 20


def test_more_rows_than_a_parquet_file_can_stand_for_are_refused(tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    num = 4_000_000
    same = pa.DictionaryArray.from_arrays(pa.array([0] * num, pa.int32()), pa.array(["a"]))
    parquet.write_table(pa.table({"head": same, "relation": same, "tail": same}), tmp_path / "facts.parquet")
    with pytest.raises(FormatError, match="its content takes more than"):
        read_triples(tmp_path / "facts.parquet")


def test_a_member_of_an_archive_is_bounded(tmp_path):
    path = tmp_path / "set.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("train.txt")
        info.size = SMALL + 1
        archive.addfile(info, io.BytesIO(bytes(SMALL + 1)))
    with pytest.raises(FetchError, match=r"train.txt takes .* bytes, more than"):
        unpack(Path(path), {"train": "train.txt"})

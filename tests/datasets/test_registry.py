import json

import pytest

from neurallp import DataError, UnknownNameError
from neurallp.datasets.registry import SETS, Sum, data_folder, find_data, find_sets


def test_every_set_has_files_with_checksums():
    for public in SETS.values():
        assert public.files, public.name
        for source in public.sources:
            for part in source.members:
                assert public.file_of(part) in public.files


def test_only_fb15k_has_no_digest():
    unknown = {name for name, public in SETS.items() for lines in public.files.values() if not lines.digest}
    assert unknown == {"fb15k"}


def test_checksums_ignore_the_order_of_lines_and_whitespace_around_them():
    assert Sum.of(b"a\tb\tc\r\nd\te\tf \n\n") == Sum.of(b"d\te\tf\na\tb\tc")
    assert Sum.of(b"a\nb") != Sum.of(b"a\nc")
    assert Sum.of(b"a\na").num_lines == 2


def test_a_folder_of_sets_is_found_by_its_name():
    assert len(find_sets("grail")) == 16
    with pytest.raises(UnknownNameError, match="Did you mean 'umls'"):
        find_sets("uml")


def test_data_is_in_the_users_cache_unless_a_folder_is_named(monkeypatch, tmp_path):
    monkeypatch.delenv("NEURALLP_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "neurallp"
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path / "named"))
    assert data_folder() == tmp_path / "named"
    with pytest.raises(DataError, match="neurallp data get wn18rr"):
        find_data("wn18rr")


def test_the_command_lists_and_verifies(run, monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    (tmp_path / "umls").mkdir()
    (tmp_path / "umls" / "train.tsv").write_text("not\tthe\tsame\n", encoding="utf-8")
    code, out, _ = run("data", "list", "--json")
    listed = {each["name"]: each for each in json.loads(out)["sets"]}
    assert code == 0
    assert listed["umls"]["is_here"]
    assert not listed["kinship"]["is_here"]
    assert all(each["licence"] for each in listed.values())
    code, out, _ = run("data", "verify", "umls", "--json")
    assert code == 1
    assert json.loads(out)["umls"] == {
        "facts.tsv": "missing",
        "test.tsv": "missing",
        "train.tsv": "wrong",
        "valid.tsv": "missing",
    }
    assert "umls/train.tsv" in run("data", "verify")[1]
    assert "kinship" in run("data", "list")[1]
    assert "MetaQA" in run("data", "get", "metaqa")[2]

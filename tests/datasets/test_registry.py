import json

import pytest

from neurallp import DataError, UnknownNameError
from neurallp.datasets import registry
from neurallp.datasets.registry import SETS, PublicSet, Sum, data_folder, find_data, find_sets, verify


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


# Files and checksums


def test_every_set_has_a_name_a_licence_and_a_home():
    assert len(SETS) == 25
    for name, public in SETS.items():
        assert public.name == name
        assert public.title
        assert public.licence
        assert public.home.startswith(("http://", "https://"))
        for source in public.sources:
            assert source.addresses
            assert all(address.startswith("https://") for address in source.addresses)


def test_every_part_of_a_set_comes_from_one_download():
    for public in SETS.values():
        parts = [part for source in public.sources for part in source.members]
        assert len(set(parts)) == len(parts)
        if public.sources:
            assert {"train", "valid", "test"} <= set(parts)
            assert {public.file_of(part) for part in parts} == set(public.files)


def test_a_set_to_learn_on_and_its_new_entities_come_in_pairs():
    names = [each.name for each in find_sets("grail")]
    for name in names:
        assert name.endswith("_ind") or f"{name}_ind" in names


@pytest.mark.parametrize("name", ["", "grail/", "WN18", "fb15k-23"])
def test_a_name_that_is_no_set_is_refused(name):
    with pytest.raises(UnknownNameError, match="The registry has 25 data sets"):
        find_sets(name)


def test_a_set_is_not_a_prefix_of_another():
    assert [each.name for each in find_sets("fb15k")] == ["fb15k"]
    assert [each.name for each in find_sets("wn18")] == ["wn18"]
    assert [each.name for each in find_sets("grail/fb237_v1")] == ["grail/fb237_v1"]


def test_a_checksum_counts_lines_and_knows_their_content():
    text = b"a\tr\tb\nb\tr\tc\n"
    assert Sum.of(text).fits(b"b\tr\tc\na\tr\tb")
    assert not Sum.of(text).fits(b"a\tr\tb\n")
    assert not Sum.of(text).fits(b"a\tr\tb\na\tr\tb\n")
    assert Sum(2, None).fits(b"anything\nelse\n")
    assert not Sum(2, None).fits(b"anything\n")
    assert Sum.of(b"") == Sum.of(b"\n  \n")
    assert Sum.of(b"").num_lines == 0


def test_files_are_judged_one_by_one(monkeypatch, tmp_path):
    texts = {"train": b"a\tr\tb\n", "valid": b"b\tr\tc\n", "test": b"c\tr\td\n"}
    sums = {f"toy/{part}.tsv": Sum.of(text) for part, text in texts.items()}
    sums["toy/test.tsv"] = Sum(1, None)
    monkeypatch.setattr(registry, "_sums", lambda: sums)
    public = PublicSet("toy", "Toy", "CC0", "https://toy.org")
    assert set(verify(public, tmp_path).values()) == {"missing"}
    (tmp_path / "toy").mkdir()
    (tmp_path / "toy" / "train.tsv").write_bytes(texts["train"].replace(b"\n", b"\r\n"))
    (tmp_path / "toy" / "valid.tsv").write_bytes(b"another\tr\tc\n")
    (tmp_path / "toy" / "test.tsv").write_bytes(texts["test"])
    assert verify(public, tmp_path) == {
        "train.tsv": "right",
        "valid.tsv": "wrong",
        "test.tsv": "right length",
    }


def test_data_that_is_there_is_found_in_its_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", str(tmp_path))
    (tmp_path / "grail" / "fb237_v1").mkdir(parents=True)
    assert find_data("grail/fb237_v1") == tmp_path / "grail" / "fb237_v1"


@pytest.mark.parametrize(
    ("platform", "variable", "expected"),
    [("linux", "XDG_CACHE_HOME", "neurallp"), ("win32", "LOCALAPPDATA", "neurallp")],
)
def test_each_system_has_its_cache(monkeypatch, tmp_path, platform, variable, expected):
    monkeypatch.delenv("NEURALLP_DATA", raising=False)
    monkeypatch.setenv(variable, str(tmp_path))
    monkeypatch.setattr("sys.platform", platform)
    assert data_folder() == tmp_path / expected


def test_an_empty_variable_names_no_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("NEURALLP_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "neurallp"

import json

import numpy as np
import pytest

from neurallp import DataError
from neurallp.io.triples import packed_arrays, write_triples
from neurallp.io.triples.packed import DESCRIPTION, open_packed, pack

TRIPLES = [("anna", "r", "bob"), ("bob", "s", "carl"), ("carl", "r", "anna"), ("Ümit", "s", "bob")]


@pytest.fixture
def folder(tmp_path):
    write_triples(tmp_path / "facts.tsv", TRIPLES)
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    return tmp_path / "packed"


def put(folder, name, array):
    """Replace an array as one who forges a folder would, with its size."""
    path = folder / f"{name}.npy"
    np.save(path, array)
    described = json.loads((folder / DESCRIPTION).read_text())
    described["files"][path.name] = path.stat().st_size
    (folder / DESCRIPTION).write_text(json.dumps(described))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *[("targets", 4), ("targets", 2**31), ("sources", 9), ("operators", 4), ("operators", -1)],
        *[("own", -1), ("own", 99), ("fan_in", 0), ("offsets", 1), ("starts", 99), ("operator_offsets", 7)],
        *[("name_offsets", 1), ("names", 0xFF)],
    ],
)
def test_a_value_that_is_no_place_is_refused_before_a_compiled_loop_goes_there(folder, name, value):
    array = np.load(folder / f"{name}.npy")
    array[0] = value
    put(folder, name, array)
    with pytest.raises(DataError, match=r"damaged packed folder .*Pack the triples again"):
        open_packed(folder)


@pytest.mark.parametrize("name", ["targets", "starts", "names", "name_offsets", "shared", "own"])
@pytest.mark.parametrize("change", [lambda a: a[:-1], lambda a: a.astype(np.float64), lambda a: a[None]])
def test_an_array_of_another_shape_or_type_is_refused(folder, name, change):
    put(folder, name, change(np.load(folder / f"{name}.npy")))
    with pytest.raises(DataError, match="damaged packed folder"):
        open_packed(folder)


@pytest.mark.parametrize("place", [0, 1, 3])
def test_no_name_is_empty(folder, place):
    offsets = np.load(folder / "name_offsets.npy")
    offsets[place + 1] = offsets[place]
    offsets[-1] = offsets.max()
    put(folder, "names", np.load(folder / "names.npy")[: offsets[-1]])
    put(folder, "name_offsets", offsets)
    with pytest.raises(DataError, match="names are cut at the wrong places"):
        open_packed(folder)


def test_a_name_is_not_cut_within_a_character(folder):
    offsets = np.load(folder / "name_offsets.npy")
    offsets[-2] += 1  # between the two bytes of Ü
    put(folder, "name_offsets", offsets)
    with pytest.raises(DataError, match="cut at the wrong places"):
        open_packed(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [("relations", [1, 2]), ("relations", ["r", "r"]), ("reflexive", [True]), ("files", {}), ("more", 1)],
)
def test_a_description_that_does_not_fit_is_refused(folder, key, value):
    described = json.loads((folder / DESCRIPTION).read_text())
    (folder / DESCRIPTION).write_text(json.dumps(described | {key: value}))
    with pytest.raises(DataError, match="damaged packed folder"):
        open_packed(folder)


def reason_of(folder):
    with pytest.raises(DataError) as caught:
        open_packed(folder)
    start, end = f"{folder} is a damaged packed folder (", "). Pack the triples again."
    message = str(caught.value)
    assert message.startswith(start)
    assert message.endswith(end)
    return message.removeprefix(start).removesuffix(end)


def test_a_sound_folder_is_opened(folder):
    assert sorted(open_packed(folder).named_facts()) == sorted(TRIPLES)


@pytest.mark.parametrize(
    ("name", "place", "value", "reason"),
    [
        ("targets", 0, 4, "targets has a value outside 0 to 3"),
        ("operators", 0, 4, "operators has a value outside 0 to 3"),
        ("own", 0, -1, "own has a value outside 0 to 7"),
        ("fan_in", 0, 0, "fan_in has a value below 1"),
        ("offsets", 0, 1, "offsets does not ascend from 0 to 8"),
        ("starts", 2, 7, "starts does not ascend from 0 to 8"),  # falls again, but not below the first
        ("operator_offsets", -1, 9, "operator_offsets does not ascend from 0 to 8"),
        ("name_offsets", 0, 1, "name_offsets does not ascend from 0 to 16"),
    ],
)
def test_what_is_wrong_with_an_array_is_told(folder, name, place, value, reason):
    array = np.load(folder / f"{name}.npy")
    array[place] = value
    put(folder, name, array)
    assert reason_of(folder) == reason


@pytest.mark.parametrize(
    ("name", "kind", "reason"),
    [
        ("targets", np.int64, "targets is int64 of (8,), not uint32 of (8,)"),
        ("own", np.int64, "own is int64 of (8,), not int32 of (8,)"),
        ("names", np.int8, "names is int8 of (16,), not uint8 of (16,)"),
        ("name_offsets", np.int32, "name_offsets is int32 of (5,), not int64 of (5,)"),
        ("shared", np.int32, "shared is int32 of (4, 4), not int64 of (4, 4)"),
    ],
)
def test_another_type_is_told_with_the_one_expected(folder, name, kind, reason):
    put(folder, name, np.load(folder / f"{name}.npy").astype(kind))
    assert reason_of(folder) == reason


@pytest.mark.parametrize("last", ["Ümit", "éva"])
def test_a_name_is_not_cut_within_a_character_whatever_its_bytes(tmp_path, last):
    write_triples(tmp_path / "facts.tsv", [("anna", "r", last)])
    pack(tmp_path / "facts.tsv", tmp_path / "packed")
    put(tmp_path / "packed", "name_offsets", np.array([0, 5, 4 + len(last.encode())]))
    assert reason_of(tmp_path / "packed") == "names are cut at the wrong places"


def test_names_without_text_are_refused(folder):
    put(folder, "names", np.zeros(0, np.uint8))
    put(folder, "name_offsets", np.zeros(5, np.int64))
    assert reason_of(folder) == "names are cut at the wrong places"


@pytest.mark.parametrize(("extra", "is_read"), [(0, True), (-1, False)])
def test_the_values_of_arrays_up_to_the_limit_are_read(folder, monkeypatch, extra, is_read):
    arrays = [np.load(path) for path in folder.glob("*.npy") if path.stem != "shared"]
    monkeypatch.setattr(packed_arrays, "MAX_READ", sum(array.nbytes for array in arrays) + extra)
    fan_in = np.load(folder / "fan_in.npy")
    fan_in[0] = 0
    put(folder, "fan_in", fan_in)
    if is_read:
        assert reason_of(folder) == "fan_in has a value below 1"
    else:
        open_packed(folder)

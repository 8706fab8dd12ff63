import json

import numpy as np
import pytest

from neurallp import DataError
from neurallp.io.triples import write_triples
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


def test_no_name_is_empty(folder):
    offsets = np.load(folder / "name_offsets.npy")
    offsets[1] = 0
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

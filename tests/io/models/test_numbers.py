import json

import pytest

from neurallp.errors import ModelError
from neurallp.graph.numbers import Bins, Numbers
from neurallp.io.models.numbers import numbers_file, read_numbers
from neurallp.io.models.store import NUMBERS, ModelFiles

FOUND = Numbers({"born": Bins((1950.0, 1970.0), ("< 1950", "1950-1969", ">= 1970"))}, "next bin")


def files(tmp_path, contents):
    return ModelFiles(tmp_path, "rules", {name: text.encode() for name, text in contents.items()})


def test_bins_are_read_as_they_were_written(tmp_path):
    assert read_numbers(files(tmp_path, numbers_file(FOUND))) == FOUND
    assert read_numbers(files(tmp_path, numbers_file(None))) is None


def test_bins_that_do_not_fit_their_names_are_damaged(tmp_path):
    content = json.loads(numbers_file(FOUND)[NUMBERS])
    content["bins"]["born"]["names"].pop()
    with pytest.raises(ModelError, match=r"numbers.json is missing or damaged \(2 names"):
        read_numbers(files(tmp_path, {NUMBERS: json.dumps(content)}))

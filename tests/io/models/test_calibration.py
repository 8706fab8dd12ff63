import json

import pytest

from neurallp.errors import ModelError
from neurallp.io.models.calibration import calibration_path, read_calibration, write_calibration
from neurallp.io.models.folders import FORMAT_VERSION
from neurallp.reasoning.calibration import Calibration

CALIBRATION = Calibration(
    (-1.5, 1 / 3),
    (0.0, 1.25, 2.0, 0.5, -0.75),
    {"father": (0.1, -9.0, -8.5), "~père": (1.0, 2.0, 3.0)},
    (0.0, -1.0, -2.0),
    6.5,
)


def test_a_calibration_is_read_as_it_was_written(tmp_path):
    assert read_calibration(tmp_path) is None
    write_calibration(tmp_path, CALIBRATION)
    assert read_calibration(tmp_path) == CALIBRATION


def test_that_of_a_file_of_rules_is_beside_it_and_void_when_the_rules_change(tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("uncle <= brother, father\n")
    write_calibration(rules, CALIBRATION)
    assert calibration_path(rules) == tmp_path / "rules.txt.calibration.json"
    assert read_calibration(rules) == CALIBRATION
    rules.write_text("uncle <= father, brother\n")
    assert read_calibration(rules) is None


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"intercepts": [1]},
        {"intercepts": {}, "knots": ["x"], "coefficients": [], "others": [], "highest": 1},
    ],
)
def test_a_damaged_calibration_is_told(tmp_path, broken):
    (tmp_path / "calibration.json").write_text(json.dumps({"format_version": FORMAT_VERSION, **broken}))
    with pytest.raises(ModelError, match=r"calibration.json is missing or damaged"):
        read_calibration(tmp_path)

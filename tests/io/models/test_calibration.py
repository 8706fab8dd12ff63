import json
from dataclasses import asdict

import pytest
from model_folders import rewrite

from neurallp.errors import ModelError
from neurallp.io.models.calibration import calibration_path, read_calibration, write_calibration
from neurallp.io.models.store import write_files
from neurallp.reasoning.calibration import Calibration

CALIBRATION = Calibration(
    (-1.5, 1 / 3),
    (0.0, 1.25, 2.0, 0.5, -0.75),
    {"father": (0.1, -9.0, -8.5), "~père": (1.0, 2.0, 3.0)},
    (0.0, -1.0, -2.0),
    6.5,
)


@pytest.fixture
def folder(tmp_path):
    write_files(tmp_path, "rules", {})
    return tmp_path


def test_a_calibration_is_read_as_it_was_written(folder):
    assert read_calibration(folder) is None
    write_calibration(folder, CALIBRATION)
    assert read_calibration(folder) == CALIBRATION


def test_that_of_a_file_of_rules_is_beside_it_and_void_when_the_rules_change(tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("uncle <= brother, father\n")
    write_calibration(rules, CALIBRATION)
    assert calibration_path(rules) == tmp_path / "rules.txt.calibration.json"
    assert read_calibration(rules) == CALIBRATION
    rules.write_text("uncle <= father, brother\n")
    assert read_calibration(rules) is None


WHOLE = asdict(CALIBRATION)


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"intercepts": [1]},
        WHOLE | {"knots": ["x"]},
        WHOLE | {"knots": [1.0, 2.0, 3.0]},
        WHOLE | {"knots": []},
        WHOLE | {"coefficients": [1.0]},
        WHOLE | {"others": [1.0]},
        WHOLE | {"intercepts": {"father": [1.0, 2.0]}},
        WHOLE | {"highest": None},
        WHOLE | {"more": 1},
    ],
)
def test_a_damaged_calibration_is_reported(folder, broken):
    rewrite(folder, "calibration.json", json.dumps(broken))
    with pytest.raises(ModelError, match=r"calibration.json is missing or damaged"):
        read_calibration(folder)


def test_that_of_a_file_of_rules_is_checked_as_well(tmp_path):
    rules = tmp_path / "rules.txt"
    rules.write_text("uncle <= brother, father\n")
    calibration_path(rules).write_text('{"rules": 7}')
    with pytest.raises(ModelError, match=r"rules.txt.calibration.json is missing or damaged"):
        read_calibration(rules)

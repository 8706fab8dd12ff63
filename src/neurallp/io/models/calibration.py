"""A model's calibration, beside it in its folder."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from ...reasoning.calibration import METHODS, Calibration
from ..files import AnyPath
from .folders import FORMAT_VERSION, damaged, read_json, require_version, to_json, write_together

CALIBRATION = "calibration.json"


def write_calibration(folder: AnyPath, calibration: Calibration) -> None:
    """Put a calibration beside the model it was fitted for."""
    content = {"format_version": FORMAT_VERSION, "method": calibration.method, **asdict(calibration)}
    write_together(folder, {CALIBRATION: to_json(content)})


def read_calibration(folder: AnyPath) -> Calibration | None:
    """Return the calibration of a folder, or None where there is none."""
    path = Path(folder) / CALIBRATION
    if not path.is_file():
        return None
    content = read_json(path, dict)
    require_version(folder, content)
    try:
        kind = METHODS[content["method"]]
        return kind(**{field.name: _numbers(content[field.name]) for field in fields(kind)})
    except (KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error


def _numbers(value: Any) -> Any:
    """Return a number, or numbers, as the dataclasses hold them."""
    return tuple(map(float, value)) if isinstance(value, list) else float(value)


@contextmanager
def recalibrated(folder: AnyPath, calibration: Calibration | None) -> Iterator[None]:
    """Take a folder's calibration away before its model changes, and put the new model's there after."""
    if (old := Path(folder) / CALIBRATION).is_file():
        old.unlink()
    yield
    if calibration is not None:
        write_calibration(folder, calibration)

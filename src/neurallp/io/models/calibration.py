"""A calibration, in the folder of its model or beside its file of rules."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ...reasoning.calibration import Calibration
from ..files import AnyPath, atomic_write, read_bytes
from .folders import FORMAT_VERSION, checksums, damaged, read_json, require_version, to_json

CALIBRATION = "calibration.json"


def calibration_path(source: AnyPath) -> Path:
    """Return where the calibration of a model folder, or of a file of rules, is kept."""
    path = Path(source)
    return path / CALIBRATION if path.is_dir() else path.with_name(f"{path.name}.{CALIBRATION}")


def write_calibration(source: AnyPath, calibration: Calibration) -> None:
    """Put a calibration beside the model or the rules that it was fitted for."""
    rules = {} if Path(source).is_dir() else {"rules": _checksum(Path(source))}
    content = {"format_version": FORMAT_VERSION, **rules, **asdict(calibration)}
    atomic_write(calibration_path(source), to_json(content))


def read_calibration(source: AnyPath) -> Calibration | None:
    """Return the calibration of a model folder or of a file of rules, or None where there is none.

    One that was fitted before the file of rules changed counts as none.
    """
    path = calibration_path(source)
    if not path.is_file():
        return None
    content = read_json(path, dict)
    require_version(path, content)
    if not Path(source).is_dir() and content.get("rules") != _checksum(Path(source)):
        return None
    try:
        return Calibration.from_dict(content)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error


def _checksum(path: Path) -> str:
    return checksums({path.name: read_bytes(path)})[path.name]


@contextmanager
def recalibrated(folder: AnyPath, calibration: Calibration | None) -> Iterator[None]:
    """Take a folder's calibration away before its model changes, and put the new model's there after.

    When the model cannot be written, the old calibration is put back.
    """
    path = Path(folder) / CALIBRATION
    old = path.read_bytes() if path.is_file() else None
    if old is not None:
        path.unlink()
    try:
        yield
    except BaseException:
        if old is not None:
            path.write_bytes(old)
        raise
    if calibration is not None:
        write_calibration(folder, calibration)

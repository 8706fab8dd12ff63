"""A calibration, in the folder of its model or beside its file of rules."""

from dataclasses import asdict, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any

from ...reasoning.calibration import NUM_FREE, Calibration
from ...reasoning.calibration_sample import NUM_CASES, SHARPNESS
from ..files import AnyPath, atomic_write, read_bytes
from ..schema import as_error, convert, parse_json, to_json
from .folders import read_json
from .store import CALIBRATION, ModelFiles, damaged, read_files, update_files


@dataclass(frozen=True)
class RulesCalibration:
    """What `RULES.calibration.json` holds; it counts only for a file of rules with this checksum."""

    rules: str
    calibration: dict[str, Any]


def calibration_path(source: AnyPath) -> Path:
    """Return where the calibration of a model folder, or of a file of rules, is kept."""
    path = Path(source)
    return path / CALIBRATION if path.is_dir() else path.with_name(f"{path.name}.{CALIBRATION}")


def calibration_file(calibration: Calibration | None) -> dict[str, str]:
    """Return the file of a model's calibration; none where it has none."""
    return {} if calibration is None else {CALIBRATION: to_json(asdict(calibration))}


def write_calibration(source: AnyPath, calibration: Calibration) -> None:
    """Put a calibration beside the model or the rules that it was fitted for."""
    if Path(source).is_dir():
        update_files(source, calibration_file(calibration))
    else:
        beside = RulesCalibration(_checksum(Path(source)), asdict(calibration))
        atomic_write(calibration_path(source), to_json(asdict(beside)))


def read_calibration(source: AnyPath) -> Calibration | None:
    """Return the calibration of a model folder or of a file of rules, or None where there is none.

    One that was fitted before the file of rules changed counts as none.
    """
    return calibration_of(read_files(source)) if Path(source).is_dir() else _of_rules(Path(source))


def calibration_of(files: ModelFiles) -> Calibration | None:
    """Return the calibration of a model, or None where it has none."""
    if CALIBRATION not in files:
        return None
    path, found = files.folder / CALIBRATION, read_json(files, CALIBRATION, dict[str, Any])
    with as_error(lambda why: damaged(path, why)):
        return parse_calibration(found)


def _of_rules(rules: Path) -> Calibration | None:
    path = calibration_path(rules)
    if not path.is_file():
        return None
    with as_error(lambda why: damaged(path, why)):
        found = parse_json(read_bytes(path), RulesCalibration)
        calibration = parse_calibration(found.calibration)
        return calibration if found.rules == _checksum(rules) else None


def parse_calibration(described: Any) -> Calibration | None:
    """Return a calibration from JSON; raise ValueError where it is damaged.

    One that was written before functional queries were known has none.
    """
    if described is None:
        return None
    if isinstance(described, dict) and not described.keys() <= {each.name for each in fields(Calibration)}:
        raise ValueError("a field is unknown")
    return _checked(convert(described, Calibration))


def _checked(calibration: Calibration) -> Calibration:
    """Return a calibration whose numbers fit together; raise ValueError if they do not."""
    num_pieces = len(calibration.knots) - 1
    if num_pieces < 1 or len(calibration.coefficients) != 2 * num_pieces + 1 + NUM_FREE:
        raise ValueError("knots and coefficients do not fit together")
    if any(len(row) != NUM_CASES for row in (calibration.others, *calibration.intercepts.values())):
        raise ValueError(f"a query has {NUM_CASES} intercepts")
    if not set(calibration.functional.values()) <= set(SHARPNESS):
        raise ValueError(f"a sharpness is one of {', '.join(map(str, SHARPNESS))}")
    return calibration


def _checksum(path: Path) -> str:
    return sha256(read_bytes(path)).hexdigest()

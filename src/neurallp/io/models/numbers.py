"""The bins of numbers and dates, beside the model whose rules mention them."""

from dataclasses import asdict
from pathlib import Path

from ...graph.numbers import Bins, Numbers
from ..files import AnyPath
from .folders import FORMAT_VERSION, damaged, read_json, require_version, to_json, write_together

NUMBERS = "numbers.json"


def write_numbers(folder: AnyPath, numbers: Numbers | None) -> None:
    """Put the bins beside their model; where there are none, those of an earlier model are removed."""
    if numbers is None:
        (Path(folder) / NUMBERS).unlink(missing_ok=True)
    else:
        write_together(folder, {NUMBERS: to_json({"format_version": FORMAT_VERSION, **asdict(numbers)})})


def read_numbers(folder: AnyPath) -> Numbers | None:
    """Return the bins of a model; None where numbers are entities."""
    path = Path(folder) / NUMBERS
    if not path.is_file():
        return None
    content = read_json(path, dict)
    require_version(folder, content)
    try:
        bins = {str(name): _bins(each["cuts"], each["names"]) for name, each in content["bins"].items()}
        return Numbers(bins, str(content["order"]))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise damaged(path, error) from error


def _bins(cuts: list[float], names: list[str]) -> Bins:
    if len(names) != len(cuts) + 1:
        raise ValueError(f"{len(names)} names for {len(cuts)} cuts")
    return Bins(tuple(map(float, cuts)), tuple(map(str, names)))

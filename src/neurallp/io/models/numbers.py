"""The bins of numbers and dates, beside the model whose rules mention them."""

from dataclasses import asdict

from ...graph.numbers import Numbers
from ..schema import to_json
from .folders import read_json
from .store import NUMBERS, ModelFiles, damaged


def numbers_file(numbers: Numbers | None) -> dict[str, str]:
    """Return the file of a model's bins; none where numbers are entities."""
    return {} if numbers is None else {NUMBERS: to_json(asdict(numbers))}


def read_numbers(files: ModelFiles) -> Numbers | None:
    """Return the bins of a model; None where numbers are entities."""
    if NUMBERS not in files:
        return None
    numbers = read_json(files, NUMBERS, Numbers)
    for name, bins in numbers.bins.items():
        if len(bins.names) != len(bins.cuts) + 1:
            raise damaged(files.folder / NUMBERS, f"{len(bins.names)} names for the cuts of {name!r}")
    return numbers

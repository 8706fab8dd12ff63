"""What the formats of rules share: the result of reading a file, and parsing line by line."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ...errors import FormatError, quoted
from ...rules.rule import Rule, RuleSet


@dataclass(frozen=True)
class RuleFile:
    """The chain rules of a file, and how many other rules were skipped."""

    rules: RuleSet
    num_skipped: int = 0


def numbered_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line that is not blank."""
    lines = ((number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1))
    return ((number, line) for number, line in lines if line.strip())


def parse_lines(
    lines: Iterable[tuple[int, str]], parse: Callable[[str], Rule | None], path: Path, fields: str
) -> RuleFile:
    """Return the rules that `parse` returns; None is a rule to skip, a ValueError a faulty line.

    All faulty lines are raised as one FormatError; `fields` describes what a line should hold. Confidences
    are normalised by the largest of their target.
    """
    from ...rules.simplify import normalize

    found, faults = [], []
    for number, line in lines:
        try:
            found.append(parse(line))
        except (ValueError, OverflowError):
            faults.append(f"{path}:{number}: expected {fields}; got {quoted(line, 80)}.")
    if faults:
        raise FormatError.collected(faults)
    rules = [rule for rule in found if rule is not None]
    return RuleFile(normalize(rules), len(found) - len(rules))


def measured_rule(
    target: str, body: tuple[str, ...], confidence: float, support: int, num_predictions: int
) -> Rule:
    """Return a rule whose confidence was counted on facts, as miners do; raise ValueError if impossible."""
    if not 0 <= confidence <= 1 or support < 0 or num_predictions < 0:
        raise ValueError("a confidence is between 0 and 1, and counts are at least 0")
    return Rule(target, body, confidence, support=support, num_predictions=num_predictions)

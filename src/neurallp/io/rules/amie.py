"""Rules as AMIE prints them: lines of rule and counts among its messages.

Rules that are not chains of variables (with constants, or with bodies that branch) are skipped and counted.
"""

import re
from pathlib import Path

from ...rules.rule import Rule
from .atoms import Atom, find_chain
from .base import RuleFile, measured_rule, numbered_lines, parse_lines

FIELDS = "rule, head coverage, standard and PCA confidence, support and body size, tab-separated"


def recognizes(text: str) -> bool:
    """Return whether some line of a text has AMIE's arrow."""
    return " => " in text


def parse(text: str, path: Path) -> RuleFile:
    """Return the chain rules of AMIE's output; its messages are ignored.

    Names are as in the facts that AMIE was given, angle brackets included, unless they enclose an IRI.
    """
    lines = ((number, line) for number, line in numbered_lines(text) if " => " in line)
    return parse_lines(lines, _parse, path, FIELDS)


def _parse(line: str) -> Rule | None:
    text, _, confidence, _, support, predictions, *_ = line.split("\t")
    body, target = (_atoms(side) for side in text.split(" => "))
    if len(target) != 1 or not all(term.startswith("?") for atom in (*target, *body) for term in atom[1:]):
        return None
    chain = find_chain(target[0], body)
    # Java writes 0,5 in some locales.
    numbers = float(confidence.replace(",", ".")), int(support), int(predictions)
    return None if chain is None else measured_rule(target[0].relation, chain, *numbers)


def _atoms(text: str) -> list[Atom]:
    terms = re.split(r"\s{2,}", text.strip())
    if len(terms) % 3:
        raise ValueError("an atom has three terms")
    triples = zip(terms[::3], terms[1::3], terms[2::3], strict=True)
    return [Atom(_without_brackets(relation), head, tail) for head, relation, tail in triples]


def _without_brackets(name: str) -> str:
    return re.sub(r"^<(.*://.*)>$", r"\1", name)

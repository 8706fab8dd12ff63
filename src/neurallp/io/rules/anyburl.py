"""Rules as AnyBURL writes them, a format that PyClause reads too.

Chains of variables are read, and rules that name their one answer and have one edge as their body, which are
of the kind `unary`. Others (longer ones with constants, or bodies that branch) are skipped and counted.
AnyBURL assigns different entities to different variables, so X != Y is implied.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from ...errors import ConfigError, FormatError, brief
from ...graph.vocabulary import inverse_name
from ...rules.rule import Rule
from .atoms import Atom, body_atoms, find_chain
from .base import RuleFile, measured_rule, numbered_lines, parse_lines

# The name of a relation may contain brackets and commas, so an atom is recognised by how it ends.
ATOM = re.compile(r"(.+?)\(([^\s(),]+),([^\s(),]+)\)(?:, |$)")

VARIABLE = re.compile(r"[A-Z]|V\d+")

# An atom with one end at a variable; names of entities may contain brackets and commas, too.
LEAVING, ARRIVING = r"(.+?)\({0},(.+)\)", r"(.+?)\((.+),{0}\)"

FIELDS = "predictions, support, confidence and rule, tab-separated"


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return rules as lines of predictions, support, measured confidence and rule."""
    return "".join(_line(rule) for rule in rules)


def _line(rule: Rule) -> str:
    if rule.measured_confidence is None:
        raise ConfigError(
            f"AnyBURL needs counts, and {brief(rule)} has none. Count them on facts: give DATA."
        )
    atoms = [f"{atom.relation}({atom.head},{atom.tail})" for atom in body_atoms(rule)]
    text = f"{rule.target}(X,Y) <= {', '.join(atoms)}"
    if re.search("[\t\r\n]", text) or _chain(text) != (rule.target, rule.body):
        raise FormatError(
            f"AnyBURL cannot represent {brief(rule)}. Leave it out, or rename relations that contain "
            "brackets."
        )
    return f"{rule.num_predictions}\t{rule.support}\t{rule.measured_confidence}\t{text}\n"


def recognizes(text: str) -> bool:
    """Return whether the first line of a text has AnyBURL's arrow."""
    return " <= " in text.partition("\n")[0]


def parse(text: str, path: Path) -> RuleFile:
    """Return the chain rules of a file that AnyBURL wrote."""
    return parse_lines(numbered_lines(text), _parse, path, FIELDS)


def _parse(line: str) -> Rule | None:
    predictions, support, confidence, text = line.split("\t")
    numbers = float(confidence), int(support), int(predictions)
    if (chain := _chain(text)) is not None:
        target, body = chain
        return replace(measured_rule(target, body, *numbers), distinct_ends=True)
    if (named := _named(text)) is not None:
        target, answer, operator, end = named
        measured = measured_rule(target, (operator,), *numbers)
        return replace(measured, distinct_ends=True, kind="unary", answer=answer, body_end=end)
    return None


def _chain(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the target and the body of a rule, or None where it is not a chain of variables from X to Y."""
    head, _, body = text.strip().partition(" <= ")
    targets, atoms = _atoms(head), _atoms(body)
    if not targets or not atoms or targets[0][1:] != ("X", "Y"):
        return None
    if not all(VARIABLE.fullmatch(term) for atom in atoms for term in atom[1:]):
        return None  # a constant
    chain = find_chain(targets[0], atoms)
    return None if chain is None else (targets[0].relation, chain)


def _named(text: str) -> tuple[str, str, str, str | None] | None:
    """Return target, answer, operator and end of a rule r(X, c) <= b(X, d); the end is None for a variable.

    None for other rules: without a constant in the head, or with several atoms.
    """
    head, _, body = text.strip().partition(" <= ")
    for variable in ("X", "Y"):
        target, edge = _edge(head, variable), _edge(body, variable)
        if target and edge and not VARIABLE.fullmatch(target[1]):
            return *target, edge[0], None if VARIABLE.fullmatch(edge[1]) else edge[1]
    return None


def _edge(text: str, variable: str) -> tuple[str, str] | None:
    """Return the operator that leads from a variable to the other end of a single atom, and that end."""
    for form, is_inverse in ((LEAVING, False), (ARRIVING, True)):
        found = re.fullmatch(form.format(variable), text)
        if found and not re.search(r"\), .+\(", found[2]) and found[2] != variable:
            return inverse_name(found[1]) if is_inverse else found[1], found[2]
    return None


def _atoms(text: str) -> list[Atom]:
    """Return the atoms that make up the whole of `text`, or an empty list."""
    atoms, place = [], 0
    while place < len(text):
        found = ATOM.match(text, place)
        if found is None:
            return []
        atoms.append(Atom(*found.groups()))
        place = found.end()
    return atoms

"""Rules as mining programs write them: AnyBURL (whose format PyClause reads too) and AMIE.

Both also write rules that are no chains: with constants, or with bodies that branch. Those are skipped and
counted.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ...errors import ConfigError, FormatError
from ...rules.rule import Rule, RuleSet
from ...rules.simplify import normalize
from .atoms import Atom, body_atoms, find_chain

# The name of a relation may have brackets and commas of its own, so only the end of an atom is sure.
ANYBURL_ATOM = re.compile(r"(.+?)\(([^\s(),]+),([^\s(),]+)\)(?:, |$)")

ANYBURL_FIELDS = "predictions, support, confidence and rule, tab-separated"
AMIE_FIELDS = "rule, head coverage, standard and PCA confidence, support and body size, tab-separated"


def render_anyburl(rules: Iterable[Rule]) -> str:
    """Return rules as lines of predictions, support, measured confidence and rule; targets are no inverses.

    To AnyBURL different variables are different entities, so X != Y goes without saying.
    """
    return "".join(_anyburl_line(rule) for rule in rules)


def _anyburl_line(rule: Rule) -> str:
    if rule.measured_confidence is None:
        raise ConfigError(f"AnyBURL wants counts, and {rule} has none. Count them on facts (--data).")
    atoms = [f"{atom.relation}({atom.head},{atom.tail})" for atom in body_atoms(rule)]
    text = f"{rule.target}(X,Y) <= {', '.join(atoms)}"
    if re.search("[\t\r\n]", text) or _anyburl_chain(text) != (rule.target, rule.body):
        raise FormatError(
            f"AnyBURL cannot write {rule}. Leave it out, or rename relations that have brackets."
        )
    return f"{rule.num_predictions}\t{rule.support}\t{rule.measured_confidence}\t{text}\n"


def parse_anyburl(text: str, path: Path) -> tuple[RuleSet, int]:
    """Return the chain rules of a file of AnyBURL's, and how many others it has."""
    return _parse_lines(_lines(text), _parse_anyburl, path, ANYBURL_FIELDS)


def _parse_anyburl(line: str) -> Rule | None:
    predictions, support, confidence, text = line.split("\t")
    chain = _anyburl_chain(text)
    numbers = float(confidence), int(support), int(predictions)
    return None if chain is None else _rule(chain[0], chain[1], *numbers, distinct_ends=True)


def _anyburl_chain(text: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the target and the body of a rule, or None where it is no chain of variables from X to Y."""
    head, _, body = text.strip().partition(" <= ")
    targets, atoms = _anyburl_atoms(head), _anyburl_atoms(body)
    if not targets or not atoms or targets[0][1:] != ("X", "Y"):
        return None
    if not all(re.fullmatch(r"[A-Z]|V\d+", term) for atom in atoms for term in atom[1:]):
        return None  # a constant
    chain = find_chain(targets[0], atoms)
    return None if chain is None else (targets[0].relation, chain)


def _anyburl_atoms(text: str) -> list[Atom]:
    """Return the atoms that make up the whole of `text`, or none."""
    atoms, place = [], 0
    while place < len(text):
        found = ANYBURL_ATOM.match(text, place)
        if found is None:
            return []
        atoms.append(Atom(*found.groups()))
        place = found.end()
    return atoms


def parse_amie(text: str, path: Path) -> tuple[RuleSet, int]:
    """Return the chain rules of AMIE's output, and how many others it has; its messages are passed over.

    Names are as in the facts that AMIE was given, angle brackets included, unless they enclose an IRI.
    """
    lines = ((number, line) for number, line in _lines(text) if " => " in line)
    return _parse_lines(lines, _parse_amie, path, AMIE_FIELDS)


def _parse_amie(line: str) -> Rule | None:
    text, _, confidence, _, support, predictions, *_ = line.split("\t")
    body, target = (_amie_atoms(side) for side in text.split(" => "))
    if len(target) != 1 or not all(term.startswith("?") for atom in (*target, *body) for term in atom[1:]):
        return None
    chain = find_chain(target[0], body)
    # Where Java speaks another language, it writes 0,5.
    numbers = float(confidence.replace(",", ".")), int(support), int(predictions)
    return None if chain is None else _rule(target[0].relation, chain, *numbers, distinct_ends=False)


def _amie_atoms(text: str) -> list[Atom]:
    terms = re.split(r"\s{2,}", text.strip())
    if len(terms) % 3:
        raise ValueError("an atom has three terms")
    return [Atom(_without_brackets(relation), head, tail) for head, relation, tail in _in_threes(terms)]


def _in_threes(terms: list[str]) -> Iterator[tuple[str, str, str]]:
    return zip(terms[::3], terms[1::3], terms[2::3], strict=True)


def _without_brackets(name: str) -> str:
    return re.sub(r"^<(.*://.*)>$", r"\1", name)


def _rule(
    target: str,
    body: tuple[str, ...],
    confidence: float,
    support: int,
    predictions: int,
    *,
    distinct_ends: bool,
) -> Rule:
    return Rule(
        target, body, confidence, distinct_ends=distinct_ends, support=support, num_predictions=predictions
    )


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank, and their numbers."""
    lines = ((number, line.rstrip("\r")) for number, line in enumerate(text.split("\n"), 1))
    return ((number, line) for number, line in lines if line.strip())


def _parse_lines(
    lines: Iterable[tuple[int, str]], parse: Callable[[str], Rule | None], path: Path, fields: str
) -> tuple[RuleSet, int]:
    found, faults = [], []
    for number, line in lines:
        try:
            found.append(parse(line))
        except ValueError:
            faults.append(f"{path}:{number}: expected {fields}; got {line!r:.80}.")
    if faults:
        raise FormatError.collected(faults)
    rules = [rule for rule in found if rule is not None]
    return normalize(rules), len(found) - len(rules)

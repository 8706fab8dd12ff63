"""Rules as logic programs: Prolog, ProbLog and Soufflé's Datalog.

In each, `fact` is what is known and `derived` what the rules conclude from it. They are two predicates, so
that no rule feeds on the conclusions of another, just as here, and every program ends.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...errors import FormatError
from ...graph.knowledge_base import Triple
from ..files import atomic_write, suffix_of
from .atoms import Atom, body_atoms, decimal

if TYPE_CHECKING:
    from ...rules.rule import Rule

PROLOG_HEADER = """\
% Facts: fact(Head, Relation, Tail). Conclusions: derived(Head, Relation, Tail, Confidence).
:- encoding(utf8).
:- multifile fact/3.
:- dynamic fact/3.
"""

PROBLOG_HEADER = """\
% Facts: fact(Head, Relation, Tail). Conclusions: derived(Head, Relation, Tail).
"""

SOUFFLE_HEADER = """\
// Facts are read from fact.facts: head, relation and tail, tab-separated. Conclusions go to derived.csv.
.decl fact(head: symbol, relation: symbol, tail: symbol)
.input fact
.decl derived(head: symbol, relation: symbol, tail: symbol, confidence: float)
.output derived
"""

ENTITIES = "entity(X) :- fact(X, _, _).\nentity(X) :- fact(_, _, X).\n"


def quote_atom(name: str) -> str:
    r"""Return a name as an atom of Prolog: `father`, `'Anna B.'`, `'it\u0027s'`.

    ProbLog looks for the end of an atom at the first quote without a backslash before it, so neither a quote
    nor a backslash may stand there as itself.
    """
    if re.fullmatch("[a-z][A-Za-z0-9_]*", name):
        return name
    return "'" + "".join(c if c.isprintable() and c not in "'\\" else _escape(c) for c in name) + "'"


def _escape(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def quote_symbol(name: str) -> str:
    """Return a name as a string of Soufflé."""
    if "\0" in name:
        raise FormatError(f"Soufflé cannot hold {name!r}: it ends a name at a null. Rename it.")
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
    return '"' + "".join(escapes.get(c, c) for c in name) + '"'


@dataclass(frozen=True)
class Dialect:
    """How a language writes names and that two things differ."""

    quote: Callable[[str], str]
    not_equal: str


PROLOG = Dialect(quote_atom, r"\=")
SOUFFLE = Dialect(quote_symbol, "!=")


def render_prolog(rules: Sequence["Rule"]) -> str:
    """Return rules as a Prolog program; targets are no inverses."""
    clauses = (
        f"derived(X, {quote_atom(rule.target)}, Y, {decimal(rule.confidence)}) :- {_body(rule, PROLOG)}.\n"
        for rule in rules
    )
    return PROLOG_HEADER + _entities(rules) + "".join(clauses)


def render_problog(rules: Sequence["Rule"]) -> str:
    """Return rules as a ProbLog program, likely by their measured confidence or else their normalised one."""
    clauses = (
        f"{decimal(_probability(rule))}::derived(X, {quote_atom(rule.target)}, Y) :- {_body(rule, PROLOG)}.\n"
        for rule in rules
    )
    return PROBLOG_HEADER + _entities(rules) + "".join(clauses)


def render_souffle(rules: Sequence["Rule"]) -> str:
    """Return rules as a program of Soufflé."""
    clauses = (
        f"derived(X, {quote_symbol(rule.target)}, Y, {decimal(rule.confidence)}) :- {_body(rule, SOUFFLE)}.\n"
        for rule in rules
    )
    declared = ".decl entity(name: symbol)\n" if _entities(rules) else ""
    return SOUFFLE_HEADER + declared + _entities(rules) + "".join(clauses)


def _body(rule: "Rule", dialect: Dialect) -> str:
    atoms = [_fact(atom, dialect) for atom in body_atoms(rule)] or ["entity(X)", "X = Y"]
    return ", ".join(
        [*atoms, *(f"{one} {dialect.not_equal} {other}" for one, other in rule.unequal_variables)]
    )


def _fact(atom: Atom, dialect: Dialect) -> str:
    return f"fact({atom.head}, {dialect.quote(atom.relation)}, {atom.tail})"


def _entities(rules: Iterable["Rule"]) -> str:
    """Return who there is, where a rule needs to know: one without a body."""
    return "" if all(rule.body for rule in rules) else ENTITIES


def _probability(rule: "Rule") -> float:
    measured = rule.measured_confidence
    return rule.normalized_confidence if measured is None else measured


def write_facts(path: Path, triples: Iterable[Triple]) -> None:
    """Write triples as facts of Prolog (.pl), or of ProbLog, which knows no directive for the encoding."""
    directive = ":- encoding(utf8).\n" if suffix_of(path) == ".pl" else ""
    facts = (f"fact({', '.join(map(quote_atom, triple))}).\n" for triple in triples)
    atomic_write(path, directive + "".join(facts))

"""Rules as a Prolog program."""

from collections.abc import Mapping, Sequence

from ...rules.rule import Rule
from .atoms import decimal
from .logic import PROLOG, entity_clauses, quote_atom

HEADER = """\
% Facts: fact(Head, Relation, Tail). Conclusions: derived(Head, Relation, Tail, Confidence).
:- encoding(utf8).
:- multifile fact/3.
:- dynamic fact/3.
"""


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return a clause for each rule."""
    return HEADER + entity_clauses(rules) + "".join(_clause(rule) for rule in rules)


def _clause(rule: Rule) -> str:
    target, confidence = quote_atom(rule.target), decimal(rule.stated_confidence)
    return f"derived(X, {target}, Y, {confidence}) :- {PROLOG.body(rule)}.\n"

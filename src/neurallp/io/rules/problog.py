"""Rules as a ProbLog program."""

from collections.abc import Mapping, Sequence

from ...rules.rule import Rule
from .atoms import decimal
from .logic import PROLOG, entity_clauses, quote_atom

HEADER = """\
% Facts: fact(Head, Relation, Tail). Conclusions: derived(Head, Relation, Tail).
"""


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return a clause for each rule; its probability is its confidence."""
    return HEADER + entity_clauses(rules) + "".join(_clause(rule) for rule in rules)


def _clause(rule: Rule) -> str:
    probability = decimal(min(1.0, rule.stated_confidence))
    return f"{probability}::derived(X, {quote_atom(rule.target)}, Y) :- {PROLOG.body(rule)}.\n"

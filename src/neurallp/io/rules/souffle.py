"""Rules as a Datalog program of Soufflé."""

from collections.abc import Mapping, Sequence

from ...errors import FormatError, quoted
from ...rules.rule import Rule
from .atoms import decimal
from .logic import Dialect, entity_clauses

HEADER = """\
// Facts are read from fact.facts: head, relation and tail, tab-separated. Conclusions go to derived.csv.
.decl fact(head: symbol, relation: symbol, tail: symbol)
.input fact
.decl derived(head: symbol, relation: symbol, tail: symbol, confidence: float)
.output derived
"""
ENTITY_DECLARATION = ".decl entity(name: symbol)\n"


def quote_symbol(name: str) -> str:
    """Return a name as a string of Soufflé."""
    if "\0" in name:
        raise FormatError(
            f"Soufflé cannot hold {quoted(name)}: it ends a name at a null character. Rename it."
        )
    escapes = {"\\": r"\\", '"': r"\"", "\n": r"\n", "\r": r"\r", "\t": r"\t"}
    return '"' + "".join(escapes.get(c, c) for c in name) + '"'


SOUFFLE = Dialect(quote_symbol, "!=")


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return a clause for each rule, and the declarations they need."""
    entities = entity_clauses(rules)
    declared = ENTITY_DECLARATION if entities else ""
    return HEADER + declared + entities + "".join(_clause(rule) for rule in rules)


def _clause(rule: Rule) -> str:
    target, confidence = quote_symbol(rule.target), decimal(rule.stated_confidence)
    return f"derived(X, {target}, Y, {confidence}) :- {SOUFFLE.body(rule)}.\n"

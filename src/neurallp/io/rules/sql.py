"""Rules as an SQL view over a table of facts."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ...graph.vocabulary import is_inverse, relation_of
from ...rules.rule import Rule
from .atoms import decimal

#: Rows that one statement inserts.
ROWS_AT_ONCE = 500

HEADER = """\
-- What the rules conclude from a table facts(head, relation, tail).
CREATE VIEW derived AS
"""

ENTITIES = "(SELECT head AS entity FROM facts UNION SELECT tail FROM facts) AS f0"


def render(rules: Sequence[Rule], prefixes: Mapping[str, str]) -> str:
    """Return one view with the columns head, relation, tail and confidence."""
    return HEADER + "\nUNION ALL\n".join(_select(rule) for rule in rules) + ";\n"


def _select(rule: Rule) -> str:
    columns = [_columns(place, operator) for place, operator in enumerate(rule.body)]
    entities = [columns[0][0], *(left for _, left in columns)] if columns else ["f0.entity"]
    conditions = [
        *(f"f{i}.relation = {literal(relation_of(name))}" for i, name in enumerate(rule.body)),
        *(f"{before[1]} = {after[0]}" for before, after in pairwise(columns)),
        *(f"{entities[i]} <> {entities[j]}" for i, j in rule.all_inequalities),
    ]
    tables = ", ".join(f"facts AS f{i}" for i in range(len(columns))) or ENTITIES
    what = f"{entities[0]} AS head, {literal(rule.target)} AS relation, {entities[-1]} AS tail"
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT DISTINCT {what}, {decimal(rule.stated_confidence)} AS confidence FROM {tables}{where}"


def _columns(place: int, operator: str) -> tuple[str, str]:
    """Return the columns of an atom's source and answer."""
    head, tail = f"f{place}.head", f"f{place}.tail"
    return (tail, head) if is_inverse(operator) else (head, tail)


def literal(name: str) -> str:
    """Return a name as a string of SQL."""
    return "'" + name.replace("'", "''") + "'"


def identifier(name: str) -> str:
    """Return a name as the name of a column in SQL."""
    return '"' + name.replace('"', '""') + '"'


def number(value: float) -> str:
    """Return a number as a DOUBLE of all its digits; without an exponent it would be a DECIMAL of 38."""
    return f"{value:.17e}"


def insert(table: str, rows: list[str]) -> str:
    """Return statements that insert rows, some at a time: a longer statement takes DuckDB longer to plan."""
    parts = [rows[start : start + ROWS_AT_ONCE] for start in range(0, len(rows), ROWS_AT_ONCE)]
    lines = (",\n".join(part) for part in parts)
    return "".join(f"INSERT INTO {table} VALUES\n{each};\n" for each in lines)

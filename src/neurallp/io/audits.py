"""Audits as a table: CSV with a header, one row for each doubtful fact."""

from pathlib import Path

from ..errors import ConfigError
from ..reasoning.audit import Audit
from .files import AnyPath, atomic_write, suffix_of
from .names import quote_field, safe_cell

COLUMNS = ("head", "relation", "tail", "probability", "score", "reasons")


def require_table(path: AnyPath) -> None:
    """Raise unless a path is one that an audit can be written to."""
    if suffix_of(path) != ".csv":
        raise ConfigError(f"Cannot write an audit to {path}. Its name must end in .csv or .csv.gz.")


def write_audit(path: AnyPath, audit: Audit, *, safe: bool = False) -> None:
    """Write the doubts of an audit, completely or not at all; reasons of one fact share a field.

    With `safe`, names that a spreadsheet would take for formulas get a quote before them.
    """
    require_table(path)
    rows: list[tuple[object, ...]] = [COLUMNS]
    for doubt in audit.doubts:
        probability = "" if doubt.probability is None else doubt.probability
        why = "; ".join(doubt.reasons)
        names = (safe_cell(name) if safe else name for name in (doubt.head, doubt.relation, doubt.tail))
        rows.append((*names, probability, doubt.proof.answer.score, why))
    lines = (",".join(quote_field(str(field)) for field in row) + "\n" for row in rows)
    atomic_write(Path(path), "".join(lines))

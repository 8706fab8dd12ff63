"""Proofs and missing facts as HTML for notebooks, and reasons as columns of a table."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..graph.frames import html_table, in_columns
from ..graph.spelling import as_html

if TYPE_CHECKING:
    from .answers import Proof, WhyNot
    from .reasons import Reason

#: The columns of reasons and their Arrow types.
REASON_SCHEMA = {
    "side": "string",
    "contribution": "double",
    "facts": "string",
    "rule": "string",
    "kind": "string",
    "path": "[string]",
    "num_paths": "int64",
    "num_rules": "int64",
}

#: What HTML shows of a reason.
SHOWN = ("side", "contribution", "facts", "rule")


def reason_columns(reasons: "Sequence[Reason]", against: "Sequence[Reason]") -> dict[str, Sequence[Any]]:
    """Return a row for each reason, those for the answer first."""
    told = [*(("for", each) for each in reasons), *(("against", each) for each in against)]
    records = (
        {
            "side": side,
            "contribution": reason.contribution,
            "facts": reason.facts,
            "rule": str(reason.rules[0]),
            "kind": reason.rules[0].kind,
            "path": reason.path,
            "num_paths": reason.num_paths,
            "num_rules": len(reason.rules),
        }
        for side, reason in told
    )
    return in_columns(records, REASON_SCHEMA)


def proof_html(proof: "Proof") -> str:
    """Return the drawing of a proof, with its reasons as a table below it."""
    if not (proof.reasons or proof.against):
        return f"<p>{as_html(str(proof))}</p>"
    return proof.svg() + _reasons_html(proof.reasons, proof.against)


def missing_html(found: "WhyNot") -> str:
    """Return the missing facts as a list, and the reasons against as a table."""
    first = str(found).partition("\n")[0]
    facts = "".join(f"<li>{as_html(str(fact))}</li>" for fact in found.missing_facts)
    listed = f"<ul>{facts}</ul>" if facts else ""
    return f"<p>{as_html(first)}</p>{listed}" + (_reasons_html((), found.against) if found.against else "")


def _reasons_html(reasons: "Sequence[Reason]", against: "Sequence[Reason]") -> str:
    columns = reason_columns(reasons, against)
    return html_table({name: columns[name] for name in SHOWN}, {"contribution": None})

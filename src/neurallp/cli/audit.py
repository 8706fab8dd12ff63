"""`audit`: the facts that the rules find least likely."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import complete_entity, complete_relation
from .options import Data, Json, Reasons, SafeCsv, Source, load_reasoner
from .output import (
    BESIDE_PROBABILITY,
    console,
    folded,
    plain_table,
    print_json,
    print_line,
    progress,
    show_probability,
)

if TYPE_CHECKING:
    from rich.table import Table

    from ..reasoning.audit import Audit


def audit(
    model: Source,
    data: Data,
    relation: Annotated[
        str | None, typer.Option(autocompletion=complete_relation, help="Only facts of this relation.")
    ] = None,
    entity: Annotated[
        str | None, typer.Option(autocompletion=complete_entity, help="Only facts about this entity.")
    ] = None,
    limit: Annotated[int, typer.Option(min=1, help="Facts to list.")] = 20,
    k: Reasons = 3,
    sample: Annotated[
        int | None,
        typer.Option(
            min=1, help="Facts to look at, at most.", show_default="20000; 500 without weighted rules"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Fixes which facts are sampled.")] = 0,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the list as CSV.")] = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """List the facts of DATA that the rules find least likely.

    Each fact is judged as if it alone were not known, in both directions, by the one that finds it more
    likely. An unlikely fact need not be wrong: perhaps no rule is about it.
    """
    from ..io.audits import require_table, write_audit

    if out is not None:
        require_table(out)
    reasoner = load_reasoner(model, data)
    total = min(len(reasoner.kb.facts), sample or len(reasoner.kb.facts))
    with progress("Looking at facts", total, quiet=as_json) as bar:
        found = reasoner.audit(
            relation, entity=entity, limit=limit, k=k, sample=sample, seed=seed, on_done=bar.advance
        )
    if out is not None:
        write_audit(out, found, safe=safe_csv)
    if as_json:
        print_json(found.as_dict())
        return
    console.print(audit_table(found))
    print_line(found.scope)


def audit_table(found: "Audit") -> "Table":
    """Return the facts with their probability and, below each, the strongest reason on either side."""
    table = plain_table(numbers=("probability",))
    table.add_column("fact")
    for doubt in found.doubts:
        reasons = [folded(line, BESIDE_PROBABILITY, "  ") for line in doubt.reasons]
        lines = [folded(doubt.fact, BESIDE_PROBABILITY), *reasons]
        table.add_row(show_probability(doubt.probability), "\n".join(lines))
    return table

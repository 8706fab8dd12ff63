"""`import`: rules that other programs wrote."""

from pathlib import Path
from typing import Annotated

import typer

from ..io.rules import IMPORTS
from .export import Distinct, count_and_compare, report_rules, require_distinct
from .options import GivenData, Json, OptionalData, existing_data, load_known


def import_rules(
    rules: Annotated[
        Path,
        typer.Argument(metavar="RULES", callback=existing_data, help="Rules as another program wrote them."),
    ],
    *,
    data: OptionalData = None,
    form: Annotated[str, typer.Option("--format", help=f"One of {', '.join(sorted(IMPORTS))}.")],
    out: Annotated[Path, typer.Option(help="The file to write.")] = Path("rules.tsv"),
    distinct: Distinct = None,
    given: GivenData = None,
    as_json: Json = False,
) -> None:
    """Read RULES that another program wrote.

    Chains of variables are read and, from AnyBURL, rules of one edge that name their answer; others are
    skipped. Equal rules are merged, and rules by which a fact implies itself are dropped.
    """
    from ..io import rules as exchange
    from ..io.rules.table import write_rules
    from ..rules.simplify import simplify

    file = exchange.import_rules(rules, form)
    # Imported confidences are measured on facts, so those of equal rules do not add up.
    simplified = simplify(require_distinct(file.rules, distinct), combine=max)
    facts = data or given
    found, subsumed = count_and_compare(simplified.rules, None if facts is None else load_known(facts))
    write_rules(out, found)
    counts = {"skipped": file.num_skipped, "merged": simplified.num_merged, "vacuous": simplified.num_vacuous}
    report_rules(out, "tsv", found, counts, subsumed, as_json)

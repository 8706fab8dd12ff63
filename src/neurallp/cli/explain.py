"""`explain`: the rules and facts behind an answer."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from .options import Data, FactHead, FactRelation, FactTail, Json, Reasons, Source, load_reasoner
from .output import console, print_json


def explain(
    model: Source,
    data: Data,
    head: FactHead,
    relation: FactRelation,
    tail: FactTail,
    k: Reasons = 5,
    svg: Annotated[Path | None, typer.Option(metavar="FILE", help="Also draw the paths as SVG.")] = None,
    as_json: Json = False,
) -> None:
    """Print the rules and facts behind MODEL's score of a fact about DATA."""
    from ..io.files import atomic_write

    proof = load_reasoner(model, data).explain(head, relation, tail, k)
    if svg is not None:
        atomic_write(svg, proof.svg())
    if as_json:
        print_json(proof.as_dict())
        return
    console.print(escape(str(proof)), soft_wrap=True)
    known = ", a known fact" if proof.answer.is_known else ""
    rank = f"rank {proof.answer.rank:g} of {proof.answer.num_candidates:,}"
    chance = "" if proof.answer.probability is None else f", probability {proof.answer.probability:.3f}"
    console.print(f"Score {proof.answer.score:.4g}, {rank}{chance}{known}; not shown: {proof.remainder:.2g}.")

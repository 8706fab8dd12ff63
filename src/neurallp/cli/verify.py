"""`verify`: whether a claim is true, likely, unlikely or unknown."""

from typing import TYPE_CHECKING, Annotated

import typer

from .options import Data, FactHead, FactRelation, FactTail, Json, Reasons, Source, load_reasoner
from .output import print_json, print_line, print_proof, show_probability

if TYPE_CHECKING:
    from ..reasoning.verdicts import Verdict


def verify(
    model: Source,
    data: Data,
    head: FactHead,
    relation: FactRelation,
    tail: FactTail,
    k: Reasons = 3,
    threshold: Annotated[
        float, typer.Option(min=0, max=1, help="A claim with at least this probability is likely.")
    ] = 0.5,
    as_json: Json = False,
) -> None:
    """Say whether a claim is true, and why.

    True: a fact of DATA; its probability without that fact is printed too. Unknown: no rule applies, or a
    name is not in DATA.
    """
    verdict = load_reasoner(model, data).verify(head, relation, tail, k, threshold)
    if as_json:
        print_json(verdict.as_dict())
        return
    print_line(describe(verdict))
    if verdict.proof is not None and verdict.problem is None:
        print_proof(verdict.proof)


def describe(verdict: "Verdict") -> str:
    """Return a verdict as a sentence."""
    found = f"{verdict.verdict.capitalize()}: {verdict.claim}."
    if verdict.problem is not None and verdict.verdict != "true":
        return f"{found} {verdict.problem}"
    chance = show_probability(verdict.probability)
    if verdict.verdict == "true":
        return f"{found} It is a known fact." + (
            f" Without it, its probability is {chance}." if chance else ""
        )
    return f"{found} Probability {chance}; likely from {show_probability(verdict.threshold)} on."

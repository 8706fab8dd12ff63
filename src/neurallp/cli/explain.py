"""`explain`: the rules and facts behind an answer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import Data, FactHead, FactRelation, FactTail, Json, Reasons, Source, load_reasoner
from .output import print_json, print_line, show_probability

if TYPE_CHECKING:
    from ..reasoning.answers import Answer


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
    """Print the rules and facts for and against a fact.

    Each line is a rule, or several that predict the same, with what it adds to the score and its strongest
    path; all lines add up to the score.
    """
    from ..io.files import atomic_write

    proof = load_reasoner(model, data).explain(head, relation, tail, k)
    if svg is not None:
        atomic_write(svg, proof.svg())
    if as_json:
        print_json(proof.as_dict())
        return
    print_line(str(proof))
    print_line(describe_answer(proof.answer))


def describe_answer(answer: "Answer") -> str:
    """Return the probability of an answer, its score and its rank as a sentence."""
    probability = show_probability(answer.probability)
    chance = f"Probability {probability}, score " if probability else ""
    known = "; a known fact" if answer.is_known else ""
    rank = f"rank {answer.rank:g} of {answer.num_candidates:,}"
    return f"{chance or 'Score '}{answer.score:.4g}, {rank}{known}."

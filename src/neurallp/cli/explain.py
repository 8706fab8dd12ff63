"""`explain`: the rules and facts behind an answer."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Data,
    FactHead,
    FactRelation,
    FactTail,
    Json,
    LabelFile,
    Reasons,
    Source,
    load_labels,
    load_reasoner,
)
from .output import print_json, print_line, print_proof, show_probability

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
    labels: LabelFile = None,
    as_json: Json = False,
) -> None:
    """Print the rules and facts for and against a fact.

    Each line is a rule, or several that predict the same, with what it adds to the score and its strongest
    path; all lines add up to the score. A known fact is explained as if it alone were not known.
    """
    from ..io.files import atomic_write
    from ..io.labels import name_of

    reasoner, called = load_reasoner(model, data), load_labels(data, labels)
    ends = (name_of(end, called, reasoner.kb.entities) for end in (head, tail))
    proof = reasoner.explain(next(ends), relation, next(ends), k, without_itself=True)
    shown = proof.with_labels(called)
    if svg is not None:
        atomic_write(svg, shown.svg())
    if as_json:
        names = {name for reason in (*proof.reasons, *proof.against) for name in reason.path}
        told = {name: called[name] for name in sorted(names) if name in called}
        print_json(proof.as_dict() | ({"labels": told} if told else {}))
        return
    print_proof(shown)
    print_line(describe_answer(proof.answer))


def describe_answer(answer: "Answer") -> str:
    """Return the probability of an answer, its score and its rank as a sentence; of a fact, without it."""
    probability = show_probability(answer.probability)
    chance = f"probability {probability}, " if probability else ""
    known = "A known fact. Without it: " if answer.is_known else ""
    said = f"{chance}score {answer.score:.4g}, rank {answer.rank:g} of {answer.num_candidates:,}."
    return known + said if known else said[0].upper() + said[1:]

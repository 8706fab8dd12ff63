"""`ask` and `explain`: answers from a model about a knowledge base, and the reasons for them."""

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .arguments import Data, Json, Model, load_known
from .printing import answers_table, console, print_json

if TYPE_CHECKING:
    from ..reasoning import Reasoner

Relation = Annotated[str, typer.Option(help="The relation asked.")]
Head = Annotated[str | None, typer.Option(help="Who or what is known: (head, relation, ?).")]
Tail = Annotated[str | None, typer.Option(help="Or its other end: (?, relation, tail).")]


def ask(
    model: Model,
    data: Data,
    relation: Relation,
    head: Head = None,
    tail: Tail = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers, at most.")] = 10,
    as_json: Json = False,
) -> None:
    """Answer a question from MODEL's rules and DATA's facts."""
    answers = _reasoner(model, data).ask(head=head, tail=tail, relation=relation, k=k)
    if as_json:
        print_json([vars(answer) for answer in answers])
    elif answers:
        console.print(answers_table(answers))
    else:
        console.print("No rule leads to an answer.")


def explain(
    model: Model,
    data: Data,
    head: Annotated[str, typer.Argument(help="The fact's head.")],
    relation: Annotated[str, typer.Argument(help="The fact's relation.")],
    tail: Annotated[str, typer.Argument(help="The fact's tail.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Reasons, at most.")] = 5,
    as_json: Json = False,
) -> None:
    """Say why MODEL believes a fact about DATA, and how much."""
    proof = _reasoner(model, data).explain(head, relation, tail, k)
    if as_json:
        print_json(proof.as_dict())
        return
    console.print(escape(str(proof)))
    known = ", a known fact" if proof.answer.is_known else ""
    rank = f"rank {proof.answer.rank:g} of {proof.answer.num_candidates:,}"
    console.print(f"Score {proof.answer.score:.4g}, {rank}{known}; not shown: {proof.remainder:.2g}.")


def _reasoner(model: Model, data: Data) -> "Reasoner":
    from ..program import load_model

    return load_model(model).reasoner(load_known(data))

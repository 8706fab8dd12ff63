"""`ask`: answers from a model or from rules."""

from typing import Annotated

import typer

from .completion import complete_entity, complete_relation
from .options import Data, Json, Source, load_reasoner
from .output import answers_table, console, print_json

Relation = Annotated[str, typer.Option(autocompletion=complete_relation, help="The relation to ask for.")]
Head = Annotated[
    str | None,
    typer.Option(autocompletion=complete_entity, help="The known head: (head, relation, ?)."),
]
Tail = Annotated[
    str | None, typer.Option(autocompletion=complete_entity, help="Or the known tail: (?, relation, tail).")
]


def ask(
    model: Source,
    data: Data,
    relation: Relation,
    head: Head = None,
    tail: Tail = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers, at most.")] = 10,
    as_json: Json = False,
) -> None:
    """Answer a question from MODEL's rules and DATA's facts."""
    answers = load_reasoner(model, data).ask(head=head, tail=tail, relation=relation, k=k)
    if as_json:
        print_json([vars(answer) for answer in answers])
    elif answers:
        console.print(answers_table(answers))
    else:
        console.print("No rule leads to an answer.")

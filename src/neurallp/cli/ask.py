"""`ask`: answers from a model or from rules."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import complete_entity, complete_relation
from .options import Data, Json, Source, load_reasoner
from .output import answers_table, console, print_json

if TYPE_CHECKING:
    from ..reasoning.answers import Answer

#: An answer below this probability is unlikely.
LIKELY = 0.05

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
    scores: Annotated[bool, typer.Option("--scores", help="Also print score and rank.")] = False,
    as_json: Json = False,
) -> None:
    """Answer a question, with how likely each answer is true.

    Answers that are facts of DATA are marked as known.
    """
    answers = load_reasoner(model, data).ask(head=head, tail=tail, relation=relation, k=k)
    if as_json:
        print_json([vars(answer) for answer in answers])
        return
    if not answers:
        console.print("No rule leads to an answer.")
        return
    if are_unlikely(answers):
        console.print(f"No new answer above {LIKELY:.0%}; the best are:".replace("%", " %"))
    console.print(answers_table(answers, scores=scores))


def are_unlikely(answers: "Sequence[Answer]") -> bool:
    """Return whether there are new answers and none is likely."""
    new = [answer.probability for answer in answers if answer.probability is not None]
    return bool(new) and max(new) < LIKELY

"""`ask`: answers from a model or from rules."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from .completion import complete_entity, complete_relation
from .options import Data, Json, LabelFile, Source, Unlinked, load_labels, load_reasoner
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
    unlinked: Unlinked = False,
    scores: Annotated[bool, typer.Option("--scores", help="Also print score and rank.")] = False,
    labels: LabelFile = None,
    as_json: Json = False,
) -> None:
    """Answer a question, with how likely each answer is true.

    Answers that are facts of DATA are marked as known. An entity is asked about by its name or its label.
    """
    from ..io.labels import name_of

    reasoner, called = load_reasoner(model, data), load_labels(data, labels)
    ends = (None if end is None else name_of(end, called, reasoner.kb.entities) for end in (head, tail))
    found = reasoner.ask(head=next(ends), tail=next(ends), relation=relation, k=k, unlinked=unlinked)
    if as_json:
        print_json([{**vars(answer), **_label(answer, called)} for answer in found])
        return
    answers = [answer.with_labels(called) for answer in found]
    if not answers:
        console.print("No rule leads to an answer" + (" that no fact links yet." if unlinked else "."))
        return
    if are_unlikely(answers):
        console.print(f"No new answer above {LIKELY:.0%}; the best are:".replace("%", " %"))
    console.print(answers_table(answers, scores=scores))


def _label(answer: "Answer", labels: dict[str, str]) -> dict[str, str]:
    """Return the label of an answer for JSON, where there is one."""
    return {"label": labels[answer.entity]} if answer.entity in labels else {}


def are_unlikely(answers: "Sequence[Answer]") -> bool:
    """Return whether there are new answers and none is likely."""
    new = [answer.probability for answer in answers if answer.probability is not None]
    return bool(new) and max(new) < LIKELY

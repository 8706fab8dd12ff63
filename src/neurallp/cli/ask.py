"""`ask`, `explain`, `why-not` and `predict`: answers from a model or rules, and the reasons for them."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from .completion import complete_entity, complete_relation
from .options import Data, Json, Source, load_known
from .output import answers_table, console, print_json, watched

if TYPE_CHECKING:
    from ..reasoning.answers import Predictions
    from ..reasoning.reasoner import Reasoner

Relation = Annotated[str, typer.Option(autocompletion=complete_relation, help="The relation asked.")]
Head = Annotated[
    str | None,
    typer.Option(autocompletion=complete_entity, help="Who or what is known: (head, relation, ?)."),
]
Tail = Annotated[
    str | None, typer.Option(autocompletion=complete_entity, help="Or its other end: (?, relation, tail).")
]
FactHead = Annotated[str, typer.Argument(autocompletion=complete_entity, help="The fact's head.")]
FactRelation = Annotated[str, typer.Argument(autocompletion=complete_relation, help="The fact's relation.")]
FactTail = Annotated[str, typer.Argument(autocompletion=complete_entity, help="The fact's tail.")]
Reasons = Annotated[int, typer.Option("-k", min=1, help="Reasons, at most.")]


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
    answers = _reasoner(model, data).ask(head=head, tail=tail, relation=relation, k=k)
    if as_json:
        print_json([vars(answer) for answer in answers])
    elif answers:
        console.print(answers_table(answers))
    else:
        console.print("No rule leads to an answer.")


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
    """Say why MODEL believes a fact about DATA, and how much."""
    from ..io.files import atomic_write

    proof = _reasoner(model, data).explain(head, relation, tail, k)
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


def why_not(
    model: Source,
    data: Data,
    head: FactHead,
    relation: FactRelation,
    tail: FactTail,
    k: Reasons = 5,
    as_json: Json = False,
) -> None:
    """Say which fact is missing for MODEL to conclude another."""
    found = _reasoner(model, data).why_not(head, relation, tail, k)
    if as_json:
        print_json(found.as_dict())
    else:
        console.print(escape(str(found)), soft_wrap=True)


def predict(
    model: Source,
    data: Data,
    out: Annotated[
        Path, typer.Option(help="Where the answers go: .parquet, or .tsv, .csv, .jsonl, also .gz.")
    ],
    relation: Annotated[
        list[str] | None,
        typer.Option(autocompletion=complete_relation, help="Only this one (~name: its inverse; repeat)."),
    ] = None,
    k: Annotated[int, typer.Option("-k", min=1, help="Answers to each question, at most.")] = 10,
    known: Annotated[bool, typer.Option("--known", help="Also answers that DATA says already.")] = False,
    as_json: Json = False,
) -> None:
    """Answer every question about DATA, into a file.

    Every entity is the source of a question for every relation; the answers are those not in DATA, and of
    weighted rules those that some rule beside the prior speaks for.
    """
    from ..io.predictions import find_writer, write_predictions

    find_writer(out)
    reasoner = _reasoner(model, data)
    names = list(relation or reasoner.relations)
    batches = reasoner.predict(names, k, known=known)
    total = len(names) * len(reasoner.kb.entities)
    num_rows = write_predictions(out, _watch(batches, total, as_json))
    if as_json:
        print_json({"out": str(out), "questions": total, "answers": num_rows})
    else:
        console.print(escape(f"{num_rows:,} answers to {total:,} questions in {out}."), soft_wrap=True)


def _watch(batches: "Iterable[Predictions]", total: int, quiet: bool) -> "Iterator[Predictions]":
    """Yield the batches under a progress bar, which shows only on a terminal."""
    with watched("Asking", total, quiet) as advance:
        for batch in batches:
            yield batch
            advance(batch.num_questions)


def _reasoner(model: Path, data: Path) -> "Reasoner":
    from ..pipeline.program import load_program

    return load_program(model).reasoner(load_known(data))

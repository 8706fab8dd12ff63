"""`predict`: the answers to every question about a knowledge base, into a file."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from .options import (
    Data,
    Json,
    LabelFile,
    LeastProbability,
    MaxAnswers,
    Predicted,
    SafeCsv,
    Source,
    Unlinked,
    WithKnown,
    bind,
    load_all,
    load_labels,
)
from .output import console, markup, print_json, progress

if TYPE_CHECKING:
    from ..reasoning.answers import Predictions


def predict(
    model: Source,
    data: Data,
    out: Annotated[
        Path, typer.Option(help="The file to write: .parquet, or .tsv, .csv, .jsonl, .nt, .ttl, also .gz.")
    ],
    relation: Predicted = None,
    k: MaxAnswers = 10,
    known: WithKnown = False,
    unlinked: Unlinked = False,
    min_probability: LeastProbability = 0.0,
    labels: LabelFile = None,
    safe_csv: SafeCsv = False,
    as_json: Json = False,
) -> None:
    """Write the new answers to every question about DATA.

    Every entity is asked about with every relation. The answers are those that are facts of no part of
    DATA and, with weighted rules, that follow from a rule other than the prior. Labels get columns of
    their own.
    """
    from ..errors import ModelError
    from ..io.predictions import find_writer, write_predictions
    from ..pipeline.program import load_program

    find_writer(out, safe=safe_csv)
    program = load_program(model)
    reasoner = bind(program, data)
    if min_probability and reasoner.calibration is None:
        raise ModelError(f"{model} is not calibrated. Run `neurallp calibrate {model} {data}` first.")
    names = list(relation or reasoner.relations)
    also_known = load_all(data, program)
    found = reasoner.predict(names, k, known=known, unlinked=unlinked, also_known=also_known)
    batches = (batch.above(min_probability) for batch in found)
    total = len(names) * len(reasoner.kb.entities)
    labelled = load_labels(data, labels)
    num_rows = write_predictions(out, _watch(batches, total, as_json), labelled, safe=safe_csv)
    if as_json:
        print_json({"out": str(out), "questions": total, "answers": num_rows})
    else:
        console.print(markup(f"{num_rows:,} answers to {total:,} questions in {out}."), soft_wrap=True)


def _watch(batches: "Iterable[Predictions]", total: int, quiet: bool) -> "Iterator[Predictions]":
    """Yield the batches, with a progress bar."""
    with progress("Asking", total, quiet=quiet) as bar:
        for batch in batches:
            yield batch
            bar.advance(batch.num_questions)

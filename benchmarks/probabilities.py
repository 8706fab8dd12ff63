"""Calibration error of a model's probabilities on test, and how many people are given a second spouse."""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from graphs import load_split
from report import report

from neurallp.graph.knowledge_base import Split
from neurallp.pipeline.calibrating import measure
from neurallp.pipeline.program import Program, load_program

#: Relations of which nobody has two, or hardly anybody.
SINGLE = ("father", "mother", "husband", "wife")


def main() -> None:
    """Measure one model; with --fit, after its probabilities are fitted again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--questions", type=int, default=60_000, help="Questions to measure on, about.")
    parser.add_argument("--fit", action="store_true", help="Fit the probabilities again first.")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    program, split = load_program(args.model), load_split(args.data)
    if args.fit:
        program.calibrate(split)
    assert program.calibration is not None, f"neurallp calibrate {args.model} {args.data}"
    found = measure(program.basis, program.calibration, split, max_questions=args.questions)
    rows = [
        {"source has": group, "choice": choice, **each.as_dict()}
        for group, choices in found.items()
        for choice, each in choices.items()
    ]
    report(rows, args.json, **dict(count_seconds(program, split)))


def count_seconds(program: Program, split: Split) -> Iterator[tuple[str, Any]]:
    """Yield for each relation of `SINGLE` how many with one are given a wrong other at 50 % or more.

    Both directions are counted: father(X, Y) may say that Y is the father of X, or that X is that of Y.
    """
    reasoner, true = program.reasoner(split.given), {tuple(triple) for triple in split.true_triples.tolist()}
    for name in (each for known in SINGLE if known in split.relations for each in (known, f"~{known}")):
        relation = split.relations.id(name.removeprefix("~"))
        facts = split.given.facts[split.given.facts[:, 1] == relation]
        having = np.unique(facts[:, 2 if name.startswith("~") else 0])
        given: set[int] = set()
        for batch in reasoner.predict([name], k=3):
            likely = batch.above(0.5)
            ends = zip(*(each.tolist() for each in (likely.sources, *likely.ends)), strict=True)
            given |= {source for source, head, tail in ends if (head, relation, tail) not in true}
        yield f"second {name}", f"{len(given & set(having.tolist()))} of {len(having)}"


if __name__ == "__main__":
    main()

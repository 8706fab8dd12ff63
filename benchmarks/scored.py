"""Scores and probabilities of a whole model in DuckDB and SWI-Prolog against its own, for every question."""

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from graphs import load_split
from report import report

from neurallp import KnowledgeBase
from neurallp.io.rules import export_scored
from neurallp.io.triples import write_triples
from neurallp.pipeline.program import LearnedProgram, load_model
from neurallp.reasoning.reasoner import Reasoner

#: Best answers of a question that are compared one by one; of all answers, three sums are.
NUM_BEST = 10

#: (query, source) -> number of answers, sum of scores and of their squares, the best scores, and the
#: probabilities of those that are new.
Found = dict[tuple[str, str], tuple[int, float, float, list[float], list[float]]]

PRINT = """
:- initialization(main).
main :- entity_list(Entities),
    forall(( relation(R, _), member(Query, [R, inv(R)]), member(Source, Entities) ),
           ( scores(Source, Query, Pairs), sums_of(Pairs, 0, 0.0, 0.0, N, S1, S2),
             probabilities(Source, Query, NUMBER, Answers),
             ( Query = inv(R) -> Name = R, Mark = "~" ; Name = Query, Mark = "" ),
             findall(S-P, member(answer(_, S, P), Answers), Best),
             format("~w~w\\t~w\\t~w\\t~17g\\t~17g\\t~w~n", [Mark, Name, Source, N, S1, S2, Best]) )),
    halt.
sums_of([], N, S, Q, N, S, Q).
sums_of([_-X|Rest], N0, S0, Q0, N, S, Q) :-
    N1 is N0 + 1, S1 is S0 + X, Q1 is Q0 + X * X, sums_of(Rest, N1, S1, Q1, N, S, Q).
"""

SUMS = """
SELECT source, count(*), sum(score), sum(score * score),
       list((score, probability) ORDER BY score DESC)[:NUMBER] FROM answers(?) GROUP BY source
"""


def main() -> None:
    """Export a model in both languages, run them, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    program = load_model(args.model)
    # Only entities that have facts: a program elsewhere sees the facts alone.
    kb = KnowledgeBase.from_triples(load_split(args.data).given.named_facts())
    rows, expected = [], None
    for name, compute in PROGRAMS.items():
        with tempfile.TemporaryDirectory() as folder:
            start = perf_counter()
            found = compute(program, kb, Path(folder))
            seconds = perf_counter() - start
        expected = found if expected is None else expected
        rows.append({"program": name, "questions": len(found), "seconds": seconds} | compare(found, expected))
    equal = all(row["scores differ by"] < 1e-9 and row["probabilities differ by"] < 1e-9 for row in rows)
    report(rows, args.json, equal=equal)
    sys.exit(not equal)


def by_model(program: LearnedProgram, kb: KnowledgeBase, folder: Path) -> Found:
    """Return what the model itself says."""
    reasoner, found = Reasoner(kb, program.basis, calibration=program.calibration), {}
    for query in range(reasoner.relations.num_operators):
        name = reasoner.relations.operator_name(query)
        for start in range(0, len(kb.entities), 256):
            sources = np.arange(start, min(start + 256, len(kb.entities)))
            scores = reasoner.scores(sources, np.full(len(sources), query))
            for number, source in enumerate(sources.tolist()):
                entities, values = scores.row(number)
                kept = np.isfinite(values)
                places = np.argsort(-values[kept], kind="stable")[:NUM_BEST]
                best, top = entities[kept][places], values[kept][places]
                answers = reasoner._describe(source, query, best, top, (entities, values))
                said = [answer.probability for answer in answers if answer.probability is not None]
                sums = int(kept.sum()), float(values[kept].sum()), float((values[kept] ** 2).sum())
                found[name, kb.entities[source]] = (*sums, top.tolist(), said)
    return found


def by_duckdb(program: LearnedProgram, kb: KnowledgeBase, folder: Path) -> Found:
    """Return what DuckDB computes."""
    import duckdb

    export_scored(folder / "rules.sql", _weighted(program), "scored-sql", program.calibration)
    found: Found = {}
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE facts(head VARCHAR, relation VARCHAR, tail VARCHAR)")
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?)", list(kb.named_facts()))
        connection.execute((folder / "rules.sql").read_text())
        for query in range(program.relations.num_operators):
            name = program.relations.operator_name(query)
            answered = connection.execute(SUMS.replace("NUMBER", str(NUM_BEST)), [name]).fetchall()
            for source, number, total, squares, best in answered:
                pairs = [tuple(each.values()) if isinstance(each, dict) else each for each in best]
                found[name, source] = (number, total, squares, *_columns(pairs))
    return found


def by_prolog(program: LearnedProgram, kb: KnowledgeBase, folder: Path) -> Found:
    """Return what SWI-Prolog computes; names without line breaks and tabs."""
    export_scored(folder / "rules.pl", _weighted(program), "scored-prolog", program.calibration)
    write_triples(folder / "facts.pl", kb.named_facts())
    (folder / "print.pl").write_text(PRINT.replace("NUMBER", str(NUM_BEST)))
    files = [str(folder / f"{name}.pl") for name in ("rules", "facts", "print")]
    done = subprocess.run(["swipl", "-q", *files], capture_output=True, check=True, text=True)
    found: Found = {}
    for line in done.stdout.splitlines():
        name, source, number, total, squares, best = line.split("\t")
        pairs = [_pair(each) for each in best[1:-1].split(",") if each]
        found[name, source] = (int(number), float(total), float(squares), *_columns(pairs))
    return found


def _pair(text: str) -> tuple[float, float | None]:
    score, _, probability = text.rpartition("-") if text.endswith("known") else _split(text)
    return float(score), None if probability == "known" else float(probability)


def _split(text: str) -> tuple[str, str, str]:
    """Return both numbers of `-1.5-2.0e-7`: the hyphen between them follows a digit."""
    for place in range(1, len(text)):
        if text[place] == "-" and text[place - 1].isdigit():
            return text[:place], "-", text[place + 1 :]
    raise ValueError(text)


def _columns(pairs: list[tuple[float, float | None]]) -> Iterator[list[float]]:
    yield [score for score, _ in pairs]
    yield [probability for _, probability in pairs if probability is not None]


def _weighted(program: LearnedProgram) -> Any:
    assert program.weighted_rules is not None, "The model has no weighted rules."
    return program.weighted_rules


def compare(found: Found, expected: Found) -> dict[str, float]:
    """Return by how much scores and probabilities differ, at most, and what is missing."""
    scores = probabilities = 0.0
    for key, (_, total, squares, best, said) in expected.items():
        own = found.get(key, (0, 0.0, 0.0, [], []))
        if len(own[3]) != len(best):
            return {"scores differ by": float("inf"), "probabilities differ by": float("inf")}
        size = max(1.0, squares)
        sums = abs(own[1] - total) / size, abs(own[2] - squares) / size
        scores = max(scores, *sums, _largest(own[3], best))
        num = min(
            len(own[4]), len(said)
        )  # of equal scores the last one shown may be a known fact or a new one
        probabilities = max(probabilities, _largest(own[4][:num], said[:num]))
    return {"scores differ by": scores, "probabilities differ by": probabilities}


def _largest(one: list[float], other: list[float]) -> float:
    return float(np.abs(np.array(one) - np.array(other)).max(initial=0.0))


PROGRAMS: dict[str, Callable[[LearnedProgram, KnowledgeBase, Path], Found]] = {
    "neurallp": by_model,
    "DuckDB": by_duckdb,
    "SWI-Prolog": by_prolog,
}


if __name__ == "__main__":
    main()

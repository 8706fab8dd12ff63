"""Ranks of the test part by groups of questions: reached by rules, type of the relation, direct links.

    python benchmarks/question_groups.py MODEL DATA

An answer is reached where some rule that depends on the source predicts it. The type of a relation counts the
answers of a source, on average over its known facts: more than 1.5 is N. A direct link is any known fact
between source and answer.
"""

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from graphs import load_split
from report import report

from neurallp.evaluation import QUESTIONS_AT_ONCE, Measures, rank_questions
from neurallp.graph.arrays import Flags, Floats, Ids
from neurallp.graph.operators import Operators
from neurallp.graph.questions import KnownAnswers, Questions, ask_both_ways
from neurallp.pipeline.program import load_program
from neurallp.reasoning.reasoner import Reasoner

#: Answers of a source, on average, from which on there are many.
MANY = 1.5


def main() -> None:
    """Rank the test part once, and measure each group."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("data", type=Path)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    program, split = load_program(args.model), load_split(args.data)
    num_relations, known = len(split.relations), split.known
    questions = ask_both_ways(split.test, num_relations)
    reasoner = program.reasoner(known)
    ranks = rank_questions(reasoner, questions, KnownAnswers(split.true_triples, num_relations)).realistic
    groups = {
        "all": np.ones(len(questions), dtype=np.bool_),
        **reached(reasoner, questions),
        **by_type(Operators.of(known), questions),
        **linked(Operators.of(known), questions),
    }
    report(list(measured(groups, ranks)), args.json)


def measured(groups: dict[str, Flags], ranks: Floats) -> Iterator[dict[str, Any]]:
    """Yield the share of the questions in each group, and their measures."""
    for name, rows in groups.items():
        found = Measures.of(ranks[rows])
        share = float(rows.mean())
        yield {"questions": name, "share": share, "MRR": found.mrr, "Hits@10": found.hits_at_10}


def reached(reasoner: Reasoner, questions: Questions) -> dict[str, Flags]:
    """Return the questions whose answer some rule predicts, and the others."""
    parts = []
    for start in range(0, len(questions), QUESTIONS_AT_ONCE):
        asked = questions[start : start + QUESTIONS_AT_ONCE]
        scores = reasoner.scorer.reached(asked.sources, asked.queries)
        parts.append(scores.at(np.arange(len(asked)), asked.answers) > 0)
    found = np.concatenate(parts)
    return {"reached by a rule": found, "not reached": ~found}


def by_type(operators: Operators, questions: Questions) -> dict[str, Flags]:
    """Return the questions by how many answers a source of the query has, and of its inverse."""
    num_answers = answers_per_source(operators)
    forward = num_answers[questions.queries] > MANY
    backward = num_answers[operators.inverse(questions.queries)] > MANY
    names = {"1-1": (False, False), "1-N": (False, True), "N-1": (True, False), "N-N": (True, True)}
    return {
        f"{name}": (backward == many_sources) & (forward == many_answers)
        for name, (many_sources, many_answers) in names.items()
    }


def answers_per_source(operators: Operators) -> Floats:
    """Return the number of answers of a source that has any, on average; (operator,)."""
    pairs = np.unique(operators.operators * operators.num_entities + operators.sources)
    sources: Ids = np.bincount(pairs // operators.num_entities, minlength=operators.num_operators)
    edges = np.bincount(operators.operators, minlength=operators.num_operators)
    return np.asarray(edges / np.maximum(sources, 1))


def linked(operators: Operators, questions: Questions) -> dict[str, Flags]:
    """Return the questions whose pair some known fact links, and the others."""
    num = operators.num_entities
    pairs = np.unique(operators.sources * num + operators.targets)
    found = np.isin(questions.sources * num + questions.answers, pairs)
    return {"a known fact links the pair": found, "none links it": ~found}


if __name__ == "__main__":
    main()

"""Filtered evaluation of a whole test set: seconds by engine."""

import argparse
from pathlib import Path
from time import perf_counter

import torch
from graphs import data_folder, load_split
from report import report

from neurallp.config import ModelConfig
from neurallp.engines import make_engine
from neurallp.evaluation import evaluate
from neurallp.graph.operators import Operators
from neurallp.graph.questions import KnownAnswers, ask_both_ways
from neurallp.neural.model import ModelScorer, NeuralLP


def main() -> None:
    """Time the ranking of a test set by an untrained model, whose attention reaches every path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a data folder; default: wn18 under NEURALLP_DATA")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--sample", type=int, default=64, help="questions timed with the reference")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    split = load_split(data_folder(args.data, "wn18"))
    torch.manual_seed(0)
    model = NeuralLP.for_knowledge(split.known, ModelConfig(num_steps=args.steps))
    num_relations = len(split.relations)
    questions = ask_both_ways(split.test, num_relations)
    known = KnownAnswers(split.true_triples, num_relations)
    rows = []
    for name, num in (("cpu", len(questions)), ("reference", args.sample)):
        scorer = ModelScorer(model, make_engine(name, Operators.of(split.known)))
        evaluate(scorer, questions[:2], known)
        started = perf_counter()
        evaluate(scorer, questions[:num], known)
        seconds = (perf_counter() - started) / num * len(questions)
        rows.append({"engine": name, "seconds": seconds, "questions": len(questions), "questions_timed": num})
    fast, slow = (row["seconds"] for row in rows)
    summary = {"cpu_seconds": fast, "reference_seconds": slow, "ratio": slow / fast}
    report(rows, args.json, **summary, data=repr(split), steps=args.steps)


if __name__ == "__main__":
    main()

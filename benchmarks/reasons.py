"""Time of ask, explain, why_not and predict, whether proofs add up, and how much their first reasons hold."""

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np
import torch
from graphs import data_folder, load_split
from report import report

from neurallp import KnowledgeBase, ModelConfig, NeuralLP, Reasoner, load_model

ALL = 10**9


def main() -> None:
    """Time a saved model, or an untrained one, whose attention reaches every path."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a data folder; default: wn18 under NEURALLP_DATA")
    parser.add_argument("--model", type=Path, help="a model folder; default: an untrained model")
    parser.add_argument("--steps", type=int, default=2, help="T of the untrained model")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--proofs", type=int, default=10_000)
    parser.add_argument("--relations", type=int, default=None, help="number of relations to predict (all)")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    kb = load_split(data_folder(args.data, "wn18")).known
    reasoner = make_reasoner(kb, args.model, args.steps)
    facts = draw_facts(kb, args.questions)
    rows = [
        {"what": "ask", **time_each(lambda h, r, _: reasoner.ask(head=h, relation=r), facts)},
        {"what": "explain", **time_each(reasoner.explain, facts)},
        {"what": "why_not", **time_each(reasoner.why_not, facts)},
    ]
    held = {"five_reasons_hold": median(share_held(reasoner, fact, 5) for fact in facts)}
    error = largest_error(reasoner, args.proofs)
    predicted = time_predict(reasoner, args.relations)
    report(rows, args.json, **predicted, **held, proofs=args.proofs, largest_relative_error=error)


def make_reasoner(kb: KnowledgeBase, model: Path | None, num_steps: int) -> Reasoner:
    """Return a reasoner with the model of a folder, or with an untrained model."""
    if model is not None:
        return load_model(model).reasoner(kb)
    torch.manual_seed(0)
    return Reasoner(kb, NeuralLP.for_knowledge(kb, ModelConfig(num_steps=num_steps)).eval())


def draw_facts(kb: KnowledgeBase, num: int) -> list[tuple[str, str, str]]:
    """Return random facts by name."""
    chosen = np.random.default_rng(0).choice(kb.facts, num)
    return [(kb.entities[h], kb.relations[r], kb.entities[t]) for h, r, t in chosen]


def time_each(do: Callable[[str, str, str], Any], facts: list[tuple[str, str, str]]) -> dict[str, float]:
    """Return the milliseconds of a call: median, mean, 95th percentile, and mean CPU time."""
    do(*facts[0])
    wall, busy = [], []
    for fact in facts:
        started, worked = perf_counter(), process_time()
        do(*fact)
        wall.append(1000 * (perf_counter() - started))
        busy.append(1000 * (process_time() - worked))
    return {
        "median_ms": median(wall),
        "mean_ms": float(np.mean(wall)),
        "p95_ms": float(np.quantile(wall, 0.95)),
        "mean_cpu_ms": float(np.mean(busy)),
    }


def share_held(reasoner: Reasoner, fact: tuple[str, str, str], num: int) -> float:
    """Return how much of all amounts, for and against a fact, the strongest reasons of its proof hold."""
    proof = reasoner.explain(*fact, ALL)
    amounts = sorted((abs(each.contribution) for each in (*proof.reasons, *proof.against)), reverse=True)
    return sum(amounts[:num]) / (sum(amounts) or 1.0)


def largest_error(reasoner: Reasoner, num: int) -> float:
    """Return the largest relative difference between the terms of a proof and the engine's score."""
    worst = 0.0
    for head, relation, _ in draw_facts(reasoner.kb, num):
        for answer in reasoner.ask(head=head, relation=relation, k=1):
            proof = reasoner.explain(head, relation, answer.entity, ALL)
            worst = max(worst, abs(proof.remainder) / answer.score)
    return worst


def time_predict(reasoner: Reasoner, num_relations: int | None) -> dict[str, float]:
    """Return the seconds to predict for all sources of the relations, and the number of answers."""
    started, worked = perf_counter(), process_time()
    num = sum(len(batch) for batch in reasoner.predict(reasoner.relations[:num_relations]))
    return {
        "predict_seconds": perf_counter() - started,
        "predict_cpu_seconds": process_time() - worked,
        "predicted": num,
    }


if __name__ == "__main__":
    main()

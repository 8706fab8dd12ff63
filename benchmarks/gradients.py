"""A training step with autograd against one without: what `neurallp.neural.gradients` gains.

Both take the same batches in turn. Times are processor time, which other programs disturb less.
"""

import argparse
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from time import process_time

import numpy as np
import torch
from graphs import data_folder, load_split
from report import report

from neurallp.config import configure
from neurallp.neural.examples import Batch
from neurallp.neural.objective import OBJECTIVES
from neurallp.neural.optimizer import flatten
from neurallp.neural.training import MAX_GRADIENT, Training, one_torch_thread
from neurallp.pipeline.learn import prepare


def main() -> None:
    """Time both kinds of step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a data folder; default: wn18 under NEURALLP_DATA")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--batches", type=int, default=40)
    parser.add_argument("--repeat", type=int, default=15)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    split = load_split(data_folder(args.data, "wn18"))
    training = prepare(split, *configure(args.preset, num_steps=args.steps), engine="cpu")
    batches = list(islice(training.examples.batches(np.random.default_rng(0)), args.batches))
    kinds: dict[str, Callable[[Batch], object]] = {
        "without autograd": training.step,
        "with autograd": lambda batch: step_with_autograd(training, batch),
    }
    seconds: dict[str, list[float]] = {name: [] for name in kinds}
    with one_torch_thread():
        for _ in range(args.repeat + 1):
            for name, step in kinds.items():
                seconds[name].append(time_steps(step, batches))
    medians = {name: float(np.median(each[1:])) for name, each in seconds.items()}
    rows = [{"step": name, "milliseconds": 1000 * median} for name, median in medians.items()]
    ratio = medians["with autograd"] / medians["without autograd"]
    report(rows, args.json, ratio=ratio, data=repr(split), preset=args.preset)


def step_with_autograd(training: Training, batch: Batch) -> None:
    """Take one step with the gradients that autograd computes."""
    objective = OBJECTIVES[training.config.objective]
    excludes_source = training.model.excludes_source(batch.questions.queries)
    pairs = objective.pairs(batch.questions, training.examples.known, excludes_source)
    scores, totals = training.model.pair_scores(training.engine, batch.queries, *pairs)
    _, grad_scores, grad_totals = objective.loss(scores.detach(), totals.detach(), pairs[0])
    ends = [(scores, grad_scores)] + ([] if grad_totals is None else [(totals, grad_totals)])
    outputs, gradients = zip(*ends, strict=True)
    found = torch.autograd.grad(outputs, training.optimizer.weights, gradients)
    training.optimizer.step(flatten(found).clamp_(-MAX_GRADIENT, MAX_GRADIENT))


def time_steps(step: Callable[[Batch], object], batches: list[Batch]) -> float:
    """Return the seconds of processor time of a step."""
    started = process_time()
    for batch in batches:
        step(batch)
    return (process_time() - started) / len(batches)


if __name__ == "__main__":
    main()

"""A whole training epoch, the fast engine against the reference in one run.

The fast engine's seconds are the least of several epochs. The reference is timed on a stated sample of
batches and scaled to the epoch.
"""

import argparse
from itertools import islice
from pathlib import Path
from time import perf_counter

import numpy as np
import torch
from graphs import data_folder, load_split
from report import report

from neurallp.config import configure
from neurallp.neural.training import Training, one_torch_thread
from neurallp.pipeline.learn import prepare


def main() -> None:
    """Time an epoch with both engines."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, help="a data folder; default: wn18 under NEURALLP_DATA")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--preset", default="paper")
    parser.add_argument("--engine", default="cpu")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--batch-size", type=int, default=128, help="questions; the authors' 64 triples")
    parser.add_argument("--masking", help="fact, batch or train")
    parser.add_argument("--facts", help="relation or unlinked")
    parser.add_argument("--sample", type=int, default=5, help="batches timed with the reference")
    parser.add_argument("--repeat", type=int, default=3, help="epochs timed with the fast engine")
    parser.add_argument("--only-fast", action="store_true")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    split = load_split(data_folder(args.data, "wn18"))
    configs = configure(
        args.preset,
        num_steps=args.steps,
        batch_size=args.batch_size,
        facts_apart=args.facts,
        training_masking=args.masking,
    )
    training = prepare(split, *configs, engine=args.engine, device=args.device)
    num_asked = len(training.examples.asked)
    fast = time_epochs(training, args.repeat)
    rows = [{"engine": args.engine, **fast, "batches_timed": fast["batches"]}]
    summary = {f"{args.engine}_seconds": fast["seconds"]}
    if not args.only_fast:
        slow = time_sample(prepare(split, *configs, engine="reference", device=args.device), args.sample)
        rows.append({"engine": "reference", **slow})
        summary |= {"reference_seconds": slow["seconds"], "ratio": slow["seconds"] / fast["seconds"]}
    report(rows, args.json, **summary, data=repr(split), steps=args.steps, questions=2 * num_asked)


def time_epochs(training: Training, repeat: int) -> dict[str, float]:
    """Return the least seconds of an epoch of steps, validation left out, compiled before."""
    with one_torch_thread():
        for batch in islice(training.examples.batches(np.random.default_rng(0)), 3):
            training.step(batch)
        seconds = min(time_epoch(training) for _ in range(repeat))
    return {"seconds": seconds, "batches": training.examples.num_batches}


def time_epoch(training: Training) -> float:
    """Return the seconds of one epoch."""
    started = perf_counter()
    for batch in training.examples.batches(np.random.default_rng(1)):
        training.step(batch)
    synchronize()
    return perf_counter() - started


def time_sample(training: Training, num_batches: int) -> dict[str, float]:
    """Return the seconds of an epoch, scaled up from a few batches; torch may use all cores."""
    batches = list(islice(training.examples.batches(np.random.default_rng(1)), num_batches + 1))
    training.step(batches[0])
    started = perf_counter()
    for batch in batches[1:]:
        training.step(batch)
    synchronize()
    each = (perf_counter() - started) / max(1, len(batches) - 1)
    total = training.examples.num_batches
    return {"seconds": each * total, "batches": total, "batches_timed": len(batches) - 1}


def synchronize() -> None:
    """Wait for the GPU, where there is one."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()

"""What each kind of rule adds to the validation MRR of first fits, and how many queries use it.

Rules that predict rarely are judged by refined fits, as in a run.

    python benchmarks/kinds.py DATA...

Every query is fitted with all kinds, and without each that it may leave out. Other settings are those that
`learn` chooses.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from graphs import load_split
from report import report

from neurallp.config import KINDS
from neurallp.pipeline.callbacks import Clock
from neurallp.pipeline.plan import Planner
from neurallp.weighting.choice import choose_refined, choose_settings, pool_gains, standard_error
from neurallp.weighting.fitting import Weighting


def main() -> None:
    """Measure each data set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="+", help="folders with train and valid")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    report([row for data in args.data for row in measure(data)], args.json)


def measure(data: Path) -> Iterator[dict[str, Any]]:
    """Yield a row for each kind that queries may leave out."""
    split = load_split(data).without_test()
    config = Planner(split, {"kinds": tuple(KINDS), "other_lengths": ()}, Clock()).decide()
    weighting = Weighting(split, config)
    with ThreadPoolExecutor(weighting.num_threads) as pool:
        pilots = weighting._pilot_all(weighting.queries, pool, lambda query: None)
        first = choose_settings(pilots)
        refined = weighting._refine_all(first, pool, lambda query: None)
    gains = {kind: each for (_, setting), each in pool_gains(pilots).items() for kind in setting.left_out}
    if fits := [fit for fit in refined.values() if len(fit.settings) > 1]:
        ranks = np.concatenate([fit.reciprocal_ranks for fit in fits])
        gains |= dict.fromkeys(fits[0].settings[1].left_out, ranks[:, 0] - ranks[:, 1])
    chosen = choose_refined(first, refined)
    for kind, values in gains.items():
        able = [query for query, choice in first.items() if kind in choice.fit.kinds]
        yield {
            "data": data.name,
            "kind": kind,
            "MRR": values.mean(),
            "standard error": standard_error(values),
            "questions": len(values),
            "queries": len(able),
            "use it": sum(kind not in chosen[query].left_out for query in able),
        }


if __name__ == "__main__":
    main()

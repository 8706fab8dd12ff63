"""What each kind of rule adds to the validation MRR of first fits, and how many queries use it.

    python benchmarks/kinds.py DATA...

Every query is fitted with all kinds, and without each that it may leave out. Other settings are those that
`learn` chooses.
"""

import argparse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from graphs import load_split
from report import report

from neurallp.config import KINDS
from neurallp.pipeline.callbacks import Clock
from neurallp.pipeline.plan import Planner
from neurallp.weighting.choice import choose_settings, pool_gains, standard_error
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
        pilots = weighting._pilot_all(weighting.queries, pool, lambda num: None)
    choices = choose_settings(pilots).values()
    for (_, setting), gains in pool_gains(pilots).items():
        able = [choice for choice in choices if setting in choice.fit.settings]
        for kind in setting.left_out:
            yield {
                "data": data.name,
                "kind": kind,
                "MRR": gains.mean(),
                "standard error": standard_error(gains),
                "questions": len(gains),
                "queries": len(able),
                "use it": sum(kind not in choice.left_out for choice in able),
            }


if __name__ == "__main__":
    main()

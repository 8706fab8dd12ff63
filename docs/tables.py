"""Write the tables of results into the pages, from the files of docs/results/.

A page has a table between `<!-- table: NAME -->` and `<!-- end -->`. NAME.json has its columns and rows,
{"columns": [...], "rows": [[...], ...]}, or it is the list of runs that `benchmarks/completion.py --out`
writes, whose mean over seeds is shown. The table `headline` joins `plain-learn` with the figures of others,
`peers`. Run `python docs/tables.py` after a file has changed; a test compares the pages with the files.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

DOCS = Path(__file__).parent
PAGES = (DOCS.parent / "README.md", *sorted(DOCS.glob("*.md")))
MARKED = re.compile(r"(<!-- table: ([\w-]+) -->\n).*?(<!-- end -->)", re.DOTALL)


def main() -> None:
    """Rewrite every page whose tables have changed."""
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = with_tables(old)
        if new != old:
            page.write_text(new, encoding="utf-8")


def with_tables(text: str) -> str:
    """Return a page with its tables as their files have them now."""
    return MARKED.sub(lambda found: found[1] + "\n" + table(found[2]) + "\n\n" + found[3], text)


def table(name: str) -> str:
    """Return the Markdown table of a file of results."""
    columns, rows = headline() if name == "headline" else read(name)
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(columns)} |", "|" + "---|" * len(columns), *lines])


def read(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the columns and rows of a file."""
    stored = json.loads((DOCS / "results" / f"{name}.json").read_text(encoding="utf-8"))
    if isinstance(stored, list):
        return list(COLUMNS), list(mean_rows(stored))
    return stored["columns"], stored["rows"]


def headline() -> tuple[list[str], list[list[str]]]:
    """Return what plain `learn` gives beside the figures of others, for the data sets of `peers`."""
    (_, *others), peers = read("peers")
    columns, rows = read("plain-learn")
    own = {row[0]: dict(zip(columns, row, strict=True)) for row in rows}
    told = [
        [data.partition(",")[0], f"**{own[data]['MRR']} / {own[data]['Hits@10']}**{note(data)}", *figures]
        for data, *figures in peers
    ]
    return ["MRR / Hits@10", "`neurallp learn DATA`", *others], told


def note(data: str) -> str:
    """Return the options that a row of plain `learn` names behind the data set, in words."""
    options = data.partition(", ")[2]
    return f" with {options}" if options else ""


#: The columns of runs of plain `learn`.
COLUMNS = ("data", "MRR", "Hits@10", "seconds, two cores", "memory", "seeds")

#: The data sets by the names of their folders.
NAMES = {
    "umls": "UMLS",
    "kinship": "Kinship",
    "family": "Family",
    "wn18": "WN18",
    "wn18rr": "WN18RR",
    "fb15k-237": "FB15K-237",
}


def mean_rows(runs: list[Mapping[str, Any]]) -> Iterator[list[str]]:
    """Yield a row for each data set and time limit: means over seeds, the range of seconds, most memory."""
    for data, minutes in dict.fromkeys((run["data"], run.get("minutes")) for run in runs):
        own = [run for run in runs if (run["data"], run.get("minutes")) == (data, minutes)]
        limit = f", `--minutes {minutes:g}`" if minutes else ""
        yield [
            NAMES.get(data, data) + limit,
            *(share(fmean(run[measure] for run in own)) for measure in ("MRR", "Hits@10")),
            spread([run["seconds"] for run in own]),
            f"{max(run['MiB'] for run in own) / 1000:.1f} GB",
            ", ".join(str(run["seed"]) for run in own),
        ]


def share(value: float) -> str:
    """Return a number below 1 as papers print it.

    >>> share(0.9641), share(1.0)
    ('.964', '1.000')
    """
    return f"{value:.3f}".removeprefix("0")


def spread(values: list[float]) -> str:
    """Return the range of some numbers, without decimals.

    >>> spread([109.2, 123.8]), spread([28.0])
    ('109 to 124', '28')
    """
    low, high = round(min(values)), round(max(values))
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


if __name__ == "__main__":
    main()

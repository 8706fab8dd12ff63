"""Section 4.2, paths on a grid: how long can a rule be? Accuracy by path length, ours beside ISG."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.grid import grid_split
from ..evaluation import Scorer, evaluate
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.questions import KnownAnswers, ask_both_ways
from ..neural.rules import best_rules
from ..plots import figure_at, styles
from ..rules.rule import RuleFilter
from .baselines.isg import fit_isg
from .grid_training import Starts, evaluate_queries, learn_paths
from .specification import Experiment, Outcome, Results, TableRow, TableSpec
from .tables import Figure, Table

#: Path lengths of the paper's figure, on its grid, and longer ones, which need a larger grid.
LENGTHS = {**dict.fromkeys(range(2, 11), 16), **dict.fromkeys((12, 14, 16), 32)}
QUICK_LENGTHS = {2: 8, 4: 8}

#: Size of the grid -> queries of each length, and pairs of each query: on the paper's grid all there are.
#: A walk on the large grid costs ten times as much.
NUM_QUERIES = {8: 4, 16: 20, 32: 8}
MAX_PAIRS = {8: 250, 16: 250, 32: 100}
MAX_STARTS = 10
NUM_EXAMPLES = 2  # queries of a length whose rules are shown

NOTES = (
    "Accuracy: the share of held-out pairs, asked both ways, whose answer comes first (realistic Hits@1); "
    "solved: the share of queries without a mistake. Every query needs all its steps. Lengths above 10 on a "
    "32 x 32 grid. `plain`: the defaults, one start. The paper has a figure without numbers: Neural LP "
    "learns lengths of 6 to 8, ISG falls off earlier.",
)


def experiment(quick: bool, device: str) -> Experiment:
    """Return accuracy by path length, the rules of some queries, and the paper's figure."""
    lengths = QUICK_LENGTHS if quick else LENGTHS
    rows = tuple(row for length, size in lengths.items() for row in _rows(length, size))
    table = TableSpec("Grid path finding", ("accuracy", "solved", "starts"), rows, NOTES)
    return Experiment(
        (table,),
        more_tables=lambda results: [_rules(rows, results)],
        draw=lambda results, out: draw_accuracy(_by_length(rows, results), out / "grid.svg"),
    )


def _rows(length: int, size: int) -> Iterator[TableRow]:
    common = {"length": length, "size": size}
    labels = {"path length": str(length)}
    yield TableRow({**labels, "model": "ours"}, {}, measure_paths, common)
    yield TableRow({**labels, "model": "plain"}, {}, measure_paths, {**common, "plain": True})
    yield TableRow({**labels, "model": "ISG"}, {}, measure_isg, common)


def measure_paths(*, seed: int, length: int, size: int, plain: bool = False) -> Outcome:
    """Return how a model of paths of one length finds held-out ends, and the rules of some queries."""
    split = _paths(length, size, seed)
    starts = learn_paths(split, length, seed, 1 if plain else MAX_STARTS, plain=plain)
    return {**_evaluate(starts, split), "starts": float(starts.num), "rules": list(_examples(starts))}


def measure_isg(*, seed: int, length: int, size: int) -> Outcome:
    """Return how rules found by structural gradient find held-out ends."""
    split = _paths(length, size, seed)
    return _evaluate(fit_isg(split, seed, num_steps=length), split)


def _paths(length: int, size: int, seed: int) -> Split:
    return grid_split(length, NUM_QUERIES[size], size, seed, MAX_PAIRS[size])


def _evaluate(scorer: Scorer, split: Split) -> dict[str, Any]:
    num_relations = len(split.relations)
    known = KnownAnswers(split.true_triples, num_relations)
    found = evaluate(scorer, ask_both_ways(split.test, num_relations), known)
    each = evaluate_queries(scorer, split, split.test).values()
    return {
        "accuracy": found.realistic.hits_at_1,
        "solved": float(np.mean([evaluation.realistic.hits_at_1 == 1.0 for evaluation in each])),
        "optimistic": {"accuracy": found.optimistic.hits_at_1},
    }


def _examples(starts: Starts) -> Iterator[dict[str, Any]]:
    """Yield the best rule of the queries with the clearest attention, measured on all pairs."""
    split = starts.split
    kb = KnowledgeBase(split.entities, split.relations, split.true_triples)
    queries = sorted(np.unique(split.train[:, 1]).tolist(), key=starts.certainty, reverse=True)
    for query in queries[:NUM_EXAMPLES]:
        for rule in best_rules(starts.model(query), [query], RuleFilter(), limit=1, kb=kb):
            yield {
                "query": split.relations[query],
                "rule": str(rule),
                "confidence": rule.confidence,
                "pairs found": rule.support,
                "of": int((split.true_triples[:, 1] == query).sum()),
            }


def _rules(rows: tuple[TableRow, ...], results: Results) -> Table:
    """Return the rules of some queries, as the first seed found them."""
    examples = [
        {"path length": row.labels["path length"], **example}
        for row in rows
        if row.labels["model"] == "ours"
        for outcome in results.of(row)[:1]
        for example in outcome["rules"]
    ]
    columns = ("path length", "query", "rule", "confidence", "pairs found", "of")
    return Table("Rules of paths", columns, examples)


def _by_length(rows: tuple[TableRow, ...], results: Results) -> dict[str, dict[int, Figure]]:
    """Return what was measured of each model, by path length."""
    found: dict[str, dict[int, Figure]] = {}
    for row in rows:
        if outcomes := results.of(row):
            figure = Figure(tuple(outcome["accuracy"] for outcome in outcomes))
            found.setdefault(row.labels["model"], {})[int(row.labels["path length"])] = figure
    return found


def draw_accuracy(found: Mapping[str, Mapping[int, Figure]], path: Path) -> None:
    """Draw accuracy by path length, a line a model, with the deviation between seeds."""
    with figure_at(path, 5.5, 3.4) as figure:
        axes = figure.subplots()
        for (model, by_length), style in zip(found.items(), styles(), strict=False):
            means = [each.mean for each in by_length.values()]
            spread = [each.deviation or 0.0 for each in by_length.values()]
            axes.errorbar(list(by_length), means, yerr=spread, label=model, capsize=2, **style)
        axes.set(xlabel="path length", ylabel="accuracy", ylim=(0, 1.03))
        axes.locator_params(axis="x", integer=True)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower left")

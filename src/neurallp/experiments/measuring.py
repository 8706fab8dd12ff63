"""Functions that measure rows: load a public set, learn or fit, rank its test, and return figures."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ..datasets.registry import find_data
from ..engines import make_engine
from ..errors import ConfigError, DataError, DataWarning
from ..evaluation import Evaluation, Scorer, evaluate
from ..graph.arrays import Ids
from ..graph.knowledge_base import KnowledgeBase, Split
from ..graph.operators import Operators
from ..graph.questions import KnownAnswers, Questions, ask_both_ways
from ..graph.vocabulary import relation_of
from ..io.triples import load
from ..neural.model import ModelScorer
from ..neural.training import Epoch
from ..pipeline.learn import learn
from ..pipeline.program import LearnedProgram
from ..reasoning.reasoner import Reasoner
from ..weighting.weighted_rules import WeightedRules
from .specification import Outcome, Results, TableSpec

#: Triples that a quick run learns from at most (of facts and of train), and those that it ranks.
QUICK_FACTS, QUICK_TRIPLES = 10_000, 300

#: What a quick run changes in the settings of models and of baselines that have epochs.
QUICK = {"num_epochs": 2}
QUICK_EMBEDDING = {**QUICK, "dimension": 16}
QUICK_WEIGHTING: Mapping[str, Any] = {
    "max_length": 2,
    "num_candidates": 50,
    "num_pairs": 20,
    "max_questions": 200,
    "kinds": ("chain", "prior"),
    "masking": "fact",
    "train": False,
}

#: Labels whose values need no name beside them.
NAMES = ("data", "model")


def load_set(name: str, quick: bool = False) -> Split:
    """Return a public set by name, or a part of it for a quick run."""
    folder = find_data(name)
    with warnings.catch_warnings():
        # Entities that are only in the test are part of these sets; their questions get bad ranks.
        warnings.simplefilter("ignore", DataWarning)
        split = load(folder)
    if not isinstance(split, Split) or not len(split.test):
        raise DataError(f"{folder} has nothing to test on.")
    return part_of(split) if quick else split


def part_of(split: Split) -> Split:
    """Return a split with few triples to learn from, the same each time; the test stays, for the filter."""
    return replace(
        split,
        facts=_some(split.facts, QUICK_FACTS),
        train=_some(split.train, QUICK_FACTS),
        valid=_some(split.valid, QUICK_TRIPLES),
    )


def test_questions(split: Split, quick: bool) -> Questions:
    """Return the questions of the test, both ways; a quick run asks a few of them."""
    triples = _some(split.test, QUICK_TRIPLES) if quick else split.test
    return ask_both_ways(triples, len(split.relations))


def _some(triples: Ids, most: int) -> Ids:
    order = np.random.default_rng(0).permutation(len(triples))
    return triples[np.sort(order[:most])]


def learn_and_rank(
    *,
    data: str,
    seed: int,
    preset: str,
    settings: Mapping[str, Any],
    device: str = "cpu",
    quick: bool = False,
    rules: Iterable[str] = (),
) -> Outcome:
    """Return how a neural model learned from a set ranks its test, and its best rules of some queries."""
    split = load_set(data, quick)
    program = learn_model(split, seed, preset, settings, device, quick)
    learned = {**training_history(program.history), "rules": _examples(program, rules)}
    return {**figures(rank_test(walk(program, split.known, device), split, quick)), **learned}


def learn_model(
    split: Split, seed: int, preset: str, settings: Mapping[str, Any], device: str, quick: bool = False
) -> LearnedProgram:
    """Return a neural model learned from a split: the best epoch on validation, without weighting."""
    chosen = {**settings, **(QUICK if quick else {}), "seed": seed}
    return learn(split, preset=preset, weigh=False, device=device, **chosen)


def walk(program: LearnedProgram, kb: KnowledgeBase, device: str) -> ModelScorer:
    """Return a scorer of the neural model over the facts of `kb`."""
    return ModelScorer(program.model.to(device), make_engine("auto", Operators.of(kb), device))


def weigh_and_rank(*, data: str, seed: int, device: str, quick: bool = False) -> Outcome:
    """Return how mined and weighted rules rank the test of a set."""
    split = load_set(data, quick)
    weighted = learn_weighted(split, seed, device, quick)
    return {**figures(rank_test(Reasoner(split.known, weighted), split, quick)), "num_rules": len(weighted)}


def learn_weighted(split: Split, seed: int, device: str, quick: bool) -> WeightedRules:
    """Return the rules that `learn` finds and weights on a split, with settings of its own choice."""
    weighted = learn(split, device=device, seed=seed, **(QUICK_WEIGHTING if quick else {})).weighted_rules
    assert weighted is not None
    return weighted


def fit_and_rank(*, data: str, seed: int, baseline: str, quick: bool = False, **options: Any) -> Outcome:
    """Return how a baseline fitted to a set ranks its test."""
    split = load_set(data, quick)
    return figures(rank_test(fit_baseline(baseline, split, seed, **options), split, quick))


def fit_baseline(name: str, split: Split, seed: int, **options: Any) -> Scorer:
    """Return the fitted baseline called `name`."""
    try:
        fit = getattr(import_module("neurallp.experiments.baselines"), f"fit_{name}")
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"The baseline {name!r} cannot be used here: {error}.") from error
    scorer: Scorer = fit(split, seed, **options)
    return scorer


def rank_test(scorer: Scorer, split: Split, quick: bool) -> Evaluation:
    """Return the filtered ranks of the test."""
    return evaluate(
        scorer, test_questions(split, quick), KnownAnswers(split.true_triples, len(split.relations))
    )


def figures(found: Evaluation) -> dict[str, Any]:
    """Return an evaluation as an outcome's figures."""
    realistic, optimistic = (
        {"MRR": each.mrr, "Hits@1": each.hits_at_1, "Hits@10": each.hits_at_10}
        for each in (found.realistic, found.optimistic)
    )
    return {**realistic, "optimistic": optimistic}


def training_history(history: Iterable[Epoch]) -> dict[str, Any]:
    """Return the epochs of training, and the validation MRR of the best one."""
    epochs = list(history)
    best = [epoch.valid_mrr for epoch in epochs if epoch.is_best]
    return {"valid MRR": best[-1] if best else None, "history": [vars(epoch) for epoch in epochs]}


def draw_learning(table: TableSpec, results: Results, out: Path) -> None:
    """Draw the learning curves of a table's models, the first seed of each, one picture for each data set."""
    from ..plots import draw_curves

    histories: dict[str, dict[str, list[Epoch]]] = {}
    for row in table.rows:
        data, *names = (value if name in NAMES else f"{name} = {value}" for name, value in row.labels.items())
        for outcome in results.of(row)[:1]:
            if "history" in outcome:
                runs = histories.setdefault(data, {})
                runs[", ".join(names)] = [Epoch(**epoch) for epoch in outcome["history"]]
    for data, runs in histories.items():
        draw_curves(runs, out / f"learning-{data.lower().replace(' ', '-')}.png")


def _examples(program: LearnedProgram, queries: Iterable[str]) -> list[dict[str, Any]]:
    """Return the best rules of those queries that the model has."""
    known = [query for query in queries if relation_of(query) in program.model.relations]
    rules = [rule for query in known for rule in program.rules(query, limit=3)]
    return [{"rule": str(rule), "confidence": rule.normalized_confidence} for rule in rules]

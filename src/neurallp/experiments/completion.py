"""Section 4.3, knowledge base completion: WN18, FB15K, FB15K-237 (FB15KSelected), and WN18RR besides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .measuring import QUICK, QUICK_EMBEDDING, draw_learning, fit_and_rank, learn_and_rank, weigh_and_rank
from .specification import Experiment, Results, TableRow, TableSpec
from .tables import Table

#: The paper's table 4, ties in the answer's favour: model -> data -> MRR, Hits@10.
PUBLISHED: dict[str, dict[str, tuple[float | None, float]]] = {
    "Neural Tensor Network": {"wn18": (0.53, 0.661), "fb15k": (0.25, 0.414)},
    "TransE": {"wn18": (0.38, 0.909), "fb15k": (0.32, 0.539)},
    "DistMult": {"wn18": (0.83, 0.942), "fb15k": (0.35, 0.577), "fb15k-237": (0.25, 0.408)},
    "Node+LinkFeat": {"wn18": (0.94, 0.943), "fb15k": (0.82, 0.870), "fb15k-237": (0.23, 0.347)},
    "Implicit ReasoNets": {"wn18": (None, 0.953), "fb15k": (None, 0.927)},
    "Neural LP": {"wn18": (0.94, 0.945), "fb15k": (0.76, 0.837), "fb15k-237": (0.24, 0.362)},
}

#: The baselines that we fit and rank with our own evaluator; the embeddings run on any device.
EMBEDDINGS = {"Neural Tensor Network": "ntn", "TransE": "transe", "DistMult": "distmult"}
FITTED = {**EMBEDDINGS, "Node+LinkFeat": "node_link"}

TITLES = {"wn18": "WN18", "fb15k": "FB15K", "fb15k-237": "FB15K-237", "wn18rr": "WN18RR"}

#: Facts are separated as in the paper's FB15KSelected: entities of a question are not linked in the facts.
UNLINKED = {"facts_apart": "unlinked", "training_masking": "train"}
#: Larger and more steps than published; as good as batches of 512 at .001 (MRR .231).
MORE_EPOCHS = {**UNLINKED, "batch_size": 128, "learning_rate": 0.003, "num_epochs": 30, "patience": 4}

#: An epoch of T = 3 takes as long as ten of T = 2, but the first validates better than all of those.
THREE_STEPS = {
    **UNLINKED,
    "patience": 4,
    "num_steps": 3,
    "num_controllers": 3,
    "batch_size": 256,
    "learning_rate": 0.004,
    "num_epochs": 8,
}

#: Relations of the paper's table of rules, as FB15K-237 calls them.
RULES_OF = (
    "/location/location/partially_contains",
    "/people/person/spouse_s./people/marriage/location_of_ceremony",
    "/film/film/edited_by",
)

NOTES = (
    "Published: the paper's table 4, ties in the answer's favour. Ours: realistic ranks, the optimistic ones "
    "beside them. `paper`: the paper's objective, rules of length 2 unless named. `ours`: our objective, "
    "before rules are weighted. `weighted`: `neurallp learn` without options. "
    "FB15K-237 is the paper's FB15KSelected. FB15K with 128 operators for each query, as published.",
)


@dataclass(frozen=True)
class ModelSpec:
    """A row of ours: a data set, a name for the model, and its settings."""

    data: str
    model: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)


MODELS = (
    ModelSpec("wn18", "paper", "paper"),
    ModelSpec("wn18", "ours", "default"),
    ModelSpec("fb15k", "paper", "paper", {"operators_per_query": 128}),
    ModelSpec("fb15k-237", "paper", "paper", MORE_EPOCHS),
    ModelSpec("fb15k-237", "paper, 128 operators", "paper", {**MORE_EPOCHS, "operators_per_query": 128}),
    ModelSpec("fb15k-237", "paper, 3 controllers", "paper", {**MORE_EPOCHS, "num_controllers": 3}),
    ModelSpec(
        "fb15k-237",
        "paper, T = 3, 3 controllers",
        "paper",
        THREE_STEPS,
    ),
    ModelSpec("fb15k-237", "ours", "default", MORE_EPOCHS),
    ModelSpec(
        "fb15k-237",
        "ours, T = 3, 3 controllers",
        "default",
        THREE_STEPS,
    ),
    ModelSpec("wn18rr", "paper", "paper"),
    ModelSpec("wn18rr", "paper, T = 3", "paper", {"num_steps": 3}),
    ModelSpec("wn18rr", "ours, T = 3, 3 controllers", "default", {"num_steps": 3, "num_controllers": 3}),
)


def experiment(quick: bool, device: str) -> Experiment:
    """Return the table of completion, and the examples of rules."""
    rows = [
        row for data in TITLES for row in (*_our_rows(data, quick, device), *_others(data, quick, device))
    ]
    table = TableSpec("Knowledge base completion", ("MRR", "Hits@10"), tuple(rows), NOTES)
    return Experiment((table,), partial(_rules, table), partial(draw_learning, table))


def _our_rows(data: str, quick: bool, device: str) -> Iterator[TableRow]:
    for spec in MODELS:
        if spec.data == data:
            arguments = {
                "data": data,
                "preset": spec.preset,
                "settings": spec.settings,
                "device": device,
                "quick": quick,
                "rules": RULES_OF if data.startswith("fb15k") and spec.model == "paper" else (),
            }
            published = _figures("Neural LP", data) if spec.model == "paper" else {}
            yield TableRow({"data": TITLES[data], "model": spec.model}, published, learn_and_rank, arguments)
    weighted = {"data": data, "quick": quick, "device": device}
    yield TableRow({"data": TITLES[data], "model": "weighted"}, {}, weigh_and_rank, weighted)


def _others(data: str, quick: bool, device: str) -> Iterator[TableRow]:
    """Yield the other rows of the paper's table: fitted by us where we can, else as published."""
    for model in PUBLISHED:
        labels, published = {"data": TITLES[data], "model": model}, _figures(model, data)
        if model in FITTED:
            arguments = {"data": data, "baseline": FITTED[model], "quick": quick, **(QUICK if quick else {})}
            if model in EMBEDDINGS:
                arguments |= {"device": device, **(QUICK_EMBEDDING if quick else {})}
            yield TableRow(labels, published, fit_and_rank, arguments)
        elif model != "Neural LP" and published:
            yield TableRow(labels, published)


def _figures(model: str, data: str) -> dict[str, float]:
    figures = zip(("MRR", "Hits@10"), PUBLISHED[model].get(data, ()), strict=False)
    return {name: value for name, value in figures if value is not None}


def _rules(table: TableSpec, results: Results) -> list[Table]:
    """Return what the first seed of each model learned about the relations of the paper's examples."""
    rows = [
        {**row.labels, "confidence": example["confidence"], "rule": example["rule"]}
        for row in table.rows
        for outcome in results.of(row)[:1]
        for example in outcome.get("rules", [])
    ]
    note = "The confidence is normalised: divided by the largest of the query (the paper's table 5)."
    return [Table("Rules learned", ("data", "model", "confidence", "rule"), rows, (note,))]

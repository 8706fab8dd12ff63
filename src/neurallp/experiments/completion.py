"""Section 4.3, knowledge base completion: WN18, FB15K, FB15K-237 (FB15KSelected), and WN18RR besides."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from .cells import Cell, Experiment, Plan, Results
from .measuring import QUICK, QUICK_EMBEDDING, draw_learning, fit_and_rank, learn_and_rank, weigh_and_rank
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

#: The baselines that we rank with our own evaluator, and what fits them: embeddings on any device.
EMBEDDINGS = {"Neural Tensor Network": "ntn", "TransE": "transe", "DistMult": "distmult"}
FITTED = {**EMBEDDINGS, "Node+LinkFeat": "node_link"}

TITLES = {"wn18": "WN18", "fb15k": "FB15K", "fb15k-237": "FB15K-237", "wn18rr": "WN18RR"}

#: Facts are set apart as the paper does for FB15KSelected: what is asked is not directly linked in facts.
UNLINKED = {"facts_apart": "unlinked", "training_masking": "train"}
#: Larger steps and more of them than published; as good as batches of 512 at .001, and no better (MRR .231).
LONGER = {"batch_size": 128, "learning_rate": 0.003, "num_epochs": 30, "patience": 4}

#: An epoch of T = 3 takes as long as ten of T = 2, but the first validates better than all of those.
DEEPER = {"num_steps": 3, "num_controllers": 3, "batch_size": 256, "learning_rate": 0.004, "num_epochs": 8}

#: Bodies are found until all are: figures must not depend on how fast a machine is.
PATIENT = {"max_paths": 200_000_000}
FREEBASE = {"num_candidates": 300, "num_pairs": 100, "penalties": (3e-4, 3e-3, 3e-2)}

#: How rules are weighted: the sparser the graph, the longer they are.
WEIGHTED: dict[str, dict[str, Any]] = {
    "wn18": {
        **PATIENT,
        "max_length": 5,
        "other_lengths": (3,),
        "num_candidates": 1500,
        "num_pairs": 2000,
        "max_questions": 8000,
    },
    "fb15k": {**PATIENT, **FREEBASE},
    "fb15k-237": {**PATIENT, **FREEBASE},
    "wn18rr": {**PATIENT, "max_length": 5, "num_pairs": 500, "penalties": (1e-4, 3e-4, 3e-3)},
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
    "before rules are weighted. `weighted`: rules found between known pairs, weighted. "
    "FB15K-237 is the paper's FB15KSelected. FB15K with 128 operators for each query, as published.",
)


@dataclass(frozen=True)
class Trial:
    """A line of ours: a set, a name for the model, and how it learns."""

    data: str
    model: str
    preset: str
    settings: Mapping[str, Any] = field(default_factory=dict)


TRIALS = (
    Trial("wn18", "paper", "paper"),
    Trial("wn18", "ours", "default"),
    Trial("fb15k", "paper", "paper", {"operators_per_query": 128}),
    Trial("fb15k-237", "paper", "paper", {**UNLINKED, **LONGER}),
    Trial("fb15k-237", "paper, 128 operators", "paper", {**UNLINKED, **LONGER, "operators_per_query": 128}),
    Trial("fb15k-237", "paper, 3 ranks", "paper", {**UNLINKED, **LONGER, "num_controllers": 3}),
    Trial("fb15k-237", "paper, T = 3, 3 ranks", "paper", {**UNLINKED, **LONGER, **DEEPER}),
    Trial("fb15k-237", "ours", "default", {**UNLINKED, **LONGER}),
    Trial("fb15k-237", "ours, T = 3, 3 ranks", "default", {**UNLINKED, **LONGER, **DEEPER}),
    Trial("wn18rr", "paper", "paper"),
    Trial("wn18rr", "paper, T = 3", "paper", {"num_steps": 3}),
    Trial("wn18rr", "ours, T = 3, 3 ranks", "default", {"num_steps": 3, "num_controllers": 3}),
)


def experiment(quick: bool, device: str) -> Experiment:
    """Return the table of completion, and the examples of rules."""
    cells = [
        cell for data in TITLES for cell in (*_our_cells(data, quick, device), *_others(data, quick, device))
    ]
    plan = Plan("Knowledge base completion", ("MRR", "Hits@10"), tuple(cells), NOTES)
    return Experiment((plan,), partial(_rules, plan), partial(draw_learning, plan))


def _our_cells(data: str, quick: bool, device: str) -> Iterator[Cell]:
    for trial in TRIALS:
        if trial.data == data:
            arguments = {
                "data": data,
                "preset": trial.preset,
                "settings": trial.settings,
                "device": device,
                "quick": quick,
                "rules": RULES_OF if data.startswith("fb15k") and trial.model == "paper" else (),
            }
            published = _figures("Neural LP", data) if trial.model == "paper" else {}
            yield Cell({"data": TITLES[data], "model": trial.model}, published, learn_and_rank, arguments)
    weighted = {"data": data, "settings": WEIGHTED[data], "quick": quick, "device": device}
    yield Cell({"data": TITLES[data], "model": "weighted"}, {}, weigh_and_rank, weighted)


def _others(data: str, quick: bool, device: str) -> Iterator[Cell]:
    """Yield the other rows of the paper's table: fitted by us where we can, else as published."""
    for model in PUBLISHED:
        labels, published = {"data": TITLES[data], "model": model}, _figures(model, data)
        if model in FITTED:
            arguments = {"data": data, "baseline": FITTED[model], "quick": quick, **(QUICK if quick else {})}
            if model in EMBEDDINGS:
                arguments |= {"device": device, **(QUICK_EMBEDDING if quick else {})}
            yield Cell(labels, published, fit_and_rank, arguments)
        elif model != "Neural LP" and published:
            yield Cell(labels, published)


def _figures(model: str, data: str) -> dict[str, float]:
    figures = zip(("MRR", "Hits@10"), PUBLISHED[model].get(data, ()), strict=False)
    return {name: value for name, value in figures if value is not None}


def _rules(plan: Plan, results: Results) -> list[Table]:
    """Return what the first seed of each model learned about the relations of the paper's examples."""
    rows = [
        {**cell.labels, "confidence": example["confidence"], "rule": example["rule"]}
        for cell in plan.cells
        for outcome in results.of(cell)[:1]
        for example in outcome.get("rules", [])
    ]
    note = "The confidence is normalised: divided by the largest of the query (the paper's table 5)."
    return [Table("Rules learned", ("data", "model", "confidence", "rule"), rows, (note,))]

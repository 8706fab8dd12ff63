"""Overview: the facts, how well the model answers, how it was made, and where to begin."""

from dataclasses import dataclass

import numpy as np

from ...config import Plan
from ...config.plan_log import PlanLog
from ...graph.arrays import Ids
from ...graph.knowledge_base import Split
from ...pipeline.program import LearnedProgram
from ...weighting.weighted_rules import WeightedRules
from ..explorer import Explorer
from .calibration import Curve, Point, as_curves

NUM_EXAMPLES = 6
NAMES = ("mrr", "hits@1", "hits@3", "hits@10", "mean_rank")


@dataclass(frozen=True)
class Measure:
    """The measures of one part of the data, for one treatment of ties."""

    part: str
    ties: str
    mrr: float
    hits_at_1: float
    hits_at_3: float
    hits_at_10: float
    mean_rank: float
    num_questions: int | None


@dataclass(frozen=True)
class Trial:
    """A setting that was tried before learning."""

    setting: str
    mrr: float
    gain: float
    error: float
    chosen: bool


@dataclass(frozen=True)
class Example:
    """A question to begin with."""

    entity: str
    relation: str


@dataclass(frozen=True)
class OverviewPage:
    """What is served here."""

    model: str
    num_facts: int
    num_entities: int
    num_relations: int
    num_rules: int | None
    kinds: dict[str, int]
    rows: list[Measure]
    calibration: list[Curve]
    has_probabilities: bool
    training: list[Curve]
    trials: list[Trial]
    settings: dict[str, str]
    cut: list[str]
    examples: list[Example]


def overview(explorer: Explorer) -> OverviewPage:
    """Facts, measures, calibration, training and plan of the model that is served."""
    program, kb = explorer.program, explorer.kb
    plan = program.plan if isinstance(program, LearnedProgram) else None
    log = PlanLog() if plan is None else plan.log
    basis = program.basis
    kinds = basis.num_of_kinds if isinstance(basis, WeightedRules) else {}
    measured = explorer.measured_reliability
    num_rules = None if explorer.is_neural else sum(map(explorer.num_rules, range(explorer.num_queries)))
    return OverviewPage(
        explorer.name,
        kb.num_facts,
        len(kb.entities),
        len(kb.relations),
        num_rules,
        kinds,
        list_measures(explorer),
        [] if measured is None else as_curves(measured),
        program.calibration is not None,
        _training(explorer),
        [Trial(each.setting, each.mrr, each.gain, each.error, each.chosen) for each in log.trials],
        {} if plan is None else _settings(plan),
        list(log.cut),
        explorer.keep(("examples",), lambda: _examples(explorer)),
    )


def list_measures(explorer: Explorer) -> list[Measure]:
    """Return the measures of each part, with ties counted in three ways."""
    rows = []
    for part, found in explorer.metrics.items():
        for ties in ("realistic", "optimistic", "pessimistic"):
            values = found if ties == "realistic" else found.get(ties, {})
            if values:
                mrr, first, third, tenth, mean = (values[name] for name in NAMES)
                count = found.get("queries") if ties == "realistic" else None
                rows.append(Measure(part, ties, mrr, first, third, tenth, mean, count))
    return rows


def _training(explorer: Explorer) -> list[Curve]:
    """Return the loss, as a share of the first, and the validation MRR by epoch, as a share of all epochs."""
    history = explorer.history
    if len(history) < 2:
        return []
    places = [number / (len(history) - 1) for number in range(len(history))]
    largest = max(epoch.loss for epoch in history) or 1.0
    loss = [Point(x, max(0.0, epoch.loss / largest)) for x, epoch in zip(places, history, strict=True)]
    mrr = [
        Point(x, epoch.valid_mrr)
        for x, epoch in zip(places, history, strict=True)
        if epoch.valid_mrr is not None
    ]
    return [Curve("loss / largest loss", loss), *([Curve("validation MRR", mrr)] if mrr else [])]


def _settings(plan: Plan) -> dict[str, str]:
    """Return the settings that matter to a reader, in words."""
    found: dict[str, str] = {}
    if plan.model is not None and plan.training is not None:
        found["neural model"] = (
            f"rules up to {plan.model.num_steps} steps, {plan.model.num_controllers} controllers"
        )
        found["training"] = (
            f"up to {plan.training.num_epochs} epochs, learning rate {plan.training.learning_rate:g}"
        )
    if (chosen := plan.weighting) is not None:
        found["bodies"] = (
            f"up to {chosen.max_length} steps, {chosen.num_candidates:,} candidates of each query"
        )
        found["kinds of rules"] = ", ".join(chosen.kinds)
        found["edge masking"] = chosen.masking
        found["penalties"] = ", ".join(f"{penalty:g}" for penalty in chosen.penalties)
    if plan.log.minutes is not None:
        found["time limit"] = f"{plan.log.minutes:g} minutes"
    return found


def _examples(explorer: Explorer) -> list[Example]:
    """Return questions of different relations, whose answers are not known where there is a test part."""
    reasoner, data = explorer.reasoner, explorer.binned
    if isinstance(data, Split) and len(data.test):
        _, first = np.unique(data.test[:, 1], return_index=True)
        rows = data.test[_spread(first)].tolist()
        return [Example(data.entities[head], data.relations[relation]) for head, relation, _ in rows]
    operators, names = reasoner.operators, reasoner.kb.entities
    asked = _spread(np.flatnonzero(explorer.relation_sizes)).tolist()
    edges = np.array([operators.edges_by_operator(relation)[0] for relation in asked], np.int64)
    sources = operators.sources_at(edges).tolist()
    return [
        Example(names[source], reasoner.relations[relation])
        for source, relation in zip(sources, asked, strict=True)
    ]


def _spread(numbers: Ids) -> Ids:
    """Return a few of some numbers, from all over."""
    return numbers[:: max(1, len(numbers) // NUM_EXAMPLES)][:NUM_EXAMPLES]

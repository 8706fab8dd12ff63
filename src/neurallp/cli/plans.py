"""Plans as text and JSON: the settings, how they were chosen, and what they will take."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ..config import Plan

if TYPE_CHECKING:
    from ..pipeline.plan import Estimate


def describe_plan(plan: Plan, estimate: "Estimate | None" = None) -> str:
    """Return a plan in a few lines."""
    lines = [_describe_survey(plan.log.survey)] if plan.log.survey else []
    lines += [f"  tried {trial}" for trial in plan.log.trials]
    if plan.model is not None and plan.training is not None:
        lines.append(
            f"Train: up to {plan.training.num_epochs} epochs, rules up to {plan.model.num_steps} steps."
        )
    if (chosen := plan.weighting) is not None:
        penalties = ", ".join(f"{penalty:g}" for penalty in chosen.penalties)
        lines.append(
            f"Weigh: bodies up to {chosen.max_length}, {chosen.num_candidates:,} candidates from "
            f"{chosen.num_pairs:,} pairs, {chosen.max_questions:,} questions of each query at most; kinds "
            f"{', '.join(chosen.kinds)}; masking {chosen.masking}; penalties {penalties}."
        )
    lines += [f"Time limit: {plan.log.minutes:g} minutes."] if plan.log.minutes is not None else []
    lines += [f"Cut: {'; '.join(plan.log.cut)}."] if plan.log.cut else []
    lines += [str(estimate)] if estimate is not None else []
    return "\n".join(lines)


def _describe_survey(found: Any) -> str:
    reached = ", ".join(f"{share:.0%} within {n}" for n, share in enumerate(found["reached"], 1))
    origin = "facts held out of train" if found["held_out"] else "validation facts"
    return f"{found['walks'][0]:.0f} edges leave the end of a fact; {origin}: {reached} steps."


def plan_as_dict(plan: Plan) -> dict[str, Any]:
    """Return a plan as one JSON object."""
    return asdict(plan)

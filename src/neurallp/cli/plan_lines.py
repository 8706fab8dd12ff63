"""A plan in words: what the data looks like, what was tried on which questions, and what was chosen."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..graph.spelling import one_line

if TYPE_CHECKING:
    from ..config import Plan
    from ..config.plan_log import PlanLog
    from ..pipeline.plan import Estimate

#: Relations of a trial that are named, at most.
MAX_NAMED = 6


def describe_plan(plan: "Plan", estimate: "Estimate | None" = None) -> str:
    """Return a plan in a few lines."""
    lines = [_describe_survey(plan.log.survey)] if plan.log.survey else []
    lines += _describe_trials(plan.log)
    if plan.model is not None and plan.training is not None:
        lines.append(
            f"Train: up to {plan.training.num_epochs} epochs, rules up to {plan.model.num_steps} steps."
        )
    if (chosen := plan.weighting) is not None:
        penalties = ", ".join(f"{penalty:g}" for penalty in chosen.penalties)
        lengths = " or ".join(map(str, chosen.lengths))
        lines.append(
            f"Weigh: bodies up to {lengths}, {chosen.num_candidates:,} candidates from "
            f"{chosen.num_pairs:,} pairs, {chosen.max_questions:,} questions of each query at most; kinds "
            f"{', '.join(chosen.kinds)}; masking {chosen.masking}; penalties {penalties}; "
            f"dropout {chosen.dropout:g}."
        )
    lines += [f"Time limit: {plan.log.minutes:g} minutes."] if plan.log.minutes is not None else []
    lines += [f"Cut: {'; '.join(plan.log.cut)}."] if plan.log.cut else []
    lines += [str(estimate)] if estimate is not None else []
    return "\n".join(lines)


def _describe_trials(log: "PlanLog") -> list[str]:
    """Return what the trials asked, and a line for each: the first has nothing to be compared with."""
    if not log.trials:
        return []
    first, *others = log.trials
    asked = [_describe_questions(log.survey)] if "tried_on" in log.survey else []
    begun = f"  tried {first.setting}: MRR {first.mrr:.3f}, to begin with"
    return [*asked, begun, *(f"  tried {trial}" for trial in others)]


def _describe_questions(survey: Mapping[str, Any]) -> str:
    """Return in words what each trial asks, and how its rules are fitted."""
    asked, total = survey["tried_on"], survey["num_relations"]
    names, num = asked["relations"], len(asked["relations"])
    which = f"all {num:,} relations" if num == total else f"{num:,} of {total:,} relations"
    listed = f" ({', '.join(map(one_line, names))})" if num < total and num <= MAX_NAMED else ""
    fitted = "as in the run" if asked["refined"] else "on few questions each"
    return (
        f"Each trial: {asked['questions']:,} validation questions about {which}{listed}, in both directions; "
        f"rules fitted {fitted}. MRR (gain ± its standard error):"
    )


def _describe_survey(found: Any) -> str:
    """Return how many edges leave the end of a fact, and how many steps lead to answers."""
    edges = f"{found['walks'][0]:.0f} edges leave the end of a fact on average"
    if not found["reached"]:
        return f"{edges}."
    reached = ", ".join(f"{share:.0%} within {n}" for n, share in enumerate(found["reached"], 1))
    origin = "facts held out of train" if found["held_out"] else "validation facts"
    return f"{edges}; {origin}: {reached} steps."

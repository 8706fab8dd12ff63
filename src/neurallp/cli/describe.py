"""`describe`: how a model was learned."""

from .options import Json, Model
from .output import print_json, print_line
from .plans import describe_plan, plan_as_dict


def describe(model: Model, as_json: Json = False) -> None:
    """Print the plan of MODEL: its settings and their trials."""
    from ..pipeline.program import load_model

    plan = load_model(model).plan
    print_json(plan_as_dict(plan)) if as_json else print_line(describe_plan(plan))

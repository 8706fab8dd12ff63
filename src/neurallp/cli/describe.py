"""`describe`: how a model was learned."""

from dataclasses import asdict

from .options import Json, Model
from .output import describe_plan, print_json, print_line


def describe(model: Model, as_json: Json = False) -> None:
    """Print the plan of MODEL: its settings and their trials."""
    from ..pipeline.program import load_model

    plan = load_model(model).plan
    print_json(asdict(plan)) if as_json else print_line(describe_plan(plan))

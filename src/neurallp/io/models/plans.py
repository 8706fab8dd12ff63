"""How a model's plan was made, beside the model in its folder. The settings themselves are in other files."""

from dataclasses import asdict

from ...config.plan_log import PlanLog
from ..schema import to_json
from .folders import read_json
from .store import PLAN, ModelFiles


def plan_file(log: PlanLog) -> dict[str, str]:
    """Return the file of a plan's log; none for an empty one."""
    return {} if log == PlanLog() else {PLAN: to_json(asdict(log))}


def read_plan_log(files: ModelFiles) -> PlanLog:
    """Return the log of a model's plan; an empty one where its settings were all given."""
    return read_json(files, PLAN, PlanLog) if PLAN in files else PlanLog()

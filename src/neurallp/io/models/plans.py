"""How a model's plan was made, beside the model in its folder. The settings themselves are in other files."""

from dataclasses import asdict
from pathlib import Path
from typing import Any

from ...config.plan_log import Comparison, PlanLog
from ..files import AnyPath
from .folders import FORMAT_VERSION, damaged, read_json, require_version, to_json, write_together

PLAN = "plan.json"


def write_plan_log(folder: AnyPath, log: PlanLog) -> None:
    """Put the log of a plan beside its model; an empty one removes that of an earlier model."""
    if log == PlanLog():
        (Path(folder) / PLAN).unlink(missing_ok=True)
    else:
        write_together(folder, {PLAN: to_json({"format_version": FORMAT_VERSION, **asdict(log)})})


def read_plan_log(folder: AnyPath) -> PlanLog:
    """Return the log of a folder's plan; an empty one where its settings were all given."""
    path = Path(folder) / PLAN
    if not path.is_file():
        return PlanLog()
    content: dict[str, Any] = read_json(path, dict)
    require_version(folder, content)
    try:
        trials = tuple(Comparison(**each) for each in content["trials"])
        return PlanLog(content["survey"], trials, content["minutes"], tuple(content["cut"]))
    except (KeyError, TypeError) as error:
        raise damaged(path, error) from error

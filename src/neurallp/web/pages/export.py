"""Export: the rules without those that are left out, as a file that can be used in place of a model."""

from fastapi import Response

from ...errors import ConfigError
from ...io.rules import json_list, scored_json
from ...rules.rule import RuleSet
from ...weighting.weighted_rules import WeightedRules
from ..changes import UNCHANGED
from ..explorer import Explorer
from .parameters import World


def export(explorer: Explorer, changes: World = UNCHANGED) -> Response:
    """The rules without those that `veto` leaves out: a JSON file that every command takes as MODEL."""
    rules = explorer.without(changes.veto)
    if isinstance(rules, WeightedRules):
        text = scored_json.render(rules, explorer.program.calibration)
    elif isinstance(rules, RuleSet):
        text = json_list.render(rules, {})
    else:
        raise ConfigError("A neural model is a folder: copy it, or weigh its rules first.")
    name = f"{explorer.name}-without-{len(changes.veto)}.json" if changes.veto else f"{explorer.name}.json"
    safe = "".join(
        letter if letter.isascii() and (letter.isalnum() or letter in "-._") else "_" for letter in name
    )
    headers = {"Content-Disposition": f'attachment; filename="{safe}"'}
    return Response(text, media_type="application/json", headers=headers)

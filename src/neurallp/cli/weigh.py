"""`weigh`: weights for given rules, and for those found besides."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..config import WeightingConfig
from ..errors import ConfigError
from .inspect import held_out, judge_watched
from .options import Data, Device, Json, choose_device, load_split, with_settings
from .output import console, measures_table, print_json, watched

if TYPE_CHECKING:
    from ..graph.knowledge_base import Split
    from ..pipeline.program import AnyProgram, WeightedProgram
    from ..rules.rule import Rule
    from ..weighting.fitting import Candidates
    from ..weighting.weighted_rules import WeightedRules


#: Settings that `weigh` does not offer: it takes as many rules as it is given.
OMITTED = ("num_learned",)


@with_settings(WeightingConfig, defaults={"num_candidates": 0, "kinds": "those of RULES"}, omit=OMITTED)
def weigh(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES", help="A file of rules, a model folder, or - for none.")
    ],
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the weighted rules go.")] = Path("weighted"),
    *,
    settings: dict[str, Any],
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn how much each rule of RULES counts.

    RULES is a file of rules, or a model folder: its weighted rules are taken, of all kinds that they are of
    unless --kinds says which; where there are none, the most confident that it learned. With - only rules
    that are mined are weighted.
    """
    from ..io.models.neural import require_no_model
    from ..pipeline.learn import rules_as_candidates
    from ..pipeline.program import load_program

    require_no_model(out)
    settings = {"num_candidates": 0, **settings}
    mine = settings["num_candidates"]
    if settings.get("other_lengths") and not mine:
        raise ConfigError("--or-length chooses among rules that are mined. Mine some with --candidates.")
    WeightingConfig(**settings)
    program = None if str(rules) == "-" else load_program(rules)
    config = WeightingConfig(**_kinds_of(program) | settings)
    split = load_split(data, config.seed)
    given = rules_as_candidates(_wanted(program, config), split.relations)
    if "chain" in config.kinds and not (given or mine or config.has_non_chain_kinds):
        raise ConfigError(f"{rules} has no rule for the relations of {data}. Mine some with --candidates.")
    made = weigh_watched(split, config, given, choose_device(device), as_json)
    metrics = judge_watched(made, split, held_out(split), "auto", as_json)
    made.save(out, metrics)
    _report(made.weighted, out, metrics, as_json)


def _report(weighted: "WeightedRules", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    counts = weighted.num_of_kinds
    if as_json:
        print_json({"model": str(out), "rules": len(weighted), "kinds": counts, **metrics})
        return
    if metrics:
        console.print(measures_table(metrics))
    kinds = ", ".join(f"{num:,} {kind}" for kind, num in counts.items())
    console.print(f"Weighted rules in {escape(str(out))}: {kinds or 'none'}.", soft_wrap=True)


def _wanted(program: "AnyProgram | None", config: WeightingConfig) -> "list[Rule]":
    """Return the rules of a program that are of the kinds to be weighted; raise where none of them is."""
    from ..pipeline.learn import offered_rules

    offered = [] if program is None else list(offered_rules(program, config.num_learned))
    wanted = [rule for rule in offered if rule.kind in config.kinds]
    if offered and not wanted:
        there = ", ".join(dict.fromkeys(rule.kind for rule in offered))
        raise ConfigError(f"The rules given are of kind {there}. Add it to --kinds, or give - for RULES.")
    return wanted


def _kinds_of(program: "AnyProgram | None") -> dict[str, Any]:
    """Return the setting that goes with a program: the kinds that its rules are of."""
    from ..pipeline.program import Program, RuleProgram

    if isinstance(program, RuleProgram):
        return {"kinds": tuple(dict.fromkeys(["chain", "prior", *(rule.kind for rule in program.rules)]))}
    if isinstance(program, Program):
        return _kinds_of(program.weighted)
    kinds = () if program is None else tuple(program.weighted.num_of_kinds)
    return {"kinds": kinds} if kinds else {}


def weigh_watched(
    split: "Split",
    config: WeightingConfig,
    given: "Candidates",
    device: str,
    quiet: bool,
) -> "WeightedProgram":
    """Weigh under a progress bar, which shows only on a terminal."""
    from ..pipeline.learn import weigh_rules

    with watched("Weighting", 2 * len(split.known.facts), quiet) as advance:
        return weigh_rules(split, config, given, advance, device)

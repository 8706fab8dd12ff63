"""`weigh`: weights for given rules, and for mined ones."""

from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..config import Plan, WeightingConfig
from ..errors import ConfigError
from ..graph.vocabulary import relation_of
from .evaluate import evaluate_parts
from .options import (
    Data,
    Device,
    Force,
    Json,
    Workers,
    existing_source,
    load_split,
    open_workers,
    require_new,
    with_settings,
)
from .output import console, measures_table, print_json, print_line

if TYPE_CHECKING:
    from ..pipeline.program import Program
    from ..rules.rule import Rule
    from ..weighting.weighted_rules import WeightedRules

#: Settings whose default differs here: no rules are mined unless an option says so.
DEFAULTS: dict[str, Any] = {"num_candidates": 0, "other_lengths": ()}


def _given_source(path: Path) -> Path:
    return path if str(path) == "-" else existing_source(path)


@with_settings(WeightingConfig, defaults={**DEFAULTS, "kinds": "those of RULES"})
def weigh(
    rules: Annotated[
        Path,
        typer.Argument(
            metavar="RULES", callback=_given_source, help="A file of rules, a model folder, or - for none."
        ),
    ],
    data: Data,
    out: Annotated[Path, typer.Option(help="The folder to write the weighted rules to.")] = Path("weighted"),
    *,
    settings: dict[str, Any],
    device: Device = "auto",
    force: Force = False,
    workers: Workers = "1",
    as_json: Json = False,
) -> None:
    """Fit a weight to each rule of RULES.

    RULES is a file of rules or a model folder: its weighted rules, of all their kinds unless --kinds is
    given, or else the most confident rules of its neural model. With -, only mined rules are weighted.
    Settings that are not given are those of the model folder, where its rules were weighted.
    The test part is not used; `neurallp evaluate` ranks it.
    """
    from ..io.models.folders import require_no_model
    from ..io.models.store import locked, require_writable

    _require_sound(DEFAULTS | settings)
    require_writable(out)
    require_no_model(out)
    require_new(out, force=force)

    from ..pipeline.learn import learn
    from ..pipeline.program import load_program
    from .callbacks import ShownProgress

    program = None if str(rules) == "-" else load_program(rules)
    config = WeightingConfig(**_settings_of(program) | DEFAULTS | _kinds_of(program) | settings)
    split = load_split(data, config.seed, program=program)
    given = _wanted(program, config)
    others = {*config.kinds} - {*WeightingConfig().kinds}
    if "chain" in config.kinds and not (config.num_candidates or others):
        _require_relations(given, list(split.relations), f"{rules} has no rule for the relations of {data}.")
    with locked(out):
        with open_workers(workers, out) as found, ShownProgress(quiet=as_json) as callbacks:
            plan = Plan(None, None, config)
            where = "cpu" if workers != "1" else device
            made = learn(split, plan, given=given, device=where, callbacks=callbacks, workers=found)
        blind = split.without_test()
        metrics = evaluate_parts(made, blind, ["valid"], "auto", as_json) if len(blind.valid) else {}
        made.numbers = None if program is None else program.numbers
        made.save(out, metrics)
    assert made.weighted_rules is not None
    _report(made.weighted_rules, out, metrics, as_json)


def _require_sound(settings: dict[str, Any]) -> None:
    """Raise for settings that make no sense, before anything is read."""
    config = WeightingConfig(**settings)
    if config.other_lengths and not config.num_candidates:
        raise ConfigError("--or-length is for mined rules. Mine some with --candidates.")


def _require_relations(rules: "list[Rule]", relations: list[str], message: str) -> None:
    if not any({*map(relation_of, (rule.target, *rule.body))} <= {*relations} for rule in rules):
        raise ConfigError(f"{message} Mine some with --candidates.")


def _report(weighted: "WeightedRules", out: Path, metrics: dict[str, Any], as_json: bool) -> None:
    counts = weighted.num_of_kinds
    if as_json:
        print_json({"model": str(out), "rules": len(weighted), "kinds": counts, **metrics})
        return
    if metrics:
        console.print(measures_table(metrics))
    kinds = ", ".join(f"{num:,} {kind}" for kind, num in counts.items())
    print_line(f"Weighted rules in {out}: {kinds or 'none'}.")


def _wanted(program: "Program | None", config: WeightingConfig) -> "list[Rule]":
    """Return the rules of a program that are of the kinds to weigh; raise where it has only others."""
    from ..pipeline.learn import rules_to_weigh

    offered = [] if program is None else list(rules_to_weigh(program, config.num_learned))
    wanted = [rule for rule in offered if rule.kind in config.kinds]
    if offered and not wanted:
        there = ", ".join(dict.fromkeys(rule.kind for rule in offered))
        raise ConfigError(f"The rules given are of kind {there}. Add it to --kinds, or give - for RULES.")
    return wanted


def _settings_of(program: "Program | None") -> dict[str, Any]:
    """Return the settings with which the rules of a model were weighted; none for other rules."""
    from ..pipeline.program import LearnedProgram

    config = program.plan.weighting if isinstance(program, LearnedProgram) else None
    return {} if config is None else {each.name: getattr(config, each.name) for each in fields(config)}


def _kinds_of(program: "Program | None") -> dict[str, Any]:
    """Return the setting `kinds` for the rules of a program, or nothing for the default.

    They are those of its rules, also where these are inverted for the inverse query.
    """
    from ..pipeline.program import LearnedProgram, RuleProgram
    from ..weighting.kinds import rules_as_candidates

    if isinstance(program, RuleProgram):
        inverted = rules_as_candidates(program.given, program.relations).values()
        found = [*program.given, *(candidate for own in inverted for candidate in own)]
        return {"kinds": tuple(dict.fromkeys(["chain", "prior", *(each.kind for each in found)]))}
    weighted = program.weighted_rules if isinstance(program, LearnedProgram) else None
    return {"kinds": tuple(weighted.num_of_kinds)} if weighted is not None and weighted.num_of_kinds else {}

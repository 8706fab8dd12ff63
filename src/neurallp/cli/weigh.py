"""`weigh`: weights for given rules, and for those found besides."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..config import KINDS
from ..errors import ConfigError, require_choice
from .inspect import held_out, judge_watched
from .options import Data, Device, Json, choose_device, load_split
from .output import console, measures_table, print_json, watched

if TYPE_CHECKING:
    from ..config import WeightingConfig
    from ..graph.knowledge_base import Split
    from ..pipeline.program import AnyProgram, WeightedProgram
    from ..rules.rule import Rule
    from ..weighting.fitting import Candidates
    from ..weighting.weighted_rules import WeightedRules


Kinds = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        show_default="chain,prior",
        help=f"Kinds of rules to weigh, of {', '.join(KINDS)}.",
    ),
]


def parse_kinds(kinds: str | None) -> dict[str, Any]:
    """Return the setting that a list of kinds stands for: none, where none is given."""
    if kinds is None:
        return {}
    chosen = tuple(kind.strip() for kind in kinds.split(","))
    for kind in chosen:
        require_choice("kinds", kind, tuple(KINDS))
    return {"kinds": chosen}


class MaskingName(StrEnum):
    """What a question may not see."""

    auto = "auto"
    fact = "fact"
    pair = "pair"
    both = "both"


def weigh(
    rules: Annotated[
        Path, typer.Argument(metavar="RULES", help="A file of rules, a model folder, or - for none.")
    ],
    data: Data,
    out: Annotated[Path, typer.Option(help="Where the weighted rules go.")] = Path("weighted"),
    mine: Annotated[
        int, typer.Option(min=0, help="Also weigh so many rules for each query, found between known pairs.")
    ] = 0,
    length: Annotated[int, typer.Option(min=1, help="Longest body to find.")] = 3,
    or_length: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Try this length too; each query keeps what validates best."),
    ] = None,
    max_rules: Annotated[
        int | None, typer.Option(min=1, show_default="all", help="Rules kept for each query.")
    ] = None,
    kinds: Kinds = None,
    masking: Annotated[
        MaskingName,
        typer.Option(
            help="What a question may not see: its own fact, all links of its pair, or both in turn."
        ),
    ] = MaskingName.auto,
    seed: Annotated[int, typer.Option(help="Fixes what is sampled.")] = 0,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn how much each rule of RULES counts.

    RULES is a file of rules, or a model folder: its weighted rules are taken, of all kinds that they are of
    unless --kinds says which; where there are none, the most confident that it learned. - is for none but
    those that --mine finds.
    """
    from ..config import WeightingConfig
    from ..io.models.neural import require_no_model
    from ..pipeline.learn import rules_as_candidates
    from ..pipeline.program import load_program

    require_no_model(out)
    if or_length and not mine:
        raise ConfigError("--or-length chooses among rules that are found. Find some with --mine.")
    program = None if str(rules) == "-" else load_program(rules)
    config = WeightingConfig(
        max_length=length,
        other_lengths=tuple(or_length or ()),
        num_candidates=mine,
        max_rules=max_rules,
        **parse_kinds(kinds) or _kinds_of(program),
        masking=masking.value,
        seed=seed,
    )
    split = load_split(data, seed)
    given = rules_as_candidates(_wanted(program, config), split.relations)
    if "chain" in config.kinds and not (given or mine or {*config.kinds} - {"chain", "prior"}):
        raise ConfigError(f"{rules} has no rule for the relations of {data}. Find some with --mine.")
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


def _wanted(program: "AnyProgram | None", config: "WeightingConfig") -> "list[Rule]":
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
    config: "WeightingConfig",
    given: "Candidates",
    device: str,
    quiet: bool,
) -> "WeightedProgram":
    """Weigh under a progress bar, which shows only on a terminal."""
    from ..pipeline.learn import weigh_rules

    with watched("Weighting", 2 * len(split.known.facts), quiet) as advance:
        return weigh_rules(split, config, given, advance, device)

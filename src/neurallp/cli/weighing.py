"""`weigh`: weights for given rules, and for those found besides."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from ..errors import ConfigError, require_choice
from .arguments import Data, Device, Json, choose_device, load_split
from .inspecting import judge_watched, kept_back
from .printing import console, measures_table, print_json, watched

if TYPE_CHECKING:
    from ..engine.evidence import Body
    from ..knowledge import Relations, Split
    from ..program import WeighedProgram
    from ..weighing import WeighingConfig


#: As rules.py has them, which help does not wait for.
KINDS = ("chain", "prior", "unary", "anchored", "mirrored")

Kinds = Annotated[
    str | None,
    typer.Option(
        metavar="KINDS",
        show_default="chain,prior",
        help=f"Kinds of rules to weigh, of {', '.join(KINDS)}; the last three on the CPU only.",
    ),
]


def parse_kinds(kinds: str | None) -> dict[str, Any]:
    """Return the setting that a list of kinds stands for: none, where none is given."""
    if kinds is None:
        return {}
    chosen = tuple(kind.strip() for kind in kinds.split(","))
    for kind in chosen:
        require_choice("kinds", kind, KINDS)
    return {"kinds": chosen}


class HidingName(StrEnum):
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
    out: Annotated[Path, typer.Option(help="Where the weighed rules go.")] = Path("weighed"),
    mine: Annotated[
        int, typer.Option(min=0, help="Also weigh so many rules for each query, found between known pairs.")
    ] = 0,
    length: Annotated[int, typer.Option(min=1, help="Longest body to find.")] = 3,
    max_rules: Annotated[
        int | None, typer.Option(min=1, show_default="all", help="Rules kept for each query.")
    ] = None,
    kinds: Kinds = None,
    hiding: Annotated[
        HidingName,
        typer.Option(
            help="What a question may not see: its own fact, all links of its pair, or both in turn."
        ),
    ] = HidingName.auto,
    seed: Annotated[int, typer.Option(help="Fixes what is sampled.")] = 0,
    device: Device = "auto",
    as_json: Json = False,
) -> None:
    """Learn how much each rule of RULES counts.

    RULES is a file of rules, or a model folder whose most confident rules are taken; - is for none but those
    that --mine finds.
    """
    from ..formats.models import has_model
    from ..weighing import WeighingConfig

    if has_model(out):
        raise ConfigError(f"{out} holds a model, which weighed rules would not fit. Give another --out.")
    config = WeighingConfig(
        max_length=length,
        num_candidates=mine,
        max_rules=max_rules,
        **parse_kinds(kinds),
        hiding=hiding.value,
        seed=seed,
    )
    split = load_split(data, seed)
    given = _given(rules, split.relations, config)
    if given and "chain" not in config.kinds:
        raise ConfigError(f"The rules of {rules} are chains. Add chain to --kinds, or give - for RULES.")
    if "chain" in config.kinds and not (given or mine or config.wants_clues):
        raise ConfigError(f"{rules} has no rule for the relations of {data}. Find some with --mine.")
    program = weigh_watched(split, config, given, choose_device(device), as_json)
    metrics = judge_watched(program, split, kept_back(split), "auto", as_json)
    program.save(out, metrics)
    if as_json:
        print_json({"model": str(out), "rules": len(program.weighed), **metrics})
        return
    if metrics:
        console.print(measures_table(metrics))
    console.print(f"{len(program.weighed):,} weighed rules in {escape(str(out))}.", soft_wrap=True)


def _given(path: Path, relations: "Relations", config: "WeighingConfig") -> "dict[int, list[Body]]":
    """Return the bodies of a file's rules, or of a model's, as the relations number them."""
    from ..program import Program, RuleProgram, bodies_of, candidates_of, load_program

    if str(path) == "-":
        return {}
    program = load_program(path)
    if isinstance(program, Program):
        return candidates_of(program.model, config, relations)
    if isinstance(program, RuleProgram):
        return bodies_of(program.rules, relations)
    return bodies_of(program.rules(limit=len(program.weighed) + 1, min_confidence=0.0), relations)


def weigh_watched(
    split: "Split",
    config: "WeighingConfig",
    given: "Mapping[int, Sequence[Body]]",
    device: str,
    quiet: bool,
) -> "WeighedProgram":
    """Weigh under a progress bar, which shows only on a terminal."""
    from ..program import weigh_rules

    with watched("Weighing", 2 * len(split.known.facts), quiet) as advance:
        return weigh_rules(split, config, given, advance, device)

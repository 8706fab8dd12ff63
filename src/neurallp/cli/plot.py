"""`plot curves`, `plot attention`, `plot rules` and `plot reliability`: pictures of a model."""

from pathlib import Path
from typing import Annotated

import typer

from .completion import complete_relation
from .options import Data, Json, Model, Source, load_split
from .output import note, print_json, print_line, progress

plot = typer.Typer(
    help="Pictures of a model: curves, attention, rules, reliability.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

DrawnRelation = Annotated[
    str,
    typer.Option(
        "--relation", autocompletion=complete_relation, help="The relation to draw (~name: its inverse)."
    ),
]
Out = Annotated[Path, typer.Option(help="A .png or .svg file.")]


@plot.command()
def curves(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model folders.")],
    out: Out = Path("curves.png"),
    as_json: Json = False,
) -> None:
    """Draw loss and validation MRR by epoch."""
    from ..pipeline.program import load_model
    from ..plots import draw_curves

    draw_curves({str(model): load_model(model).history for model in models}, out)
    _report(out, as_json)


@plot.command()
def attention(
    model: Model, relation: DrawnRelation, out: Out = Path("attention.png"), as_json: Json = False
) -> None:
    """Draw a query's attention: operators by steps, and memories."""
    from ..pipeline.program import load_model
    from ..plots import draw_attention

    draw_attention(load_model(model).model, relation, out)
    _report(out, as_json)


@plot.command()
def rules(
    model: Model,
    relation: DrawnRelation,
    limit: Annotated[int, typer.Option(min=1, help="Rules for, and rules against, to draw at most.")] = 8,
    out: Out = Path("rules.png"),
    as_json: Json = False,
) -> None:
    """Draw the rules of a query with the largest weights; those against an answer are dashed, below.

    Rules that name their answer or source are no chains from X to Y, and are counted but not drawn.
    """
    from ..pipeline.program import load_model
    from ..plots import draw_rules

    found = load_model(model).listings(relation, limit=100)
    sides = (found[0].reasons, found[0].against) if found else ()
    drawable = [[each.rule for each in side if each.rule.is_path_rule] for side in sides]
    draw_rules([rule for side in drawable for rule in side[:limit]], out)
    if num := sum(each.rule.names_entities for side in sides for each in side):
        note(f"Not drawn: {num:,} rules that name their answer or source; `neurallp rules` lists them.")
    _report(out, as_json)


@plot.command()
def reliability(model: Source, data: Data, out: Out = Path("reliability.png"), as_json: Json = False) -> None:
    """Draw how often answers are right on DATA's test part, by their probability.

    One curve is of sources that have known answers, one of those that have none.
    """
    from ..errors import ModelError
    from ..pipeline.calibrating import measure
    from ..pipeline.program import load_program
    from ..plots import draw_reliability

    program = load_program(model)
    if program.calibration is None:
        raise ModelError(f"{model} is not calibrated. Run `neurallp calibrate {model} {data}` first.")
    split = load_split(data, program.seed, program=program)
    with progress("Asking", quiet=as_json) as bar:
        found = measure(program.basis, program.calibration, split, bar.advance)
    draw_reliability({group: choices["shown"] for group, choices in found.items()}, out)
    _report(out, as_json)


def _report(out: Path, as_json: bool) -> None:
    print_json({"out": str(out)}) if as_json else print_line(str(out))

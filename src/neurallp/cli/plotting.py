"""`plot curves`, `plot attention` and `plot rules`: pictures of what was learned."""

from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from .arguments import Model
from .printing import console

plot = typer.Typer(
    help="Pictures of a model: training curves, attention, rules.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Query = Annotated[
    str, typer.Argument(metavar="QUERY", help="A relation, or `~relation` asked from the other end.")
]


Out = Annotated[Path, typer.Option(help="A .png or .svg file.")]


@plot.command()
def curves(
    models: Annotated[list[Path], typer.Argument(metavar="MODEL...", help="Model folders.")],
    out: Out = Path("curves.png"),
) -> None:
    """Draw loss and validation MRR by epoch."""
    from ..formats.models import read_history
    from ..plots import draw_curves

    draw_curves({str(model): read_history(model) for model in models}, out)
    _report(out)


@plot.command()
def attention(model: Model, query: Query, out: Out = Path("attention.png")) -> None:
    """Draw a query's attention: operators by steps, and memories."""
    from ..formats.models import read_model
    from ..plots import draw_attention

    draw_attention(read_model(model)[0].eval(), query, out)
    _report(out)


@plot.command()
def rules(
    model: Model,
    query: Query,
    limit: Annotated[int, typer.Option(min=1, help="Rules to draw, at most.")] = 8,
    out: Out = Path("rules.png"),
) -> None:
    """Draw the best rules of a query as chains."""
    from ..plots import draw_rules
    from ..program import load_model

    found = load_model(model).rules(query, limit=limit)
    draw_rules([rule for rule in found if rule.kind == "chain"], out)
    _report(out)


def _report(out: Path) -> None:
    console.print(escape(str(out)), soft_wrap=True)

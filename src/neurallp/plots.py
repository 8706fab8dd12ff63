"""Figures of training curves, attention, rules and reliability. PNG or SVG, by the suffix of the file.

Colours (Okabe and Ito, cividis) are distinguishable for colour-blind readers. Lines also differ in marker and
dash, and cells show their numbers, so figures are readable in greyscale.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ConfigError, require_choice
from .graph.arrays import Floats
from .graph.spelling import one_line
from .graph.vocabulary import is_inverse, relation_of
from .io.files import replacing
from .neural.model import NeuralLP
from .neural.training import Epoch
from .reasoning.reliability import NUM_BINS, Reliability
from .rules.rule import Rule, atom

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, darkest first, without yellow, which is invisible in print.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^Dv<P"
AGAINST = COLOURS[2]  # rules that lower scores
DASHES = ("-", "--", "-.", ":")
FORMATS = (".png", ".svg")

MAX_OPERATORS = 12  # rows of a heat map; one more row has the sum of all others
MIN_ATTENTION = 0.05  # at some step, for an operator to have its own row
MIN_LABEL = 0.01  # attention that is shown as a number


@contextmanager
def figure_at(path: Path, width: float, height: float) -> Iterator["Figure"]:
    """Yield a figure that is written to `path` when the block ends."""
    require_choice("The suffix of a figure", path.suffix.lower(), FORMATS)
    try:
        from matplotlib import rc_context
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("Figures need matplotlib: pip install 'neurallp[plots]'.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without a date and with a seed of the names of shapes, equal figures are equal files.
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
    with replacing(path) as file, rc_context({"svg.hashsalt": "neurallp"}):
        figure.savefig(file, format=path.suffix.lower()[1:], dpi=200, metadata=metadata)


def styles() -> Iterator[dict[str, Any]]:
    """Yield styles for lines that differ in colour, marker and dash."""
    for colour, marker, dash in zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False):
        yield {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4, "linewidth": 1.3}


# Training curves


def draw_curves(histories: Mapping[str, Sequence[Epoch]], path: Path) -> None:
    """Draw the loss and the validation MRR of runs by epoch; a ring marks the best epoch."""
    with figure_at(path, 8, 3.2) as figure:
        loss, valid = figure.subplots(1, 2)
        for (name, history), style in zip(histories.items(), styles(), strict=False):
            numbers = [epoch.number for epoch in history]
            loss.plot(numbers, [epoch.loss for epoch in history], label=name, **style)
            if evaluated := [epoch for epoch in history if epoch.valid_mrr is not None]:
                _draw_validation(valid, evaluated, style)
        loss.set(xlabel="epoch", ylabel="loss")
        valid.set(xlabel="epoch", ylabel="validation MRR (realistic)")
        for axes in (loss, valid):
            _style_axes(axes)
        if len(histories) > 1:
            loss.legend(fontsize=7, frameon=False)


def _draw_validation(axes: "Axes", history: Sequence[Epoch], style: dict[str, Any]) -> None:
    points = [(epoch.number, epoch.valid_mrr or 0.0) for epoch in history]
    axes.plot(*zip(*points, strict=True), **style)
    kept = [point for point, epoch in zip(points, history, strict=True) if epoch.is_best][-1:]
    ring = {"facecolors": "none", "edgecolors": style["color"], "s": 90, "linewidths": 1.5}
    axes.scatter(*zip(*kept, strict=True), **ring)


def _style_axes(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.locator_params(axis="x", integer=True)


# Attention


def draw_attention(model: NeuralLP, query: str, path: Path) -> None:
    """Draw the attention of a query over operators and memories by step, one row for each controller."""
    operator, memory = attend(model, query)
    names = [model.relations.operator_name(k) for k in range(model.relations.num_operators)]
    shown = [largest_operators(weights, names) for weights in operator]
    tall = 0.8 + sum(max(0.26 * len(labels), 1.6) + 0.6 for labels, _ in shown)
    with figure_at(path, 4.8 + 1.3 * memory.shape[1], tall) as figure:
        panels = figure.subplots(len(shown), 2, squeeze=False)
        for number, ((labels, weights), row) in enumerate(zip(shown, panels, strict=True), 1):
            steps = [f"{t + 1}" for t in range(operator.shape[1])]
            _heat_map(row[0], weights, labels, steps)
            slots = [f"$u_{t}$" for t in range(memory.shape[2])]
            _heat_map(row[1], memory[number - 1].T, slots, [*steps, "end"])
            which = f", controller {number}" if len(shown) > 1 else ""
            row[0].set(xlabel="step", title=f"operators{which}")
            row[1].set(xlabel="step", title=f"memories read{which}")
        figure.suptitle(f"Attention of {_short(query, 60)}")


def attend(model: NeuralLP, query: str) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return a_t (controller, step, operator) and b_t (controller, step, memory) of one query."""
    attention = model.attend(np.array([model.relations.operator_id(query)]))
    operator, memory = (each.detach().cpu().numpy()[:, 0] for each in attention.pair)
    return operator, memory


def largest_operators(
    weights: NDArray[np.floating], names: Sequence[str]
) -> tuple[list[str], NDArray[np.floating]]:
    """Return names and rows of operators with enough attention at some step, then the sum of the others."""
    order = np.argsort(-weights.max(axis=0), kind="stable")
    kept = [k for k in order[:MAX_OPERATORS] if weights[:, k].max() >= MIN_ATTENTION]
    rest = np.delete(weights, kept, axis=1)
    rows = weights[:, kept].T
    labels = [_short(names[k], 36) for k in kept]
    if rest.shape[1]:
        rows, labels = np.vstack([rows, rest.sum(axis=1)]), [*labels, f"{rest.shape[1]:,} others"]
    return labels, rows


def _heat_map(
    axes: "Axes", weights: NDArray[np.floating], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Draw weights between 0 and 1 as colours, the larger ones also as numbers."""
    axes.imshow(weights, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= MIN_LABEL:
            colour = "black" if weight > 0.5 else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=7, color=colour)


def _short(name: str, max_length: int) -> str:
    """Return a name as a text of a figure: on one line, and a long one without its beginning."""
    name = one_line(name)
    name = name if len(name) <= max_length else "…" + name[1 - max_length :]
    return name.replace("$", r"\$")  # what stands between two dollars would be a formula


# Rules


def draw_rules(rules: Sequence[Rule], path: Path) -> None:
    """Draw the rules of a query as chains from X to Y: one arrow for each atom, thicker with weight.

    Rules that speak against an answer come last, dashed and in another colour, under a heading.
    """
    if not rules:
        raise ConfigError(
            "There are no rules to draw. Lower the minimum confidence, or choose another query."
        )
    longest = max(max(len(rule.body) for rule in rules), 1)
    ordered = sorted(rules, key=lambda rule: rule.is_against)
    num_for = sum(not rule.is_against for rule in rules)
    rows = len(rules) + (num_for < len(rules))
    with figure_at(path, 3.2 + 2.2 * longest, 0.8 + 0.75 * rows) as figure:
        axes = figure.subplots()
        for number, rule in enumerate(ordered):
            _draw_rule(axes, rule, -number - rule.is_against, longest)
        if num_for < len(rules):
            axes.text(-0.5, -num_for, "against an answer:", va="center", fontsize=9, color=AGAINST)
        axes.set(xlim=(-0.6, longest + 0.35), ylim=(0.6 - rows, 0.6))
        axes.axis("off")
        axes.set_title(atom(_short(rules[0].target, 60), "X", "Y"), fontsize=11)


def _draw_rule(axes: "Axes", rule: Rule, height: float, longest: int) -> None:
    """Draw one chain; the arrow of an inverse points from Y towards X."""
    confidence = rule.normalized_confidence
    strength = confidence if rule.weight is None else rule.weight
    axes.text(-0.2, height, f"{strength:.2f}", ha="right", va="center", fontsize=9)
    places = np.linspace(0, longest, max(len(rule.body), 1) + 1)
    variables = rule.variables if rule.body else ["X = Y", ""]
    for operator, start, end in zip(rule.body, places, places[1:], strict=False):
        tail, head = (end, start) if is_inverse(operator) else (start, end)
        style = {
            "arrowstyle": "-|>",
            "linewidth": 0.6 + 3 * confidence,
            "color": AGAINST if rule.is_against else COLOURS[1],
            "linestyle": "--" if rule.is_against else "-",
            "shrinkA": 11,
            "shrinkB": 11,
        }
        axes.annotate("", (head, height), (tail, height), arrowprops=style)
        name = _short(relation_of(operator), int(34 * (end - start)))
        axes.text((start + end) / 2, height + 0.14, name, ha="center", va="bottom", fontsize=8)
    for variable, place in zip(variables, places, strict=False):
        box = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
        axes.text(
            place, height, variable, ha="center", va="center", fontsize=8, bbox=box if variable else None
        )


# Reliability

#: Answers from which on their fraction of right ones is drawn.
MIN_ANSWERS = 10


def draw_reliability(found: Mapping[str, Reliability], path: Path) -> None:
    """Draw the fraction of right answers against their probability, and below the number of answers."""
    with figure_at(path, 4.2, 4.8) as figure:
        fractions, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        fractions.plot((0, 1), (0, 1), color="0.6", linewidth=1, label="perfectly calibrated")
        edges = np.linspace(0, 1, NUM_BINS + 1)
        for (name, reliability), style in zip(found.items(), styles(), strict=False):
            label = f"{name} (error {reliability.ece:.3f})"
            fractions.plot(*_points(reliability), label=label, clip_on=False, **style)
            line = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 1.3}
            counts.hist(reliability.predicted, edges, weights=reliability.sizes, histtype="step", **line)
        fractions.set(ylabel="fraction right", xlim=(0, 1), ylim=(0, 1))
        counts.set(xlabel="predicted probability", ylabel="answers", yscale="log", ylim=(0.8, None))
        fractions.legend(fontsize=8, frameon=False, loc="best")
        for axes in (fractions, counts):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", linewidth=0.4, alpha=0.5)


def _points(found: Reliability) -> tuple[Floats, Floats]:
    """Return predicted and observed fractions, without those of few answers, which are chance."""
    enough = found.counts >= MIN_ANSWERS
    return found.predicted[enough], found.observed[enough]

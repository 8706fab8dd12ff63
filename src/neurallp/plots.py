"""Pictures of learning: training curves, attention, rules, reliability. PNG or SVG, by the name of the file.

Colours are Okabe and Ito's and the map is cividis: both are told apart by the colour-blind, and lines
differ by marker and dash besides, as cells do by their numbers, so that a print in grey says the same.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .errors import ConfigError, require_choice
from .graph.vocabulary import INVERSE_MARK
from .io.files import replacing
from .neural.model import NeuralLP
from .neural.training import Epoch
from .reasoning.calibration import NUM_BINS, Reliability
from .rules.rule import Rule

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

#: Okabe and Ito's colours, darkest first; yellow is left out, which print loses.
COLOURS = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00")
MARKERS = "os^Dv<P"
DASHES = ("-", "--", "-.", ":")
FORMATS = (".png", ".svg")

MOST_OPERATORS = 12  # rows of a heat map; what is left is summed up in one more
SMALLEST = 0.05  # attention that an operator must get at some step to have a row of its own
WRITTEN = 0.01  # attention that is written out


@contextmanager
def figure_at(path: Path, width: float, height: float) -> Iterator["Figure"]:
    """Give a figure that is written to `path` when the block ends; the suffix tells the format."""
    require_choice("The suffix of a picture", path.suffix.lower(), FORMATS)
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ConfigError("Pictures need more: pip install 'neurallp[plots]'.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    yield figure
    path.parent.mkdir(parents=True, exist_ok=True)
    # No date, so that equal pictures are equal files.
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else {}
    with replacing(path) as file:
        figure.savefig(file, format=path.suffix.lower()[1:], dpi=200, metadata=metadata)


def styles() -> Iterator[dict[str, Any]]:
    """Yield looks for lines, each different from the others in colour, marker and dash."""
    for colour, marker, dash in zip(cycle(COLOURS), cycle(MARKERS), cycle(DASHES), strict=False):
        yield {"color": colour, "marker": marker, "linestyle": dash, "markersize": 4, "linewidth": 1.3}


# Training curves


def draw_curves(histories: Mapping[str, Sequence[Epoch]], path: Path) -> None:
    """Draw the loss and the validation MRR of runs by epoch; a ring marks the epoch that was kept."""
    with figure_at(path, 8, 3.2) as figure:
        loss, valid = figure.subplots(1, 2)
        for (name, history), style in zip(histories.items(), styles(), strict=False):
            numbers = [epoch.number for epoch in history]
            loss.plot(numbers, [epoch.loss for epoch in history], label=name, **style)
            if judged := [epoch for epoch in history if epoch.valid_mrr is not None]:
                _curve_of_validation(valid, judged, style)
        loss.set(xlabel="epoch", ylabel="loss")
        valid.set(xlabel="epoch", ylabel="validation MRR (realistic)")
        for axes in (loss, valid):
            _tidy(axes)
        if len(histories) > 1:
            loss.legend(fontsize=7, frameon=False)


def _curve_of_validation(axes: "Axes", history: Sequence[Epoch], style: dict[str, Any]) -> None:
    points = [(epoch.number, epoch.valid_mrr or 0.0) for epoch in history]
    axes.plot(*zip(*points, strict=True), **style)
    kept = [point for point, epoch in zip(points, history, strict=True) if epoch.is_best][-1:]
    ring = {"facecolors": "none", "edgecolors": style["color"], "s": 90, "linewidths": 1.5}
    axes.scatter(*zip(*kept, strict=True), **ring)


def _tidy(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", linewidth=0.4, alpha=0.5)
    axes.locator_params(axis="x", integer=True)


# Attention


def draw_attention(model: NeuralLP, query: str, path: Path) -> None:
    """Draw what the controller says of a query: operators by steps, and memories by steps, a row a rank."""
    operator, memory = _attention(model, query)
    names = [model.relations.operator_name(k) for k in range(model.relations.num_operators)]
    shown = [_largest(rank, names) for rank in operator]
    tall = 0.8 + sum(max(0.26 * len(labels), 1.6) + 0.6 for labels, _ in shown)
    with figure_at(path, 4.8 + 1.3 * memory.shape[1], tall) as figure:
        panels = figure.subplots(len(shown), 2, squeeze=False)
        for number, ((labels, weights), row) in enumerate(zip(shown, panels, strict=True), 1):
            steps = [f"{t + 1}" for t in range(operator.shape[1])]
            _heat_map(row[0], weights, labels, steps)
            slots = [f"$u_{t}$" for t in range(memory.shape[2])]
            _heat_map(row[1], memory[number - 1].T, slots, [*steps, "end"])
            rank = f", rank {number}" if len(shown) > 1 else ""
            row[0].set(xlabel="step", title=f"operators{rank}")
            row[1].set(xlabel="step", title=f"memories read{rank}")
        figure.suptitle(f"Attention of {_short(query, 60)}")


def _attention(model: NeuralLP, query: str) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """Return a_t (rank, step, operator) and b_t (rank, step, slot) of one query."""
    attention = model.attend(np.array([model.relations.operator_id(query)]))
    operator, memory = (each.detach().cpu().numpy()[:, 0] for each in attention.pair)
    return operator, memory


def _largest(weights: NDArray[np.floating], names: Sequence[str]) -> tuple[list[str], NDArray[np.floating]]:
    """Return the operators that matter at some step, as rows, and below them the sum of all others."""
    order = np.argsort(-weights.max(axis=0), kind="stable")
    kept = [k for k in order[:MOST_OPERATORS] if weights[:, k].max() >= SMALLEST]
    rest = np.delete(weights, kept, axis=1)
    rows = weights[:, kept].T
    labels = [_short(names[k], 36) for k in kept]
    if rest.shape[1]:
        rows, labels = np.vstack([rows, rest.sum(axis=1)]), [*labels, f"{rest.shape[1]:,} others"]
    return labels, rows


def _heat_map(
    axes: "Axes", weights: NDArray[np.floating], rows: Sequence[str], columns: Sequence[str]
) -> None:
    """Draw weights between 0 and 1 as colours, the larger ones written out besides."""
    axes.imshow(weights, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    axes.set_xticks(range(len(columns)), columns, fontsize=8)
    axes.set_yticks(range(len(rows)), rows, fontsize=8)
    for (row, column), weight in np.ndenumerate(weights):
        if weight >= WRITTEN:
            colour = "black" if weight > 0.5 else "white"
            axes.text(column, row, f"{weight:.2f}", ha="center", va="center", fontsize=7, color=colour)


def _short(name: str, most: int) -> str:
    """Return a name that fits; the end of a long one tells most."""
    return name if len(name) <= most else "…" + name[1 - most :]


# Rules


def draw_rules(rules: Sequence[Rule], path: Path) -> None:
    """Draw the rules of a query as chains from X to Y: an arrow an atom, the more confident the thicker."""
    if not rules:
        raise ConfigError("There are no rules to draw. Ask for more, or of less confidence.")
    longest = max(max(len(rule.body) for rule in rules), 1)
    with figure_at(path, 3.2 + 2.2 * longest, 0.8 + 0.75 * len(rules)) as figure:
        axes = figure.subplots()
        for number, rule in enumerate(rules):
            _draw_rule(axes, rule, -number, longest)
        axes.set(xlim=(-0.6, longest + 0.35), ylim=(0.6 - len(rules), 0.6))
        axes.axis("off")
        axes.set_title(f"{_short(rules[0].target, 60)}(X, Y)", fontsize=11)


def _draw_rule(axes: "Axes", rule: Rule, height: float, longest: int) -> None:
    """Draw one chain; an inverse is an arrow against the way that is walked."""
    share = rule.normalized_confidence
    axes.text(-0.2, height, f"{share:.2f}", ha="right", va="center", fontsize=9)
    places = np.linspace(0, longest, max(len(rule.body), 1) + 1)
    variables = rule.variables if rule.body else ["X = Y", ""]
    for operator, start, end in zip(rule.body, places, places[1:], strict=False):
        inverse = operator.startswith(INVERSE_MARK)
        tail, head = (end, start) if inverse else (start, end)
        look = {
            "arrowstyle": "-|>",
            "linewidth": 0.6 + 3 * share,
            "color": COLOURS[1],
            "shrinkA": 11,
            "shrinkB": 11,
        }
        axes.annotate("", (head, height), (tail, height), arrowprops=look)
        name = _short(operator.removeprefix(INVERSE_MARK), int(34 * (end - start)))
        axes.text((start + end) / 2, height + 0.14, name, ha="center", va="bottom", fontsize=8)
    for variable, place in zip(variables, places, strict=False):
        box = {"boxstyle": "circle", "facecolor": "white", "edgecolor": "black", "linewidth": 0.8}
        axes.text(
            place, height, variable, ha="center", va="center", fontsize=8, bbox=box if variable else None
        )


# Reliability


def draw_reliability(found: Mapping[str, Reliability], path: Path) -> None:
    """Draw how often answers are right against what was said of them, and below how many they are."""
    with figure_at(path, 4.2, 4.8) as figure:
        chances, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        chances.plot((0, 1), (0, 1), color="0.6", linewidth=1, label="all as said")
        edges = np.linspace(0, 1, NUM_BINS + 1)
        for (name, judged), style in zip(found.items(), styles(), strict=False):
            label = f"{name} (error {judged.ece:.3f})"
            chances.plot(judged.predicted, judged.observed, label=label, clip_on=False, **style)
            line = {"color": style["color"], "linestyle": style["linestyle"], "linewidth": 1.3}
            counts.hist(judged.predicted, edges, weights=judged.counts, histtype="step", **line)
        chances.set(ylabel="fraction right", xlim=(0, 1), ylim=(0, 1))
        counts.set(xlabel="what is said of an answer", ylabel="answers", yscale="log", ylim=(0.8, None))
        chances.legend(fontsize=8, frameon=False, loc="best")
        for axes in (chances, counts):
            axes.spines[["top", "right"]].set_visible(False)
            axes.grid(axis="y", linewidth=0.4, alpha=0.5)

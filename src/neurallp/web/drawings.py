"""Drawings for pages, as SVG whose colours come from the style sheet: bars, curves, rules, heat maps."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from markupsafe import Markup

from ..graph.vocabulary import is_inverse, relation_of

if TYPE_CHECKING:
    from ..rules.rule import Rule

#: Points of a curve, between 0 and 1.
Points = Sequence[tuple[float, float]]

LETTER, BOX, GAP, MIN_LINK = 6.6, 26, 14, 56  # widths in pixels
MAX_LABEL = 34  # letters of a relation's name in a drawing

CURVE_WIDTH, CURVE_HEIGHT, LEFT, BOTTOM = 360, 200, 40, 30


def bar(value: float | None, largest: float = 1.0, label: str = "") -> Markup:
    """Return a bar as long as a value, of the kind `against` where it is below 0."""
    if value is None:
        return Markup("")
    length = 100 * min(1.0, abs(value) / (largest or 1.0))
    kind = "against" if value < 0 else "for"
    return Markup(
        '<svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" role="img" aria-label="{}">'
        '<rect class="rail" width="100" height="8"/><rect class="{}" width="{:.1f}" height="8"/></svg>'
    ).format(label or f"{value:.2f}", kind, length)


def two_sided_bar(value: float, largest: float) -> Markup:
    """Return a bar from the middle to the right, or to the left where a value is below 0."""
    length = 50 * min(1.0, abs(value) / (largest or 1.0))
    start, kind = (50 - length, "against") if value < 0 else (50, "for")
    return Markup(
        '<svg class="bar wide" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">'
        '<rect class="rail" width="100" height="8"/>'
        '<rect class="{}" x="{:.1f}" width="{:.1f}" height="8"/><rect class="middle" x="49.8" width=".4" '
        'height="8"/></svg>'
    ).format(kind, start, length)


# Rules


def draw_rule(rule: "Rule") -> Markup:
    """Return a small drawing of a path rule: variables in circles, an arrow for each atom of the body."""
    if not rule.is_path_rule or not rule.body:
        return Markup("")
    names = [_shorten(relation_of(operator)) for operator in rule.body]
    widths = [max(MIN_LINK, LETTER * len(name) + GAP) for name in names]
    places = [BOX / 2 + 1.0]
    for width in widths:
        places.append(places[-1] + BOX + width)
    links = [
        _link(operator, name, start, end)
        for operator, name, start, end in zip(rule.body, names, places, places[1:], strict=False)
    ]
    circles = [_circle(name, x) for name, x in zip(rule.variables, places, strict=True)]
    total = places[-1] + BOX / 2 + 1
    head = Markup(
        '<svg class="rule" viewBox="0 0 {w:.0f} 40" width="{w:.0f}" height="40" role="img" aria-label="{}">'
    ).format(rule.body_text, w=total)
    return head + Markup("").join([*links, *circles]) + Markup("</svg>")


def _link(operator: str, name: str, start: float, end: float) -> Markup:
    left, right = start + BOX / 2, end - BOX / 2
    tip, back, foot = (left, 7, right) if is_inverse(operator) else (right, -7, left)
    return Markup(
        '<line x1="{:.1f}" y1="26" x2="{:.1f}" y2="26"/><polygon points="{t:.1f},26 {b:.1f},22 {b:.1f},30"/>'
        '<text x="{:.1f}" y="17">{}</text>'
    ).format(foot, tip + back, (left + right) / 2, name, t=tip, b=tip + back)


def _circle(name: str, x: float) -> Markup:
    return Markup(
        '<circle cx="{x:.1f}" cy="26" r="12"/><text class="variable" x="{x:.1f}" y="30">{}</text>'
    ).format(name, x=x)


def _shorten(name: str) -> str:
    """Return the end of a name, which in a path of names says most."""
    return name if len(name) <= MAX_LABEL else "…" + name[1 - MAX_LABEL :]


# Curves


def curves(lines: Iterable[tuple[str, Points]], labels: tuple[str, str], description: str) -> Markup:
    """Return curves of values between 0 and 1, with axes; each line has a dash of its own."""
    width, height = CURVE_WIDTH - LEFT - 8, CURVE_HEIGHT - BOTTOM - 8
    parts = []
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        y, x = 8 + height * (1 - value), LEFT + width * value
        parts.append(Markup('<line class="grid" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>').format(
            LEFT, LEFT + width, y=y))
        parts.append(Markup('<text class="tick end" x="{}" y="{:.1f}">{:g}</text>').format(LEFT - 5, y + 4, value))
        parts.append(Markup('<text class="tick" x="{:.1f}" y="{}">{:g}</text>').format(x, CURVE_HEIGHT - 16, value))
    for number, (_, points) in enumerate(lines):
        drawn = " ".join(f"{LEFT + width * x:.1f},{8 + height * (1 - y):.1f}" for x, y in points)
        parts.append(Markup('<polyline class="line line{}" points="{}"/>').format(number % 4, drawn))
    x, y = labels
    parts.append(Markup('<text class="tick" x="{:.1f}" y="{}">{}</text>').format(
        LEFT + width / 2, CURVE_HEIGHT - 2, x))
    parts.append(Markup('<text class="tick" transform="translate(10 {:.1f}) rotate(-90)">{}</text>').format(
        8 + height / 2, y))
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">').format(
        CURVE_WIDTH, CURVE_HEIGHT, description)
    return head + Markup("").join(parts) + Markup("</svg>")


# Heat maps

CELL_WIDTH, CELL_HEIGHT = 54, 24


def heat_map(rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], label: str) -> Markup:
    """Return values between 0 and 1 as cells, from light to strong, the larger ones also as numbers."""
    left = 16 + LETTER * max([len(_shorten(row)) for row in rows], default=0)
    size = left + CELL_WIDTH * len(columns), 24 + CELL_HEIGHT * len(rows)
    parts = [
        Markup('<text class="tick" x="{:.1f}" y="16">{}</text>').format(left + CELL_WIDTH * (i + 0.5), column)
        for i, column in enumerate(columns)
    ]
    for j, (row, own) in enumerate(zip(rows, values, strict=True)):
        y = 24 + CELL_HEIGHT * j
        parts.append(Markup('<text class="tick end" x="{:.1f}" y="{}">{}</text>').format(left - 8, y + 16, _shorten(row)))
        parts += [_cell(left + CELL_WIDTH * i, y, value) for i, value in enumerate(own)]
    head = Markup('<svg class="heat" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}" role="img" '
                  'aria-label="{}">').format(label, w=size[0], h=size[1])
    return head + Markup("").join(parts) + Markup("</svg>")


def _cell(x: float, y: float, value: float) -> Markup:
    strong = " strong" if value > 0.5 else ""
    number = f"{value:.2f}" if value >= 0.01 else ""
    return Markup(
        '<rect class="cell" x="{:.1f}" y="{}" width="{}" height="{}" fill-opacity="{:.2f}"/>'
        '<text class="tick{}" x="{:.1f}" y="{}">{}</text>'
    ).format(x + 1, y + 1, CELL_WIDTH - 2, CELL_HEIGHT - 2, 0.06 + 0.94 * min(1.0, value), strong,
             x + CELL_WIDTH / 2, y + 16, number)

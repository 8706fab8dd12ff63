"""Drawings for pages, as SVG whose colours come from the style sheet: bars, curves, rules, heat maps."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from markupsafe import Markup

from ..graph.vocabulary import is_inverse, relation_of

#: Points of a curve, between 0 and 1.
Points = Sequence[tuple[float, float]]

LETTER, BOX, GAP, MIN_LINK = 6.6, 26, 14, 56  # widths in pixels
MAX_LABEL = 34  # letters of a relation's name in a drawing

WIDTH, HEIGHT, LEFT, BOTTOM, MARGIN = 400, 240, 44, 34, 8  # of a curve

#: A curve of at most so many points has a dot for each.
MAX_DOTS = 20


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


def draw_rule(body: Sequence[str]) -> Markup:
    """Return a small drawing of a chain: variables in circles, an arrow for each operator of the body."""
    if not body:
        return Markup("")
    names = [_shorten(relation_of(operator)) for operator in body]
    variables = ["X", *(chr(ord("A") + place) for place in range(len(body) - 1)), "Y"]
    places = [BOX / 2 + 1.0]
    for name in names:
        places.append(places[-1] + BOX + max(MIN_LINK, LETTER * len(name) + GAP))
    links = [
        _link(operator, name, start, end)
        for operator, name, start, end in zip(body, names, places, places[1:], strict=False)
    ]
    circles = [_circle(name, x) for name, x in zip(variables, places, strict=True)]
    head = Markup(
        '<svg class="rule" viewBox="0 0 {w:.0f} 40" width="{w:.0f}" height="40" aria-hidden="true">'
    )
    return head.format(w=places[-1] + BOX / 2 + 1) + Markup("").join([*links, *circles]) + Markup("</svg>")


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


class Line(Protocol):
    """A curve: points whose coordinates lie between 0 and 1."""

    @property
    def points(self) -> Sequence[Any]:
        """The points, each with x and y."""
        ...


def curves(
    lines: Iterable[Line], labels: tuple[str, str], description: str, diagonal: bool = False
) -> Markup:
    """Return curves with axes from 0 to 1; each line has a colour and a dash of its own."""
    parts = [_axes(*labels)]
    if diagonal:
        parts.append(Markup('<polyline class="grid" points="{}"/>').format(_way([(0, 0), (1, 1)])))
    for number, line in enumerate(lines):
        points = [(point.x, point.y) for point in line.points]
        parts.append(Markup('<polyline class="line line{}" points="{}"/>').format(number % 4, _way(points)))
        parts += [_dot(number, *point) for point in points if len(points) <= MAX_DOTS]
    head = Markup('<svg class="chart" viewBox="0 0 {} {}" role="img" aria-label="{}">')
    return head.format(WIDTH, HEIGHT, description) + Markup("").join(parts) + Markup("</svg>")


def _axes(x_label: str, y_label: str) -> Markup:
    parts = []
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = _place(value, value)
        line = Markup('<line class="grid" x1="{}" x2="{}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(line.format(LEFT, WIDTH - MARGIN, y=y))
        parts.append(
            Markup('<text class="tick end" x="{}" y="{:.1f}">{:g}</text>').format(LEFT - 5, y + 4, value)
        )
        parts.append(Markup('<text class="tick" x="{:.1f}" y="{}">{:g}</text>').format(x, HEIGHT - 16, value))
    middle = _place(0.5, 0.5)
    parts.append(
        Markup('<text class="tick" x="{:.1f}" y="{}">{}</text>').format(middle[0], HEIGHT - 2, x_label)
    )
    turned = Markup('<text class="tick" transform="translate(13 {:.1f}) rotate(-90)">{}</text>')
    parts.append(turned.format(middle[1], y_label))
    return Markup("").join(parts)


def _dot(number: int, x: float, y: float) -> Markup:
    place = _place(x, y)
    return Markup('<circle class="dot line{}" cx="{:.1f}" cy="{:.1f}" r="3"/>').format(number % 4, *place)


def _place(x: float, y: float) -> tuple[float, float]:
    return LEFT + (WIDTH - LEFT - MARGIN) * x, MARGIN + (HEIGHT - BOTTOM - MARGIN) * (1 - y)


def _way(points: Points) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in (_place(*point) for point in points))


# Heat maps

CELL_WIDTH, CELL_HEIGHT = 54, 24


def heat_map(
    rows: Sequence[str], columns: Sequence[str], values: Sequence[Sequence[float]], label: str
) -> Markup:
    """Return values between 0 and 1 as cells, from light to strong, the larger ones also as numbers."""
    left = 16 + LETTER * max([len(_shorten(row)) for row in rows], default=0)
    size = left + CELL_WIDTH * len(columns), 24 + CELL_HEIGHT * len(rows)
    parts = [
        Markup('<text class="tick" x="{:.1f}" y="16">{}</text>').format(left + CELL_WIDTH * (i + 0.5), column)
        for i, column in enumerate(columns)
    ]
    for j, (row, own) in enumerate(zip(rows, values, strict=True)):
        y = 24 + CELL_HEIGHT * j
        parts.append(
            Markup('<text class="tick end" x="{:.1f}" y="{}">{}</text>').format(
                left - 8, y + 16, _shorten(row)
            )
        )
        parts += [_cell(left + CELL_WIDTH * i, y, value) for i, value in enumerate(own)]
    head = Markup(
        '<svg class="heat" viewBox="0 0 {w:.0f} {h:.0f}" width="{w:.0f}" height="{h:.0f}" role="img" '
        'aria-label="{}">'
    ).format(label, w=size[0], h=size[1])
    return head + Markup("").join(parts) + Markup("</svg>")


def _cell(x: float, y: float, value: float) -> Markup:
    strong = " strong" if value > 0.5 else ""
    number = f"{value:.2f}" if value >= 0.01 else ""
    return Markup(
        '<rect class="cell" x="{:.1f}" y="{}" width="{}" height="{}" fill-opacity="{:.2f}"/>'
        '<text class="tick{}" x="{:.1f}" y="{}">{}</text>'
    ).format(
        x + 1,
        y + 1,
        CELL_WIDTH - 2,
        CELL_HEIGHT - 2,
        0.06 + 0.94 * min(1.0, value),
        strong,
        x + CELL_WIDTH / 2,
        y + 16,
        number,
    )

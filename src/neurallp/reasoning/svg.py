"""Drawings of proofs in SVG: each entity is one box, facts are arrows, as wide as what they contribute.

Only what every viewer knows is used: labels stand on white boxes of their own, and arrow heads are triangles.
"""

from collections.abc import Iterable, Sequence
from math import hypot
from typing import NamedTuple
from unicodedata import east_asian_width

from ..graph.spelling import as_html, one_line
from ..graph.vocabulary import is_inverse, relation_of

#: The body, the entities and the contribution of one reason.
DrawnPath = tuple[Sequence[str], Sequence[str], float]
Point = tuple[float, float]

LETTER, SMALL_LETTER, PADDING = 7.4, 6.2, 10  # pixels of a letter in a box and in a label, and beside a name
BOX_HEIGHT, LANE, GAP, TOP = 28, 84, 60, 58
MAX_WIDTH, HEAD = 9.0, 8  # of the line of the largest contribution, and the length of an arrow head

#: The label on the line of a path without links, whose ends are the same entity.
SAME = "="

FOR, AGAINST = "#3f6fb0", "#c05a1c"
FONT = 'font-family="sans-serif"'


class Link(NamedTuple):
    """A fact between two entities, and the sum of the contributions of the reasons that use it."""

    operator: str
    source: str
    target: str


def draw_paths(title: str, source: str, answer: str, paths: Sequence[DrawnPath]) -> str:
    """Return an SVG of all facts between one source, at the left, and one answer, at the right."""
    columns = _columns(source, answer, paths)
    links = _links(source, answer, paths)
    places, width, height = _place(columns, links, title)
    largest = max((abs(amount) for amount in links.values()), default=1.0) or 1.0
    drawn = _draw_links(links, places, largest)
    boxes = [_box(name, point, name in (source, answer)) for name, point in places.items()]
    heading = (
        f'<text x="{width / 2:g}" y="26" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#222" {FONT}>{as_html(title)}</text>'
    )
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    parts = [f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>', heading, *drawn, *boxes]
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n' + "\n".join(parts) + "\n</svg>\n"


# Where everything stands


def _columns(source: str, answer: str, paths: Sequence[DrawnPath]) -> list[list[str]]:
    """Return the entities of each column; an entity stands once, in the first column of any path."""
    last = max([1, *(len(path) - 1 for _, path, _ in paths)])
    column_of = {source: 0, answer: last}
    for _, path, _ in paths:
        for position, name in enumerate(path[1:-1], 1):
            column_of[name] = (
                min(column_of.get(name, position), max(position, 1)) if name in column_of else position
            )
    column_of[source] = 0
    if answer != source:
        column_of[answer] = last
    return [[name for name, place in column_of.items() if place == column] for column in range(last + 1)]


def _links(source: str, answer: str, paths: Sequence[DrawnPath]) -> dict[Link, float]:
    """Return each fact once, from its head to its tail, with the sum of what its paths contribute."""
    links: dict[Link, float] = {}
    for body, path, amount in paths:
        steps = list(zip(body, path, path[1:], strict=False)) or [(SAME, source, answer)]
        for operator, start, end in steps:
            head, tail = (end, start) if is_inverse(operator) else (start, end)
            link = Link(relation_of(operator), head, tail)
            links[link] = links.get(link, 0.0) + amount
    return links


def _place(
    columns: list[list[str]], links: Iterable[Link], title: str
) -> tuple[dict[str, Point], float, float]:
    """Return the middle of each box, and the size of the picture: wide enough for every name and label."""
    label = max([0.0, *(_text_width(link.operator + " +00.00", SMALL_LETTER) for link in links)])
    widths = [max([40.0, *(_box_width(name) for name in names)]) for names in columns]
    height = TOP + LANE * max(1, *map(len, columns)) + 10
    places, left = {}, 20.0
    for names, width in zip(columns, widths, strict=True):
        for number, name in enumerate(names):
            lane = (height - TOP - 10) / len(names)
            places[name] = (left + width / 2, TOP + lane * (number + 0.5))
        left += width + label + GAP
    total = max(left - label - GAP + 20, _text_width(title, 8.6) + 40)
    return places, total, height


def _box_width(name: str) -> float:
    return _text_width(name, LETTER) + 2 * PADDING


def _text_width(text: str, letter: float) -> float:
    return letter * sum(map(_width, one_line(text)))


def _width(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return 2.0
    if letter in "MWmw@%":
        return 1.6
    return 1.2 if letter.isupper() else 1.0


# What is drawn


class Curve(NamedTuple):
    """A quadratic curve from the edge of one box to that of another."""

    start: Point
    control: Point
    end: Point

    def at(self, t: float) -> Point:
        """Return the point at a share of the way."""
        a, b, c = (1 - t) ** 2, 2 * t * (1 - t), t * t
        x, y = (a * p + b * q + c * r for p, q, r in zip(*self, strict=True))
        return x, y


#: Where along its arrow a label may stand, the best place first.
LABEL_PLACES = (0.5, 0.4, 0.6, 0.32, 0.68, 0.25, 0.75)


def _draw_links(links: dict[Link, float], places: dict[str, Point], largest: float) -> list[str]:
    """Return all arrows, then all labels; arrows between the same two entities are bent apart."""
    between: dict[frozenset[str], list[Link]] = {}
    for link in links:
        between.setdefault(frozenset(link[1:]), []).append(link)
    drawn, labels = [], []
    taken = [(x, y, _box_width(name), float(BOX_HEIGHT)) for name, (x, y) in places.items()]
    for group in between.values():
        for number, link in enumerate(group):
            curve = _curve(link, places, (number - (len(group) - 1) / 2) * 46)
            drawn.append(_arrow(link, curve, links[link], largest))
            labels.append(_label(link.operator, links[link], curve, taken))
    return drawn + labels


def _curve(link: Link, places: dict[str, Point], bend: float) -> Curve:
    """Return the way of an arrow from head to tail; a fact about one entity is a loop above its box."""
    start, end = places[link.source], places[link.target]
    if link.source == link.target:
        x, y = start[0], start[1] - BOX_HEIGHT / 2
        return Curve((x - 14, y), (x, y - 60), (x + 14, y))
    if abs(start[0] - end[0]) < 1:  # a straight line would run through the boxes between two in one column
        bend = bend or 60.0
    control = _control(start, end, bend or (LANE / 2 if _is_blocked(link, places) else 0.0))
    return Curve(_edge(link.source, start, control), control, _edge(link.target, end, control))


def _is_blocked(link: Link, places: dict[str, Point]) -> bool:
    """Return whether a straight line between the two boxes of a link would run through another box."""
    start, end = places[link.source], places[link.target]
    line = Curve(start, ((start[0] + end[0]) / 2, (start[1] + end[1]) / 2), end)
    points = [(*line.at(t), 1.0, 1.0) for t in (0.25, 0.375, 0.5, 0.625, 0.75)]
    others = [
        (x, y, _box_width(name), float(BOX_HEIGHT)) for name, (x, y) in places.items() if name not in link[1:]
    ]
    return any(_overlap(point, box) for point in points for box in others)


def _arrow(link: Link, curve: Curve, amount: float, largest: float) -> str:
    """Return an arrow, dashed where it speaks against the answer; equal entities have a plain line."""
    width = 1.2 + (MAX_WIDTH - 1.2) * abs(amount) / largest
    colour, dash = (AGAINST, ' stroke-dasharray="7 4"') if amount < 0 else (FOR, "")
    head, stop = ("", curve.end) if link.operator == SAME else _head(curve, width, colour)
    (x1, y1), (x, y), (x2, y2) = curve.start, curve.control, stop
    way = f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"
    line = f'<path class="link" d="{way}" stroke="{colour}" stroke-width="{width:.1f}" fill="none"{dash}/>'
    return line + head


def _control(start: Point, end: Point, bend: float) -> Point:
    """Return the control point of a curve that is bent sideways by `bend` pixels."""
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy) or 1.0
    sign = 1 if (dx, dy) > (0, 0) else -1  # arrows in both directions bend apart, not onto each other
    return (
        (start[0] + end[0]) / 2 - sign * 2 * bend * dy / length,
        (start[1] + end[1]) / 2 + sign * 2 * bend * dx / length,
    )


def _edge(name: str, middle: Point, towards: Point) -> Point:
    """Return where the line from the middle of a box towards a point leaves the box."""
    dx, dy = towards[0] - middle[0], towards[1] - middle[1]
    half_width, half_height = _box_width(name) / 2 + 3, BOX_HEIGHT / 2 + 3
    scale = min(half_width / abs(dx) if dx else 1e9, half_height / abs(dy) if dy else 1e9)
    return middle[0] + dx * scale, middle[1] + dy * scale


def _head(curve: Curve, width: float, colour: str) -> tuple[str, Point]:
    """Return an arrow head, a triangle, and where its line ends."""
    (bx, by), (x, y) = curve.control, curve.end
    length = hypot(x - bx, y - by) or 1.0
    dx, dy = (x - bx) / length, (y - by) / length
    size = HEAD + width
    stop = x - size * dx, y - size * dy
    half = 4 + width / 2
    corners = [(x, y), *((stop[0] - s * half * dy, stop[1] + s * half * dx) for s in (1, -1))]
    points = " ".join(f"{px:.1f},{py:.1f}" for px, py in corners)
    return f'<polygon points="{points}" fill="{colour}"/>', stop


Rectangle = tuple[float, float, float, float]  # the middle, the width and the height


def _label(operator: str, amount: float, curve: Curve, taken: list[Rectangle]) -> str:
    """Return the name of a relation and its contribution on a white box, at the first place that is free."""
    text = operator if operator == SAME else f"{operator} {amount:+.2f}"
    width = _text_width(text, SMALL_LETTER) + 6
    tried = [(*curve.at(t), width, 18.0) for t in LABEL_PLACES]
    place = next((each for each in tried if not any(_overlap(each, other) for other in taken)), tried[0])
    taken.append(place)
    x, y, *_ = place
    box = f'<rect x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width:.1f}" height="18" fill="#fff"/>'
    return (
        f'<g class="label">{box}<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" '
        f'fill="#333" {FONT}>{as_html(text)}</text></g>'
    )


def _overlap(one: Rectangle, other: Rectangle) -> bool:
    (x, y, width, height), (x2, y2, width2, height2) = one, other
    return abs(x - x2) < (width + width2) / 2 and abs(y - y2) < (height + height2) / 2


def _box(name: str, point: Point, is_end: bool) -> str:
    (x, y), width = point, _box_width(name)
    fill, ink, kind = ("#2f5486", "#fff", "end") if is_end else ("#eef3fb", "#222", "entity")
    return (
        f'<g class="{kind}"><rect x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT}" rx="6" fill="{fill}" stroke="#5b7db1"/><text x="{x:.1f}" y="{y + 5:.1f}" '
        f'text-anchor="middle" font-size="13" fill="{ink}" {FONT}>{as_html(name)}</text></g>'
    )

"""Where the parts of a drawn proof stand: boxes in columns, arrows between them, and a free place per label.

Entities stand in columns by their place on a path. Links between neighbouring columns are short curves; those
that lead past a column are arcs above or below all boxes. A label stands on its own arrow, overlaps no box
and no other label, and covers as little of other arrows as possible. Where there is no such place, the
drawing grows.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from math import hypot
from typing import Any, NamedTuple
from unicodedata import east_asian_width

import numpy as np
from numpy.typing import NDArray

from ..graph.spelling import one_line

Point = tuple[float, float]
Rectangle = tuple[float, float, float, float]  # the middle, the width and the height
Points = NDArray[Any]  # (point, 2)

LETTER, SMALL_LETTER, PADDING = 7.4, 6.2, 10  # pixels of a letter in a box and in a label, and beside a name
BOX_HEIGHT, LABEL_HEIGHT = 28, 18
LANE, ARC, GAP, MARGIN = 64, 30, 56, 20  # height of a box's lane and of an arc's, between columns, outside
STEEP = 10  # between columns for every box of the tallest one: arrows are not too steep
BEND = 34  # between arrows of the same two entities
CLEAR = 4.0  # between a label and what it may not touch

#: How much a drawing grows until every label has a place.
STRETCHES = (1.0, 1.2, 1.45, 1.75, 2.2, 3.0)

#: Where along its arrow a label may stand, the best place first, and where other arrows are looked at.
LABEL_SHARES = np.array(sorted(np.linspace(0.14, 0.86, 37), key=lambda share: abs(share - 0.5)))
SHARES = np.linspace(0.02, 0.98, 25)


class Link(NamedTuple):
    """A fact between two entities."""

    operator: str
    source: str
    target: str


class Curve(NamedTuple):
    """A quadratic curve from the edge of one box to that of another."""

    start: Point
    control: Point
    end: Point

    def at(self, shares: Points) -> Points:
        """Return the points at some shares of the way."""
        t = shares[:, None]
        start, control, end = map(np.array, self)
        found: Points = (1 - t) ** 2 * start + 2 * t * (1 - t) * control + t * t * end
        return found


class Layout(NamedTuple):
    """The middle of each box, the curve and the label's rectangle of each link, and the size of it all."""

    places: dict[str, Point]
    curves: dict[Link, Curve]
    labels: dict[Link, Rectangle]
    width: float
    height: float


def lay_out(
    ends: tuple[str, str], paths: Iterable[Sequence[str]], labels: Mapping[Link, str], top: float
) -> Layout:
    """Return where the entities of all paths between two ends stand, their links and the links' labels.

    `top` is the height to keep free above.
    """
    columns = _columns(*ends, list(paths), labels)
    sizes = {link: text_width(text, SMALL_LETTER) + 6 for link, text in labels.items()}
    for stretch in STRETCHES:
        places, arcs, width, height = _place(columns, labels, max(sizes.values(), default=0.0), top, stretch)
        curves = _curves(labels, places, arcs, stretch)
        if (found := _place_labels(curves, places, sizes)) is not None:
            return _inside(Layout(places, curves, found, width, height), top)
    return _inside(_add_below(places, curves, sizes, width, height), top)


def _inside(found: Layout, top: float) -> Layout:
    """Return a layout moved and enlarged so that loops and all labels are inside, below `top`."""
    labels = np.array([*found.labels.values()]).reshape(-1, 4)
    ways = [curve.at(SHARES) for curve in found.curves.values()]
    ends = [labels[:, :2] - labels[:, 2:] / 2, labels[:, :2] + labels[:, 2:] / 2]
    points = np.concatenate([*ways, *ends, [[0.0, top], [found.width, found.height]]])
    (left, upper), (right, lower) = points.min(axis=0).tolist(), points.max(axis=0).tolist()
    dx, dy = max(0.0, -left), max(0.0, top - upper)

    def moved(point: Point) -> Point:
        return point[0] + dx, point[1] + dy

    return Layout(
        {name: moved(place) for name, place in found.places.items()},
        {link: Curve(*map(moved, curve)) for link, curve in found.curves.items()},
        {link: (*moved((x, y)), *size) for link, (x, y, *size) in found.labels.items()},  # type: ignore[misc]
        right + dx,
        lower + dy,
    )


# Boxes


def _columns(
    source: str, answer: str, paths: Sequence[Sequence[str]], links: Iterable[Link]
) -> list[list[str]]:
    """Return the entities of each column; an entity stands once, in the first column of any path."""
    last = max([1, *(len(path) - 1 for path in paths)])
    column_of: dict[str, int] = {}
    for path in paths:
        for position, name in enumerate(path[1:-1], 1):
            column_of[name] = min(column_of.get(name, position), position)
    column_of[source] = 0
    if answer != source:
        column_of[answer] = last
    columns = [[name for name, place in column_of.items() if place == column] for column in range(last + 1)]
    for before, names in pairwise(columns):
        _sort_by_neighbours(names, before, links)
    return columns


def _sort_by_neighbours(names: list[str], before: Sequence[str], links: Iterable[Link]) -> None:
    """Sort a column so that entities stand beside those of the column before that they are linked with."""
    places = {name: place for place, name in enumerate(before)}
    linked: dict[str, list[int]] = {name: [] for name in names}
    for _, head, tail in links:
        for one, other in ((head, tail), (tail, head)):
            if one in linked and other in places:
                linked[one].append(places[other])
    names.sort(key=lambda name: sum(linked[name]) / len(linked[name]) if linked[name] else 0.0)


def _place(
    columns: list[list[str]], links: Iterable[Link], label: float, top: float, stretch: float
) -> tuple[dict[str, Point], dict[Link, float], float, float]:
    """Return the middle of each box, the height of each arc, and the size of the picture."""
    column_of = {name: column for column, names in enumerate(columns) for name in names}
    arcs = [link for link in links if abs(column_of[link.source] - column_of[link.target]) > 1]
    num_above, arc = len(arcs) // 2, stretch * ARC
    parallel = max(map(len, _between(set(links) - set(arcs)).values()), default=1)
    first, boxes = top + arc * num_above, stretch * max(LANE, BEND * parallel) * max(map(len, columns))
    gap = GAP + STEEP * (max(map(len, columns)) - 1) + label
    places, left = {}, float(MARGIN)
    for names in columns:
        width = max([40.0, *map(box_width, names)])
        for number, name in enumerate(names):
            places[name] = (left + width / 2, first + boxes * (number + 0.5) / len(names))
        left += width + gap * (1 + (stretch - 1) / 3)
    above = [first - arc * (number + 0.5) for number in range(num_above)]
    below = [first + boxes + arc * (number + 0.5) for number in range(len(arcs) - num_above)]
    height = first + boxes + arc * len(below) + MARGIN
    right = max(x + box_width(name) / 2 for name, (x, _) in places.items()) + MARGIN
    return places, dict(zip(arcs, [*below, *above], strict=True)), right, height


def box_width(name: str) -> float:
    """Return the width of the box of an entity."""
    return text_width(name, LETTER) + 2 * PADDING


def text_width(text: str, letter: float) -> float:
    """Return the width that a text has at most, where a usual letter has the given one."""
    return letter * sum(map(_width, one_line(text)))


def _width(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return 2.0
    if letter in "MWmw@%":
        return 1.6
    return 1.2 if letter.isupper() else 1.0


# Arrows


def _between(links: Iterable[Link]) -> dict[frozenset[str], list[Link]]:
    """Return the links between each two entities, whichever way they point."""
    found: dict[frozenset[str], list[Link]] = {}
    for link in links:
        found.setdefault(frozenset(link[1:]), []).append(link)
    return found


def _curves(
    links: Iterable[Link], places: Mapping[str, Point], arcs: Mapping[Link, float], stretch: float
) -> dict[Link, Curve]:
    """Return the way of each arrow from head to tail; those between the same two boxes are bent apart."""
    found = {}
    for group in _between(link for link in links if link not in arcs).values():
        for number, link in enumerate(group):
            found[link] = _curve(link, places, stretch * BEND * (number - (len(group) - 1) / 2))
    for link, height in arcs.items():
        (x1, y1), (x2, y2) = places[link.source], places[link.target]
        found[link] = _joined(link, places, ((x1 + x2) / 2, 2 * height - (y1 + y2) / 2))
    return found


def _curve(link: Link, places: Mapping[str, Point], bend: float) -> Curve:
    """Return a short curve; a fact about one entity is a loop above its box."""
    start, end = places[link.source], places[link.target]
    if link.source == link.target:
        x, y, out = start[0], start[1] - BOX_HEIGHT / 2, 14 + abs(bend)
        return Curve((x - out, y), (x, y - 60 - 2 * abs(bend)), (x + out, y))
    if abs(start[0] - end[0]) < 1:  # a straight line would run through the boxes between two in one column
        bend += 60.0
    dx, dy = end[0] - start[0], end[1] - start[1]
    length = hypot(dx, dy) or 1.0
    sign = 1 if (dx, dy) > (0, 0) else -1  # arrows in both directions bend apart, not onto each other
    x, y = (start[0] + end[0]) / 2, (start[1] + end[1]) / 2
    return _joined(link, places, (x - sign * 2 * bend * dy / length, y + sign * 2 * bend * dx / length))


def _joined(link: Link, places: Mapping[str, Point], control: Point) -> Curve:
    ends = (_edge(name, places[name], control) for name in (link.source, link.target))
    start, end = ends
    return Curve(start, control, end)


def _edge(name: str, middle: Point, towards: Point) -> Point:
    """Return where the line from the middle of a box towards a point leaves the box."""
    dx, dy = towards[0] - middle[0], towards[1] - middle[1]
    half_width, half_height = box_width(name) / 2 + 3, BOX_HEIGHT / 2 + 3
    scale = min(half_width / abs(dx) if dx else 1e9, half_height / abs(dy) if dy else 1e9)
    return middle[0] + dx * scale, middle[1] + dy * scale


# Labels


def _place_labels(
    curves: Mapping[Link, Curve], places: Mapping[str, Point], sizes: Mapping[Link, float]
) -> dict[Link, Rectangle] | None:
    """Return a place for each label that no box and no other label has; None where one finds no place."""
    taken = _boxes(places)
    ways = {link: curve.at(SHARES) for link, curve in curves.items()}
    found: dict[Link, Rectangle] = {}
    for link, curve in curves.items():
        tried, size = curve.at(LABEL_SHARES), (sizes[link], float(LABEL_HEIGHT))
        free = ~_overlap(tried, size, np.array(taken)).any(axis=1)
        if not free.any():
            return None
        others = [way for other, way in ways.items() if other != link] or [np.zeros((0, 2))]
        covered = _overlap(tried, size, _as_boxes(np.concatenate(others))).sum(axis=1)
        best = int(np.argmin(np.where(free, covered, np.inf)))
        found[link] = (float(tried[best, 0]), float(tried[best, 1]), *size)
        taken.append(found[link])
    return found


def _boxes(places: Mapping[str, Point]) -> list[Rectangle]:
    return [(x, y, box_width(name), float(BOX_HEIGHT)) for name, (x, y) in places.items()]


def _as_boxes(points: Points) -> Points:
    return np.concatenate([points, np.zeros_like(points)], axis=1)


def _overlap(places: Points, size: tuple[float, float], others: Points) -> Points:
    """Return which rectangles of one size at some places touch others; (place, other)."""
    apart = np.abs(places[:, None] - others[None, :, :2])
    found: Points = (apart < (np.array(size) + others[:, 2:]) / 2 + CLEAR).all(axis=2)
    return found


def _add_below(
    places: dict[str, Point],
    curves: dict[Link, Curve],
    sizes: Mapping[Link, float],
    width: float,
    height: float,
) -> Layout:
    """Return a layout whose labels are a list below everything, in the order of the arrows."""
    step = LABEL_HEIGHT + CLEAR
    labels = {
        link: (MARGIN + sizes[link] / 2, height + step * number, sizes[link], float(LABEL_HEIGHT))
        for number, link in enumerate(curves)
    }
    return Layout(places, curves, labels, width, height + step * len(labels))

"""Drawings of proofs in SVG: each entity is one box, facts are arrows, as wide as what they contribute.

Only what every viewer knows is used: labels stand on white boxes of their own, and arrow heads are triangles.
"""

from collections.abc import Sequence
from math import hypot

from ..graph.spelling import as_html
from ..graph.vocabulary import is_inverse, relation_of
from .svg_layout import BOX_HEIGHT, Curve, Link, Point, Rectangle, box_width, lay_out, text_width

#: The body, the entities and the contribution of one reason.
DrawnPath = tuple[Sequence[str], Sequence[str], float]

MAX_WIDTH, HEAD = 8.0, 8  # of the line of the largest contribution, and the length of an arrow head
TITLE, LOOP = 44, 30  # heights above: of the title, and for facts about one entity

#: The label on the line of a path without links, whose ends are the same entity.
SAME = "="

FOR, AGAINST = "#3f6fb0", "#c05a1c"
FONT = 'font-family="sans-serif"'


def draw_paths(title: str, source: str, answer: str, paths: Sequence[DrawnPath]) -> str:
    """Return an SVG of all facts between one source, at the left, and one answer, at the right.

    Without a title there is no heading.
    """
    links = _links(source, answer, paths)
    texts = {link: _label_text(link, amount) for link, amount in links.items()}
    top = TITLE * bool(title) + LOOP * any(link.source == link.target for link in links)
    found = lay_out((source, answer), (path for _, path, _ in paths), texts, top or 6)
    width, height = max(found.width, text_width(title, 8.6) + 40), found.height
    largest = max((abs(amount) for amount in links.values()), default=1.0) or 1.0
    drawn = [_arrow(link, curve, links[link], largest) for link, curve in found.curves.items()]
    drawn += [_label(texts[link], place) for link, place in found.labels.items()]
    drawn += [_box(name, point, name in (source, answer)) for name, point in found.places.items()]
    body = f'<g transform="translate({(width - found.width) / 2:g} 0)">' + "\n".join(drawn) + "</g>"
    heading = (
        f'<text x="{width / 2:g}" y="26" text-anchor="middle" font-size="15" font-weight="bold" '
        f'fill="#222" {FONT}>{as_html(title)}</text>\n'
    )
    size = f'viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}"'
    back = f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>\n'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>\n{back}{heading * bool(title)}{body}\n</svg>\n'


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


def _label_text(link: Link, amount: float) -> str:
    """Return the name of a relation with what its fact contributes."""
    return SAME if link.operator == SAME else f"{link.operator} {amount:+.2f}"


def _arrow(link: Link, curve: Curve, amount: float, largest: float) -> str:
    """Return an arrow, dashed where it speaks against the answer; equal entities have a plain line."""
    width = 1.2 + (MAX_WIDTH - 1.2) * abs(amount) / largest
    colour, dash = (AGAINST, ' stroke-dasharray="7 4"') if amount < 0 else (FOR, "")
    head, stop = ("", curve.end) if link.operator == SAME else _head(curve, width, colour)
    (x1, y1), (x, y), (x2, y2) = curve.start, curve.control, stop
    way = f"M{x1:.1f} {y1:.1f}Q{x:.1f} {y:.1f} {x2:.1f} {y2:.1f}"
    line = f'<path class="link" d="{way}" stroke="{colour}" stroke-width="{width:.1f}" fill="none"{dash}/>'
    return line + head


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


def _label(text: str, place: Rectangle) -> str:
    """Return a text on a white box."""
    x, y, width, height = place
    box = (
        f'<rect x="{x - width / 2:.1f}" y="{y - height / 2:.1f}" width="{width:.1f}" height="{height:g}" '
        'fill="#fff"/>'
    )
    return (
        f'<g class="label">{box}<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="11" '
        f'fill="#333" {FONT}>{as_html(text)}</text></g>'
    )


def _box(name: str, point: Point, is_end: bool) -> str:
    (x, y), width = point, box_width(name)
    fill, ink, kind = ("#2f5486", "#fff", "end") if is_end else ("#eef3fb", "#222", "entity")
    return (
        f'<g class="{kind}"><rect x="{x - width / 2:.1f}" y="{y - BOX_HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{BOX_HEIGHT}" rx="6" fill="{fill}" stroke="#5b7db1"/><text x="{x:.1f}" y="{y + 5:.1f}" '
        f'text-anchor="middle" font-size="13" fill="{ink}" {FONT}>{as_html(name)}</text></g>'
    )

"""Drawings of proofs in SVG: entities are boxes, facts are arrows between them."""

from bisect import bisect
from collections.abc import Sequence
from html import escape
from itertools import accumulate
from unicodedata import east_asian_width

from ..graph.vocabulary import is_inverse, relation_of

#: The body, the entities and the label of one path; drawn as one line from the source to the answer.
DrawnPath = tuple[Sequence[str], Sequence[str], str]
Point = tuple[float, float]

STEP, LANE, MARGIN, TOP = 220, 70, 90, 48
#: Letters of a name that fit into a box, and letters of a title per pixel of width.
MAX_LETTERS, TITLE_LETTERS = 17, 1 / 9

#: The label on the line of a path without links, whose ends are the same entity.
SAME = "="

STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#222}.title{font-size:15px;font-weight:bold}"
    # Labels lie on their lines; a white rim keeps both readable.
    ".label{font-size:11px;fill:#555;stroke:#fff;stroke-width:5px;paint-order:stroke}rect{fill:#eef3fb;stroke:#5b7db1}"
    ".end{fill:#5b7db1}.end+text{fill:#fff}.link{stroke:#777;fill:none}.contribution{font-size:11px;fill:#b15b5b}"
)
ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>'
)


def draw_paths(title: str, source: str, answer: str, paths: Sequence[DrawnPath]) -> str:
    """Return an SVG of all paths between one source, at the left, and one answer, at the right."""
    columns = max([2, *(len(path) for _, path, _ in paths)])
    width = 2 * MARGIN + STEP * (columns - 1)
    height = TOP + LANE * max(1, len(paths)) + 10
    middle = TOP + LANE * max(1, len(paths)) / 2
    ends: tuple[Point, Point] = (MARGIN, middle), (width - MARGIN, middle)
    drawn = [_draw_path(path, TOP + LANE * (lane + 0.5), ends) for lane, path in enumerate(paths)]
    boxes = [_box(source, ends[0], "end"), _box(answer, ends[1], "end")]
    shown = _clean(_shorten(title, width * TITLE_LETTERS))
    heading = f'<text class="title" x="{width / 2:g}" y="26"><title>{_clean(title)}</title>{shown}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
        f'height="{height:g}"><style>{STYLE}</style>{ARROW}\n{heading}\n'
        + "\n".join([*drawn, *boxes])
        + "\n</svg>\n"
    )


def _points(num: int, y: float, ends: tuple[Point, Point]) -> list[Point]:
    """Return the positions of a path's entities: both ends in the middle, the others on the path's lane."""
    (left, _), (right, _) = ends
    between = [(left + (right - left) * i / (num - 1), y) for i in range(1, num - 1)]
    return [ends[0], *between, ends[1]]


def _draw_path(drawn: DrawnPath, lane: float, ends: tuple[Point, Point]) -> str:
    """Return one path on its lane; a path of one link or none is a curve from end to end through the lane."""
    body, path, contribution = drawn
    body = body or (SAME,)
    points = _points(len(path), lane, ends)
    middle = (ends[0][0] + ends[1][0]) / 2, lane
    links = zip(body, points, points[1:], strict=False)
    arrows = [_arrow(*link, middle if len(body) == 1 else None) for link in links]
    boxes = [_box(name, point) for name, point in zip(path[1:-1], points[1:-1], strict=False)]
    x, y = points[len(points) // 2] if len(points) > 2 else middle
    note = f'<text class="contribution" x="{x:g}" y="{y + 26:g}">{_clean(contribution)}</text>'
    return "\n".join([*arrows, *boxes, note])


def _arrow(operator: str, start: Point, end: Point, via: Point | None = None) -> str:
    """Return an arrow from head to tail, reversed for an inverse; a plain line between equal entities."""
    end_of = "start" if is_inverse(operator) else "end"
    marker = "" if operator == SAME else f' marker-{end_of}="url(#arrow)"'
    (x1, y1), (x2, y2) = start, end
    x, y = via or ((x1 + x2) / 2, (y1 + y2) / 2)
    bend = 2 * y - (y1 + y2) / 2  # a quadratic curve passes halfway between its chord and its control point
    line = f"M{x1 + 62:g} {y1:g}Q{x:g} {bend:g} {x2 - 62:g} {y2:g}"
    label = f'<text class="label" x="{x:g}" y="{y + 4:g}">{_label(operator)}</text>'
    return f'<path class="link" d="{line}"{marker}/>{label}'


def _box(name: str, point: Point, kind: str = "entity") -> str:
    x, y = point
    box = f'<rect class="{kind}" x="{x - 60:g}" y="{y - 14:g}" width="120" height="28" rx="6"/>'
    return f'<g><title>{_clean(name)}</title>{box}<text x="{x:g}" y="{y + 5:g}">{_short(name)}</text></g>'


def _label(operator: str) -> str:
    name = relation_of(operator)
    return f"<title>{_clean(name)}</title>{_short(name)}"


def _short(name: str) -> str:
    return _clean(_shorten(name, MAX_LETTERS))


def _shorten(text: str, room: float) -> str:
    """Return the text, cut to `room` letters of average width."""
    ends = list(accumulate(map(_width, text)))
    if not ends or ends[-1] <= room:
        return text
    return text[: bisect(ends, room - 1)] + "…"


def _width(letter: str) -> float:
    if east_asian_width(letter) in "WF":
        return 2.0
    if letter in "MWmw@%":
        return 1.7
    return 1.3 if letter.isupper() else 1.0


def _clean(text: str) -> str:
    """Return escaped text without the characters that XML forbids: control characters and surrogates."""
    kept = (c if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff") else "\ufffd" for c in text)
    return escape("".join(kept).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))

"""Paths as a drawing: SVG in plain text, entities as boxes and facts as arrows between them."""

from collections.abc import Sequence
from html import escape

from .knowledge import INVERSE_MARK

#: (body, path, what it adds) of one path; drawn as one line from the source to the answer.
Strand = tuple[Sequence[str], Sequence[str], str]
Point = tuple[float, float]

STEP, LANE, MARGIN, TOP = 190, 70, 90, 64
MOST_LETTERS = 17

STYLE = (
    "text{font:13px sans-serif;text-anchor:middle;fill:#222}.title{font-size:15px;font-weight:bold}"
    ".label{font-size:11px;fill:#555}rect{fill:#eef3fb;stroke:#5b7db1}"
    ".end{fill:#5b7db1}.end+text{fill:#fff}.link{stroke:#777;fill:none}.amount{font-size:11px;fill:#b15b5b}"
)
ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" '
    'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="#777"/></marker></defs>'
)


def draw_paths(title: str, source: str, answer: str, strands: Sequence[Strand]) -> str:
    """Return an SVG of all strands between one source, at the left, and one answer, at the right."""
    columns = max([2, *(len(path) for _, path, _ in strands)])
    width = 2 * MARGIN + STEP * (columns - 1)
    height = TOP + LANE * max(1, len(strands)) + 10
    middle = TOP + LANE * max(1, len(strands)) / 2
    ends: tuple[Point, Point] = (MARGIN, middle), (width - MARGIN, middle)
    drawn = [_draw_strand(strand, TOP + LANE * (lane + 0.5), ends) for lane, strand in enumerate(strands)]
    boxes = [_box(source, ends[0], "end"), _box(answer, ends[1], "end")]
    heading = f'<text class="title" x="{width / 2:g}" y="26">{_clean(title)}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height:g}" width="{width}" '
        f'height="{height:g}"><style>{STYLE}</style>{ARROW}\n{heading}\n'
        + "\n".join([*drawn, *boxes])
        + "\n</svg>\n"
    )


def _points(num: int, y: float, ends: tuple[Point, Point]) -> list[Point]:
    """Return where the entities of a path stand: both ends in the middle, those between on their lane."""
    (left, _), (right, _) = ends
    between = [(left + (right - left) * i / (num - 1), y) for i in range(1, num - 1)]
    return [ends[0], *between, ends[1]]


def _draw_strand(strand: Strand, lane: float, ends: tuple[Point, Point]) -> str:
    """Return one path on its lane; a single link bows from end to end to keep to it."""
    body, path, amount = strand
    points = _points(len(path), lane, ends)
    middle = (ends[0][0] + ends[1][0]) / 2, lane
    links = zip(body, points, points[1:], strict=False)
    arrows = [_arrow(*link, middle if len(body) == 1 else None) for link in links]
    boxes = [_box(name, point) for name, point in zip(path[1:-1], points[1:-1], strict=False)]
    x, y = points[len(points) // 2] if len(points) > 2 else middle
    note = f'<text class="amount" x="{x:g}" y="{y + 26:g}">{_clean(amount)}</text>'
    return "\n".join([*arrows, *boxes, note])


def _arrow(operator: str, start: Point, end: Point, via: Point | None = None) -> str:
    """Return an arrow from head to tail, which for an inverse points back."""
    marker = "marker-start" if operator.startswith(INVERSE_MARK) else "marker-end"
    (x1, y1), (x2, y2) = start, end
    x, y = via or ((x1 + x2) / 2, (y1 + y2) / 2)
    bend = 2 * y - (y1 + y2) / 2  # a curve passes halfway between its chord and what bends it
    line = f"M{x1 + 62:g} {y1:g}Q{x:g} {bend:g} {x2 - 62:g} {y2:g}"
    label = f'<text class="label" x="{x:g}" y="{y - 7:g}">{_label(operator)}</text>'
    return f'<path class="link" d="{line}" {marker}="url(#arrow)"/>{label}'


def _box(name: str, point: Point, kind: str = "entity") -> str:
    x, y = point
    box = f'<rect class="{kind}" x="{x - 60:g}" y="{y - 14:g}" width="120" height="28" rx="6"/>'
    return f'<g><title>{_clean(name)}</title>{box}<text x="{x:g}" y="{y + 5:g}">{_short(name)}</text></g>'


def _label(operator: str) -> str:
    name = operator.removeprefix(INVERSE_MARK)
    return f"<title>{_clean(name)}</title>{_short(name)}"


def _short(name: str) -> str:
    return _clean(name if len(name) <= MOST_LETTERS else name[: MOST_LETTERS - 1] + "…")


def _clean(text: str) -> str:
    """Return text as XML may hold it: control characters and half surrogates have no place there."""
    kept = (c if c in "\t\n\r" or (c >= " " and not "\ud800" <= c <= "\udfff") else "\ufffd" for c in text)
    return escape("".join(kept).replace("\ufffe", "\ufffd").replace("\uffff", "\ufffd"))

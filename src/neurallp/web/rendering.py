"""One result, several forms: a page in HTML, and the same as JSON, CSV or SVG at the same address."""

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from io import StringIO
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import HTMLResponse
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from pydantic import TypeAdapter

from .. import __version__
from ..graph.vocabulary import inverse_name, is_inverse, relation_of
from . import drawings
from .changes import UNCHANGED, Changes

#: The forms that a page may be asked for in; without one, a browser gets HTML and a program JSON.
Form = Literal["html", "json", "csv", "svg"]

HERE = Path(__file__).parent
MENU = (
    ("/", "Overview"),
    ("/relations", "Relations"),
    ("/ask", "Ask"),
    ("/what-if", "What if"),
    ("/audit", "Audit"),
    ("/compare", "Compare"),
    ("/attention", "Attention"),
)


#: Pages that are not in the menu, and the page of the menu that leads to them.
SECTIONS = {
    "/calibration": "/",
    "/relation": "/relations",
    "/rule": "/relations",
    "/question": "/ask",
    "/proof": "/ask",
    "/marks": "/audit",
}


@dataclass(frozen=True)
class Site:
    """What the frame of every page shows."""

    name: str
    menu: tuple[tuple[str, str], ...] = MENU

    def section(self, path: str) -> str:
        """Return the page of the menu that a page belongs to."""
        return SECTIONS.get(path, path)


def wanted_form(request: Request, form: Form | None) -> Form:
    """Return the form to answer in: as asked for in the address, or else by the Accept header."""
    if form is not None:
        return form
    return "html" if "text/html" in request.headers.get("accept", "") else "json"


def render(request: Request, site: Site, template: str, page: Any, form: Form) -> Response:
    """Return a page in one form. One without a table as CSV, or without a drawing as SVG, gives JSON."""
    if form == "csv" and hasattr(page, "rows"):
        return _download(_as_csv(page.rows), "text/csv", template, "csv")
    if form == "svg" and hasattr(page, "drawing"):
        return _download(page.drawing, "image/svg+xml", template, "svg")
    if form != "html":
        return Response(_adapter(type(page)).dump_json(page), media_type="application/json")
    changes = getattr(page, "changes", UNCHANGED)
    links = _Links(request, changes)
    shown = (
        _environment()
        .get_template(template)
        .render(page=page, site=site, path=request.url.path, changes=changes, **links.helpers)
    )
    return HTMLResponse(shown)


def _download(content: str, media_type: str, template: str, suffix: str) -> Response:
    name = f"{template.removesuffix('.html')}.{suffix}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


_adapters: dict[type, TypeAdapter[Any]] = {}


def _adapter(kind: type) -> TypeAdapter[Any]:
    """Return what writes a type as JSON; making it takes longer than using it."""
    return _adapters.setdefault(kind, _adapters.get(kind) or TypeAdapter(kind))


def _as_csv(rows: Iterable[Any]) -> str:
    """Return objects as a table, one column for each of their fields that is no object itself."""
    text = StringIO()
    writer: Any = csv.writer(text, lineterminator="\n")
    for number, row in enumerate(rows):
        values = {each.name: getattr(row, each.name) for each in fields(row)}
        plain = {name: value for name, value in values.items() if not _is_compound(value)}
        if not number:
            writer.writerow(plain)
        writer.writerow(map(_as_cell, plain.values()))
    return text.getvalue()


def _is_compound(value: Any) -> bool:
    return is_dataclass(value) or isinstance(value, list | tuple | dict)


def _as_cell(value: Any) -> Any:
    """Return a cell; a text that a spreadsheet would compute gets a quote before it."""
    return "'" + value if isinstance(value, str) and value[:1] in ("=", "+", "@", "-") else value


# Addresses


class _Links:
    """Addresses of other pages; those that answer questions keep the changes of the graph."""

    def __init__(self, request: Request, changes: Changes) -> None:
        self.request, self.changes = request, changes
        self.helpers: Mapping[str, Any] = {
            "link": self.link,
            "here": self.here,
            "same": self.same,
            "as_form": self.as_form,
        }

    def link(self, path: str, changes: Changes | None = None, **given: Any) -> str:
        """Return an address with parameters; those that are None or empty are left out."""
        kept = self.changes if changes is None else changes
        return _address(path, [*_pairs(given), *kept.parameters])

    def here(self, changes: Changes | None = None, **given: Any) -> str:
        """Return the address of this page with some parameters changed."""
        left = {"add", "remove", "veto", "add_head", "add_relation", "add_tail", *given}
        own = [pair for pair in self.request.query_params.multi_items() if pair[0] not in left]
        kept = self.changes if changes is None else changes
        return _address(self.request.url.path, [*own, *_pairs(given), *kept.parameters])

    def same(self, **given: Any) -> str:
        """Return the address of this page as it is, but for some parameters."""
        own = [(name, value) for name, value in self.request.query_params.multi_items() if name not in given]
        return _address(self.request.url.path, [*own, *_pairs(given)])

    def as_form(self, form: Form) -> str:
        """Return the address of this page in another form."""
        return self.here(format=form)


def _pairs(given: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in given.items() if value not in (None, "")]


def _address(path: str, pairs: list[tuple[str, str]]) -> str:
    shown = [(name, value) for name, value in pairs if value]
    return path + ("?" + urlencode(shown) if shown else "")


# Templates


@lru_cache
def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        auto_reload=False,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        count=show_count,
        number=show_number,
        signed=lambda value: f"{value:+.2f}",
        percent=show_percent,
        share=lambda value: f"{100 * value:.1f} %".replace(".0 %", " %"),
        short=short,
        relation=relation_of,
    )
    made.globals.update(
        version=__version__,
        drawings=drawings,
        is_inverse=is_inverse,
        inverse_name=inverse_name,
        no_changes=UNCHANGED,
    )
    return made


def show_count(value: int | None) -> str:
    """Return a count with thin groups of three digits, or a dash."""
    return "–" if value is None else f"{value:,}".replace(",", "\u202f")


def show_number(value: float | None, digits: int = 3) -> str:
    """Return a number with a fixed number of digits, or a dash."""
    return "–" if value is None else f"{value:.{digits}f}"


def show_percent(value: float | None) -> str:
    """Return a probability in per cent; none is shown as certain."""
    if value is None:
        return "–"
    if value < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if value > 0.999 else f"{100 * value:.1f} %"


def short(text: str, length: int = 48) -> str:
    """Return a text of at most `length` characters; a longer one loses its middle."""
    if len(text) <= length:
        return text
    half = (length - 1) // 2
    return f"{text[:half]}…{text[-half:]}"

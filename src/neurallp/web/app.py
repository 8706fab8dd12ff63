"""The application: a page for each address, error pages, and the checks before each request."""

import inspect
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any

from fastapi import FastAPI, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.staticfiles import StaticFiles
from starlette.exceptions import HTTPException

from .. import __version__
from ..errors import NeuralLPError, UnknownNameError
from ..graph.knowledge_base import KnowledgeBase, Split
from ..pipeline.program import Program
from .explorer import Explorer
from .limits import BusyError, Limits, Workers
from .pages.ask import ask
from .pages.attention import attention
from .pages.audit import audit, marks
from .pages.calibration import calibration
from .pages.compare import compare
from .pages.entity import entity
from .pages.export import export
from .pages.find import find
from .pages.overview import overview
from .pages.proof import proof
from .pages.question import question
from .pages.relation import relation
from .pages.relations import relations
from .pages.rule import rule
from .pages.what_if import what_if
from .rendering import HERE, Form, Site, render, wanted_form
from .security import Access, Guard

#: A page: a function of the explorer and of the parameters of an address.
Page = Callable[..., Any]

PAGES: tuple[tuple[str, Page], ...] = (
    ("/", overview),
    ("/relations", relations),
    ("/relation", relation),
    ("/rule", rule),
    ("/ask", ask),
    ("/question", question),
    ("/proof", proof),
    ("/entity", entity),
    ("/find", find),
    ("/calibration", calibration),
    ("/what-if", what_if),
    ("/audit", audit),
    ("/marks", marks),
    ("/compare", compare),
    ("/attention", attention),
    ("/export", export),
)


@dataclass(frozen=True)
class Near:
    """A known name that the value of a parameter may mean."""

    parameter: str
    name: str


@dataclass(frozen=True)
class Problem:
    """What went wrong, and what to do."""

    error: str
    near: list[Near] = field(default_factory=list)


@dataclass(frozen=True)
class ServerSettings:
    """Who may ask, and how much."""

    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)


def create_app(
    program: Program, data: KnowledgeBase | Split, settings: ServerSettings | None = None, **shown: Any
) -> FastAPI:
    """Return the application that explores a program over some data; nothing is bound or opened.

    `shown` goes to the `Explorer`: the measures of the model and its name.
    """
    return make_app(Explorer(program, data, **shown), settings or ServerSettings())


def make_app(explorer: Explorer, settings: ServerSettings) -> FastAPI:
    """Return the application over an explorer."""
    workers, site = Workers(settings.limits), Site(explorer.name)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        workers.close()

    app = FastAPI(
        title="neurallp explorer",
        version=__version__,
        description="Rules, answers and proofs: pages for browsers, JSON for programs, same addresses.",
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
    )
    app.mount("/static", StaticFiles(directory=HERE / "static"))
    for path, page in PAGES:
        _add_page(app, path, page, partial(_answer, explorer, workers, site))
    _add_errors(app, site, explorer)
    app.add_middleware(Guard, access=settings.access)
    return app


async def _answer(
    explorer: Explorer, workers: Workers, site: Site, page: Page, request: Request, given: dict[str, Any]
) -> Response:
    """Compute a page in a thread, and give it in the form that is wanted."""
    form = wanted_form(request, given.pop("format"))

    def work() -> Response:
        found = page(explorer, **given)
        return (
            found
            if isinstance(found, Response)
            else render(request, site, f"{page.__name__}.html", found, form)
        )

    client = request.client.host if request.client else ""
    return await workers.run(client, work)


def _add_page(app: FastAPI, path: str, page: Page, answer: Callable[..., Any]) -> None:
    """Add a page under its address; its parameters are those of the function, and the form."""
    signature = inspect.signature(page, eval_str=True)

    async def endpoint(request: Request, **given: Any) -> Response:
        found: Response = await answer(page, request, given)
        return found

    own = [
        each.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        for name, each in signature.parameters.items()
        if name != "explorer"
    ]
    form = Annotated[Form | None, Query(description="html, json, csv (of tables) or svg (of drawings).")]
    keyword = inspect.Parameter.KEYWORD_ONLY
    shared = [
        inspect.Parameter("request", keyword, annotation=Request),
        inspect.Parameter("format", keyword, default=None, annotation=form),
    ]
    endpoint.__signature__ = inspect.Signature([*shared, *own])  # type: ignore[attr-defined]
    endpoint.__name__, endpoint.__doc__ = page.__name__, page.__doc__
    texts = {kind: {"schema": {"type": "string"}} for kind in ("text/html", "text/csv", "image/svg+xml")}
    problems: dict[int | str, Any] = {
        code: {"model": Problem, "description": what} for code, what in PROBLEMS.items()
    }
    problems[400]["content"] = {"text/plain": {"schema": {"type": "string"}}}  # by the server, unread
    is_file = signature.return_annotation is Response
    app.get(
        path,
        response_model=None if is_file else signature.return_annotation,
        responses={**problems} if is_file else {200: {"content": texts}, **problems},
    )(endpoint)


# Errors

#: Parameters that name an entity or a relation; an unknown one is answered with names that are alike.
ENTITY_PARAMETERS = ("entity", "head", "tail", "answer", "name")
RELATION_PARAMETERS = ("relation", "name")
NUM_NEAR = 5

PROBLEMS: dict[int | str, str] = {
    400: "A request for a host that is not served here, or that cannot be read.",
    401: "The token is missing or wrong.",
    403: "A request from another site.",
    404: "An entity, relation or rule that is not known.",
    409: "A fact to add that is there already, or a fact to remove that is not there.",
    422: "A parameter with an invalid value.",
    429: "Too many requests of one client at once.",
    503: "The server is busy, or the question takes too long.",
}


def _add_errors(app: FastAPI, site: Site, explorer: Explorer) -> None:
    def tell(
        request: Request, status: int, problem: Problem, headers: dict[str, str] | None = None
    ) -> Response:
        form = "html" if wanted_form(request, None) == "html" else "json"
        shown = render(request, site, "problem.html", problem, form)  # type: ignore[arg-type]
        shown.status_code = status
        shown.headers.update(headers or {})
        return shown

    @app.exception_handler(NeuralLPError)
    def on_own(request: Request, error: NeuralLPError) -> Response:
        if isinstance(error, UnknownNameError):
            return tell(request, 404, Problem(str(error), _near(explorer, request)))
        return tell(request, 409, Problem(str(error)))

    @app.exception_handler(BusyError)
    def on_busy(request: Request, error: BusyError) -> Response:
        return tell(request, error.status, Problem(str(error)), {"Retry-After": str(error.retry_after)})

    @app.exception_handler(HTTPException)
    def on_http(request: Request, error: HTTPException) -> Response:
        message = "There is no such page." if error.status_code == 404 else str(error.detail)
        return tell(request, error.status_code, Problem(message), dict(error.headers or {}))

    @app.exception_handler(RequestValidationError)
    def on_invalid(request: Request, error: RequestValidationError) -> Response:
        faults = [f"{each['loc'][-1]}: {each['msg']}" for each in error.errors()[:5]]
        return tell(request, 422, Problem("; ".join(faults) + "."))


def _near(explorer: Explorer, request: Request) -> list[Near]:
    """Return names that unknown ones in an address may mean."""
    near: list[Near] = []
    for name, value in request.query_params.items():
        text = value[:100]
        if name in ENTITY_PARAMETERS and value not in explorer.kb.entities and text.strip():
            near += [Near(name, each.name) for each in explorer.reasoner.find_entities(text, NUM_NEAR)]
        if name in RELATION_PARAMETERS and value not in explorer.reasoner.relations and text.strip():
            near += [Near(name, each) for each in explorer.find_relations(text, NUM_NEAR)]
    return near

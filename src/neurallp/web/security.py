"""Who may ask, and what a browser may do with the answer: Host, Origin, size, token, and headers."""

from dataclasses import dataclass
from http.cookies import SimpleCookie
from secrets import compare_digest
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOCAL_HOSTS = ("127.0.0.1", "localhost", "[::1]")

#: The most bytes of an address: names, and up to twenty changes of the graph.
MAX_ADDRESS = 60_000

COOKIE = "neurallp_token"

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, no-cache",
}


@dataclass(frozen=True)
class Access:
    """The hosts a server answers as (`*`: any), and the token that it asks for, if any."""

    hosts: tuple[str, ...] = LOCAL_HOSTS
    token: str | None = None


class Guard:
    """An ASGI layer that refuses requests of other sites and hosts or without token, and adds headers."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        refused = self._refuse(scope)
        await (refused or self.app)(scope, receive, send_with_headers)

    def _refuse(self, scope: Scope) -> Response | None:
        """Return the answer to a request that is not served; None for one that is."""
        headers = Headers(scope=scope)
        for check in (self._check_host, self._check_size, self._check_token):
            if (refused := check(scope, headers)) is not None:
                return refused
        return None

    def _check_host(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse other names than ours (DNS rebinding), and requests of pages that are not ours."""
        host = headers.get("host", "")
        if "*" not in self.access.hosts and _without_port(host) not in self.access.hosts:
            return _refusal(400, "This host is not served here. Use --host to allow it.")
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc != host:
            return _refusal(403, "Requests from other sites are refused.")
        return None

    def _check_size(self, scope: Scope, headers: Headers) -> Response | None:
        if len(scope["query_string"]) + len(scope["path"]) > MAX_ADDRESS:
            return _refusal(422, "This address is too long.")
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            return _refusal(413, "A request must have no body: all parameters are in the address.")
        return None

    def _check_token(self, scope: Scope, headers: Headers) -> Response | None:
        """Refuse without the token; one in the address moves into a cookie."""
        if self.access.token is None:
            return None
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(_cookie(headers)):
            return None
        request = Request(scope)
        if not self._is_token(request.query_params.get("token", "")):
            return _refusal(401, "Open the address with the token that the server printed.")
        left = [pair for pair in request.query_params.multi_items() if pair[0] != "token"]
        response = RedirectResponse(str(request.url.replace(query=str(QueryParams(left)))), 303)
        response.set_cookie(COOKIE, self.access.token, httponly=True, samesite="strict")
        return response

    def _is_token(self, given: str) -> bool:
        return compare_digest(given.encode(), str(self.access.token).encode())


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status)


def _without_port(host: str) -> str:
    """Return the name in a Host header.

    >>> _without_port("localhost:8080"), _without_port("[::1]:80")
    ('localhost', '[::1]')
    """
    return host[: host.index("]") + 1] if host.startswith("[") and "]" in host else host.partition(":")[0]


def _cookie(headers: Headers) -> str:
    found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    return "" if found is None else found.value

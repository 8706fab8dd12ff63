"""Serving: bind the application to an address of this machine, and open the browser."""

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from secrets import token_urlsafe

import uvicorn
from fastapi import FastAPI

from ..errors import ConfigError
from .app import ServerSettings, make_app
from .explorer import Explorer
from .security import LOCAL_HOSTS, MAX_ADDRESS, Access
from .warming import warm_up

#: Connections that may wait.
BACKLOG = 512

#: Seconds after which a thread that computes lets others run: requests are read and answered meanwhile.
SWITCH_INTERVAL = 0.0005

#: Seconds until the model is warmed up: the first page does not wait for it.
WARM_UP_AFTER = 1.0

#: Bytes of a request that are read; the application refuses shorter ones, with a sentence that says why.
MAX_REQUEST = 4 * MAX_ADDRESS

#: Hosts that stand for all addresses of this machine.
EVERYWHERE = ("0.0.0.0", "::")


@dataclass(frozen=True)
class Server:
    """An application with the socket it is bound to, and the address that a browser opens."""

    app: FastAPI
    explorer: Explorer
    socket: socket.socket
    address: str


def prepare(explorer: Explorer, host: str, port: int, *, with_token: bool) -> Server:
    """Return a server that is bound and not running; other than local hosts always get a token."""
    bound = bind(host, port)
    is_local = host in ("127.0.0.1", "localhost", "::1")
    token = None if is_local and not with_token else token_urlsafe(16)
    hosts = ("*",) if host in EVERYWHERE else (*LOCAL_HOSTS, host)
    shown = "127.0.0.1" if host in EVERYWHERE else f"[{host}]" if ":" in host else host
    query = "" if token is None else f"?token={token}"
    address = f"http://{shown}:{bound.getsockname()[1]}/{query}"
    app = make_app(explorer, ServerSettings(Access(hosts, token)))
    return Server(app, explorer, bound, address)


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small packets at once only where it is: 40 ms a page.
    made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
        made.listen(BACKLOG)  # who connects before the server runs waits for it
    except OSError as error:
        made.close()
        raise ConfigError(
            f"Cannot serve on {host}:{port}: {error.strerror or error}. Give another --port, or 0 for any."
        ) from error
    return made


def launch(server: Server, *, browser: bool = True) -> None:
    """Serve until Ctrl-C. The browser opens soon; the model is warmed up once the first page is out."""
    _start_later(WARM_UP_AFTER, partial(warm_up, server.explorer))
    sys.setswitchinterval(SWITCH_INTERVAL)
    if browser:
        _start_later(0.3, partial(webbrowser.open, server.address))
    uvicorn.Server(configure(server.app)).run([server.socket])


def configure(app: FastAPI) -> uvicorn.Config:
    """Return how an application is served."""
    return uvicorn.Config(
        app,
        http="h11",
        h11_max_incomplete_event_size=MAX_REQUEST,
        log_level="warning",
        server_header=False,
        timeout_graceful_shutdown=2,
        limit_concurrency=1000,
    )


def _start_later(seconds: float, work: Callable[[], object]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()

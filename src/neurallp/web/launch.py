"""Serving: bind the application to an address of this machine, and open the browser."""

import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI

from ..errors import ConfigError


def bind(host: str, port: int) -> socket.socket:
    """Return a socket bound to an address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((host, port))
    except OSError as error:
        made.close()
        raise ConfigError(
            f"Cannot serve on {host}:{port}: {error.strerror or error}. Give another --port, or 0 for any."
        ) from error
    return made


def launch(
    app: FastAPI, bound: socket.socket, address: str, *, browser: bool = True, warm_up: Callable[[], None]
) -> None:
    """Serve the application until Ctrl-C; the browser is opened once it answers."""
    threading.Thread(target=warm_up, daemon=True).start()
    if browser:
        threading.Timer(0.3, webbrowser.open, [address]).start()
    config = uvicorn.Config(app, log_level="warning", server_header=False, timeout_graceful_shutdown=2)
    uvicorn.Server(config).run([bound])

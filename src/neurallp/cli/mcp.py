"""`mcp`: a server of the Model Context Protocol, for language models and other programs."""

from typing import Annotated

import typer

from .options import Data, Source, load_reasoner
from .output import say


def mcp(
    model: Source,
    data: Data,
    http: Annotated[bool, typer.Option("--http", help="Serve over HTTP instead of standard input.")] = False,
    host: Annotated[str, typer.Option(help="With --http: the address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="With --http: the port.")] = 8765,
) -> None:
    """Serve MODEL and DATA to language models (MCP).

    The tools are ask, explain, why_not, verify, find_entities and relations. Without --http the server speaks
    on standard input and output, as programs that start it themselves expect.
    """
    from ..web.mcp import create_server, serve_http, serve_stdio

    server = create_server(load_reasoner(model, data))
    if http:
        say(f"Serving at http://{host}:{port}/mcp (stop with Ctrl+C).")
        serve_http(server, host, port)
    else:
        serve_stdio(server)

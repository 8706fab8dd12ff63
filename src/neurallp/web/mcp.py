"""A server of the Model Context Protocol: language models and other programs ask a reasoner with its tools.

Results are the library's own, as JSON objects.
"""

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np

from .. import __version__
from ..errors import ConfigError, NeuralLPError, UnknownNameError, import_extra, listed, quoted
from ..graph.arrays import Ids
from ..reasoning.reasoner import Reasoner

if TYPE_CHECKING:
    from mcp.server.mcpserver import MCPServer

P = ParamSpec("P")
Result = dict[str, Any]

#: Answers, reasons, entities and relations that one call returns, at most.
MAX_RESULTS = 100

#: Characters of a name or a text that one call may have.
MAX_TEXT = 500

#: Entities that the message of an unknown name suggests.
NUM_SUGGESTED = 5

INSTRUCTIONS = (
    "Answers from a knowledge graph and from rules learned on it. A fact is (head, relation, tail). "
    "Names must be exact: look relations up with `relations`, and entities with `find_entities`. "
    "`verify` checks one claim, `ask` finds answers, `explain` shows the rules and facts for and against "
    "an answer, and `why_not` the facts that are missing."
)


class Tools:
    """The tools of the server; the docstring of each is its description for a language model."""

    def __init__(self, reasoner: Reasoner) -> None:
        self.reasoner = reasoner

    @property
    def all(self) -> list[Callable[..., Result]]:
        """Every tool."""
        return [self.ask, self.explain, self.why_not, self.verify, self.find_entities, self.relations]

    def ask(self, relation: str, head: str | None = None, tail: str | None = None, k: int = 10) -> Result:
        """Return the best answers to (head, relation, ?) or to (?, relation, tail): give head or tail.

        Each answer has `is_known` (a fact of the graph) or `probability`, how likely it is true.
        """
        found = self.reasoner.ask(head=head, tail=tail, relation=relation, k=_bounded("k", k))
        return {"answers": [vars(answer) for answer in found]}

    def explain(self, head: str, relation: str, tail: str, k: int = 3) -> Result:
        """Return why (head, relation, tail) is an answer or not: rules and facts for it, and against it.

        A known fact is explained as if it alone were not known.
        """
        return self.reasoner.explain(head, relation, tail, _bounded("k", k), without_itself=True).as_dict()

    def why_not(self, head: str, relation: str, tail: str, k: int = 3) -> Result:
        """Return which facts are missing for rules to conclude (head, relation, tail)."""
        return self.reasoner.why_not(head, relation, tail, _bounded("k", k)).as_dict()

    def verify(self, head: str, relation: str, tail: str, threshold: float = 0.5, k: int = 3) -> Result:
        """Return whether the claim (head, relation, tail) is true, likely, unlikely or unknown, with a proof.

        True: a fact of the graph. Likely: its probability is at least `threshold`. Unknown: no rule applies,
        or a name is not in the graph; then `problem` says so.
        """
        verdict = self.reasoner.verify(head, relation, tail, _bounded("k", k), threshold)
        similar = {
            name: self._similar(name) for name in (head, tail) if name not in self.reasoner.kb.entities
        }
        return {**verdict.as_dict(), "similar_entities": similar}

    def find_entities(self, text: str, limit: int = 10) -> Result:
        """Return the entities whose name matches a text: by its beginning, by any word, or with typos."""
        found = self.reasoner.find_entities(text, _bounded("limit", limit))
        return {"entities": [vars(entity) for entity in found]}

    def relations(self, limit: int = MAX_RESULTS, offset: int = 0) -> Result:
        """Return the relations that can be asked for, those with most facts first, each with an example."""
        kb = self.reasoner.kb
        edges = [self.reasoner.operators.edges_by_operator(r) for r in range(len(kb.relations))]
        counts = np.array([len(own) for own in edges])
        order = np.argsort(-counts, kind="stable")[max(offset, 0) :][: _bounded("limit", limit)]
        listed = [
            {
                "relation": kb.relations[r],
                "num_facts": int(counts[r]),
                "example": self._example(edges[r][:1]),
            }
            for r in order.tolist()
        ]
        return {"relations": listed, "num_relations": len(kb.relations)}

    def _example(self, edges: Ids) -> list[str] | None:
        """Return head and tail of the first of some edges; None where there is none."""
        operators, names = self.reasoner.operators, self.reasoner.kb.entities
        ends = operators.sources_at(edges), operators.targets_at(edges)
        return [names[int(end[0])] for end in ends] if len(edges) else None

    def _similar(self, name: str) -> list[str]:
        return [entity.name for entity in self.reasoner.find_entities(name, NUM_SUGGESTED)]

    def describe(self, error: NeuralLPError, arguments: dict[str, Any]) -> str:
        """Return what was wrong with a call, with similar names for the entities that are not known."""
        given = [arguments.get(end) for end in ("head", "tail")]
        unknown = [name for name in given if isinstance(name, str) and name not in self.reasoner.kb.entities]
        if not isinstance(error, UnknownNameError) or not unknown:
            return str(error)
        similar = {name: self._similar(name) for name in unknown}
        hints = [f"Similar to {quoted(name)}: {listed(names)}." for name, names in similar.items() if names]
        return " ".join([str(error), *hints])


def _require_short(arguments: dict[str, Any]) -> None:
    """Raise where a text is longer than any name, before it is compared with names."""
    for name, value in arguments.items():
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise ConfigError(f"{name} has {len(value):,} characters; at most {MAX_TEXT} are read.")


def _bounded(name: str, value: int) -> int:
    """Return a number of results; raise where it is too small or too large."""
    if not 1 <= value <= MAX_RESULTS:
        raise ConfigError(f"{name} must be from 1 to {MAX_RESULTS}, got {value}.")
    return value


def create_server(reasoner: Reasoner) -> "MCPServer[Any]":
    """Return the server of a reasoner, which `run` starts; calls may come at the same time."""
    package = import_extra("mcp.server.mcpserver", "mcp")
    types, errors = import_extra("mcp_types", "mcp"), import_extra("mcp.server.mcpserver.exceptions", "mcp")
    server: MCPServer[Any] = package.MCPServer(
        "neurallp", version=__version__, instructions=INSTRUCTIONS, log_level="WARNING"
    )
    tools = Tools(reasoner)

    def telling_errors(tool: Callable[P, Result]) -> Callable[P, Result]:
        @wraps(tool)
        def call(*args: P.args, **kwargs: P.kwargs) -> Result:
            try:
                _require_short(kwargs)
                return tool(*args, **kwargs)
            except NeuralLPError as error:
                raise errors.ToolError(tools.describe(error, kwargs)) from error

        return call

    for tool in tools.all:
        hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        server.add_tool(telling_errors(tool), annotations=hints)
    return server


def serve_stdio(server: "MCPServer[Any]") -> None:
    """Serve on standard input and output until the input ends."""
    server.run("stdio")


def serve_http(server: "MCPServer[Any]", host: str, port: int) -> None:
    """Serve at http://host:port/mcp; requests for another host, or from another site, are refused."""
    security = import_extra("mcp.server.transport_security", "mcp")
    names = dict.fromkeys((host, "127.0.0.1", "localhost"))
    allowed = security.TransportSecuritySettings(
        allowed_hosts=[f"{name}:*" for name in names],
        allowed_origins=[f"http://{name}:*" for name in names],
    )
    server.run("streamable-http", host=host, port=port, transport_security=allowed)

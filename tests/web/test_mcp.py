"""The MCP server, asked by a real client: in a process of its own over stdio, and over HTTP on loopback."""

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from learned_family import learned
from mcp import Client, StdioServerParameters

from neurallp.io.triples import write_triples
from neurallp.web.mcp import MAX_RESULTS, create_server

START = "import sys; from neurallp.cli import main; sys.argv[0] = 'neurallp'; main()"


@pytest.fixture(scope="module")
def given(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mcp")
    learned()[2].save(folder / "model")
    write_triples(folder / "data.tsv", learned()[0].named_facts())
    return str(folder / "model"), str(folder / "data.tsv")


@pytest.fixture(scope="module")
def reasoner(given):
    import neurallp

    return neurallp.load_program(given[0]).reasoner(neurallp.load(given[1]))


def talk(server, calls):
    """Return the tools of a server, and the results of some calls."""

    async def session():
        async with Client(server) as client:
            tools = (await client.list_tools()).tools
            return tools, [await client.call_tool(name, arguments) for name, arguments in calls]

    return asyncio.run(session())


def fact(reasoner, relation="uncle"):
    return next(each for each in reasoner.kb.named_facts() if each[1] == relation)


def expected(reasoner):
    """Return calls, and what the library says to the same."""
    head, relation, tail = fact(reasoner)
    claim = {"head": head, "relation": relation, "tail": tail}
    return [
        (
            "ask",
            {"head": head, "relation": relation, "k": 3},
            [vars(a) for a in reasoner.ask(head=head, relation=relation, k=3)],
        ),
        ("explain", claim, reasoner.explain(head, relation, tail, without_itself=True).as_dict()),
        ("why_not", claim | {"tail": head}, reasoner.why_not(head, relation, head).as_dict()),
        ("verify", claim, {**reasoner.verify(head, relation, tail).as_dict(), "similar_entities": {}}),
        ("find_entities", {"text": head[:2]}, [vars(e) for e in reasoner.find_entities(head[:2])]),
    ]


def assert_as_the_library(results, reasoner):
    for result, (name, _, said) in zip(results, expected(reasoner), strict=True):
        assert not result.is_error, result.content
        found = result.structured_content
        found = found.get("answers") or found.get("entities") or found
        same = json.loads(json.dumps(said))
        assert _near(found, same), name
        assert json.loads(result.content[0].text), "the same as text, for clients that read only that"


def _near(found, same):
    """Return whether two JSON values are equal, numbers up to rounding."""
    if isinstance(found, float) or isinstance(same, float):
        return found == pytest.approx(same)
    if isinstance(found, dict) and isinstance(same, dict):
        return found.keys() == same.keys() and all(_near(found[key], same[key]) for key in found)
    if isinstance(found, list) and isinstance(same, list):
        return len(found) == len(same) and all(map(_near, found, same))
    return found == same


def test_over_stdio_every_tool_answers_as_the_library(given, reasoner):
    path = {"PYTHONPATH": os.pathsep.join(sys.path)}
    server = StdioServerParameters(command=sys.executable, args=["-c", START, "mcp", *given], env=path)
    tools, results = talk(server, [(name, arguments) for name, arguments, _ in expected(reasoner)])
    assert {tool.name for tool in tools} == {
        "ask",
        "explain",
        "why_not",
        "verify",
        "find_entities",
        "relations",
    }
    assert all(tool.description and tool.annotations.read_only_hint for tool in tools)
    assert_as_the_library(results, reasoner)


def test_nothing_but_the_protocol_is_on_standard_output(given, tmp_path):
    """Not even where there is something to note: the model does not know a relation of the data."""
    more = [*learned()[0].named_facts(), ("rex", "pet", "fido")]
    write_triples(tmp_path / "data.tsv", more)
    begin = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    }
    done = subprocess.run(
        [sys.executable, "-c", START, "mcp", given[0], str(tmp_path / "data.tsv")],
        input=json.dumps(begin) + "\n",
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        check=True,
    )
    (line,) = done.stdout.splitlines()
    assert json.loads(line)["result"]["serverInfo"]["name"] == "neurallp"
    assert "the model does not know 'pet'" in done.stderr


@contextmanager
def http_server(given):
    """Run the server over HTTP in a process of its own; give its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-c", START, "mcp", *given, "--http", "--port", str(port)]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        for _ in range(600):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.1)
        yield f"http://127.0.0.1:{port}/mcp"
    finally:
        process.terminate()
        process.communicate()


def test_over_http_every_tool_answers_as_the_library_and_other_hosts_are_refused(given, reasoner):
    with http_server(given) as address:
        _, results = talk(address, [(name, arguments) for name, arguments, _ in expected(reasoner)])
        assert_as_the_library(results, reasoner)
        for header in ({"Host": "evil.example"}, {"Origin": "http://evil.example"}):
            request = urllib.request.Request(address, b"{}", {"Content-Type": "application/json", **header})
            with pytest.raises(urllib.error.HTTPError) as refused:
                urllib.request.urlopen(request)
            assert refused.value.code in (403, 421)
            refused.value.close()


def errors(reasoner, *calls):
    _, results = talk(create_server(reasoner), calls)
    assert all(result.is_error for result in results)
    return [result.content[0].text for result in results]


def test_mistakes_are_reported_with_similar_names(reasoner):
    head, _, _ = fact(reasoner)
    wrong = head[:-1] + head[-1] * 2
    unknown, relation, both, many = errors(
        reasoner,
        ("ask", {"head": wrong, "relation": "uncle"}),
        ("explain", {"head": head, "relation": "unclee", "tail": head}),
        ("ask", {"relation": "uncle"}),
        ("ask", {"head": head, "relation": "uncle", "k": MAX_RESULTS + 1}),
    )
    assert f"Unknown entity {wrong!r}." in unknown
    assert f"Similar to {wrong!r}: {head!r}" in unknown
    assert "Unknown relation 'unclee'. Did you mean 'uncle'?" in relation
    assert "Give the head or the tail" in both
    assert f"k must be from 1 to {MAX_RESULTS}" in many


def test_a_text_longer_than_any_name_is_refused_at_once(reasoner):
    found, asked = errors(
        reasoner,
        ("find_entities", {"text": "x" * 501}),
        ("ask", {"relation": "a " * 100_000, "head": "x"}),
    )
    assert "text has 501 characters; at most 500 are read." in found
    assert len(asked) < 200


def test_a_claim_about_an_unknown_name_is_unknown_with_similar_names(reasoner):
    head, relation, tail = fact(reasoner)
    wrong = head[:-1] + head[-1] * 2
    _, (result,) = talk(
        create_server(reasoner), [("verify", {"head": wrong, "relation": relation, "tail": tail})]
    )
    assert result.structured_content["verdict"] == "unknown"
    assert result.structured_content["similar_entities"][wrong][0] == head


def test_relations_are_listed_with_examples_in_pages(reasoner):
    _, (first, rest) = talk(
        create_server(reasoner), [("relations", {"limit": 2}), ("relations", {"offset": 2})]
    )
    listed = first.structured_content["relations"] + rest.structured_content["relations"]
    assert [each["relation"] for each in listed] == sorted(
        reasoner.relations,
        key=lambda name: -sum(relation == name for _, relation, _ in reasoner.kb.named_facts()),
    )
    assert first.structured_content["num_relations"] == len(reasoner.relations)
    for each in listed:
        head, tail = each["example"]
        assert reasoner.verify(head, each["relation"], tail).verdict == "true"

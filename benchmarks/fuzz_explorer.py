"""The explorer against its own description: schemathesis sends what it allows and what it forbids."""

import argparse
import subprocess
import sys
import threading
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn

from neurallp import Plan, WeightingConfig, learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer
from neurallp.web.launch import bind, configure


def main() -> None:
    """Serve a small family, and run schemathesis on it with all its checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=60, help="of each page and phase")
    args = parser.parse_args()
    split = split_triples(family_knowledge_base(num_people=60, num_generations=3))
    program = learn(split, Plan(None, None, WeightingConfig(num_candidates=30, max_rules=12)))
    app = make_app(Explorer(program, split), ServerSettings())
    add_examples(app.openapi(), next(fact for fact in split.known.named_facts() if fact[1] == "uncle"))
    server = uvicorn.Server(configure(app))
    bound = bind("127.0.0.1", 0)
    threading.Thread(target=server.run, args=([bound],), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    sys.exit(run(f"http://127.0.0.1:{bound.getsockname()[1]}", args.examples))


def add_examples(description: dict[str, Any], fact: tuple[str, str, str]) -> None:
    """Put names that are there into the description, so that not all that is asked is unknown."""
    head, relation, tail = fact
    known = {"head": head, "entity": head, "relation": relation, "tail": tail, "text": head}
    names = {"/rule": f"{relation}:0", "/relation": relation, "/entity": head, "/attention": relation}
    for path, operations in description["paths"].items():
        for parameter in operations["get"]["parameters"]:
            values = {**known, "name": names.get(path)}
            if (value := values.get(parameter["name"])) is not None:
                parameter["examples"] = {"known": {"value": value}}


def run(address: str, examples: int) -> int:
    """Run schemathesis in a folder of its own; return its exit code."""
    command = [str(Path(sys.executable).with_name("schemathesis")), "run", f"{address}/openapi.json"]
    with TemporaryDirectory() as folder:
        return subprocess.run(
            [*command, "--checks", "all", "--max-examples", str(examples), "--generation-deterministic"],
            cwd=folder,
            check=False,
        ).returncode


if __name__ == "__main__":
    main()

"""Draws the screenshots of docs/explorer.md on the family of the demo: python benchmarks/screenshots.py."""

import threading
import time
from pathlib import Path
from urllib.parse import urlencode

import uvicorn
from playwright.sync_api import sync_playwright

from neurallp import learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer
from neurallp.web.launch import bind
from neurallp.web.pages.proof import proof
from neurallp.web.warming import warm_up

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]


def list_shots(explorer: Explorer) -> dict[str, tuple[str, int]]:
    """Return addresses and heights: an unknown uncle, and the same after one fact of the proof is removed."""
    split = explorer.split
    named = ((split.entities[h], split.relations[r], split.entities[t]) for h, r, t in split.test.tolist())
    proofs = (proof(explorer, *fact) for fact in named if fact[1] == "uncle")
    shown = next(page for page in proofs if (page.probability or 0.0) > 0.9)
    fact, missed = shown.fact, shown.reasons[0].facts[0]
    question = urlencode({"entity": fact.head, "relation": fact.relation, "answer": fact.tail})
    removed = urlencode({"remove": f"{missed.head}\t{missed.relation}\t{missed.tail}"})
    claim = urlencode({"head": fact.head, "relation": fact.relation, "tail": fact.tail})
    return {
        "-overview": ("/", 720),
        "": (f"/proof?{claim}", 900),
        "-what-if": (f"/what-if?{question}&{removed}", 860),
    }


def main() -> None:
    """Learn, serve and draw."""
    split = split_triples(family_knowledge_base())
    program = learn(split)
    metrics = {"test": program.evaluate(split).as_dict()}
    explorer = Explorer(program, split, metrics, "A generated family")
    warm_up(explorer)
    server = uvicorn.Server(uvicorn.Config(make_app(explorer, ServerSettings()), log_level="warning"))
    bound = bind("127.0.0.1", 0)
    threading.Thread(target=server.run, args=([bound],), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        page = browser.new_page(viewport={"width": 1100, "height": 800}, base_url=address)
        for name, (place, height) in list_shots(explorer).items():
            page.set_viewport_size({"width": 1100, "height": height})
            page.goto(place)
            page.screenshot(path=DOCS / f"explorer{name}.png", scale="css")
        browser.close()


if __name__ == "__main__":
    main()

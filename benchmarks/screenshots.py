"""Draws the screenshots of docs/explorer.md on the family of the demo: python benchmarks/screenshots.py."""

import threading
import time
from pathlib import Path

import uvicorn
from playwright.sync_api import sync_playwright

from neurallp import learn
from neurallp.datasets.family import family_knowledge_base
from neurallp.graph.knowledge_base import split_triples
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer
from neurallp.web.launch import bind

DOCS = Path(__file__).parents[1] / "docs"
FLAGS = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
QUESTION = "entity=abdul&relation=uncle"
SHOTS = {
    "overview": ("/", 720),
    "proof": ("/proof?head=abdul&relation=uncle&tail=ulrich", 760),
    "what-if": (f"/what-if?{QUESTION}&remove=ulrich%09nephew%09abdul", 860),
}


def main() -> None:
    """Learn, serve and draw."""
    split = split_triples(family_knowledge_base())
    program = learn(split)
    metrics = {"test": program.evaluate(split).as_dict()}
    explorer = Explorer(program, split, metrics, "A generated family")
    explorer.warm_up()
    server = uvicorn.Server(uvicorn.Config(make_app(explorer, ServerSettings()), log_level="warning"))
    bound = bind("127.0.0.1", 0)
    threading.Thread(target=server.run, args=([bound],), daemon=True).start()
    while not server.started:
        time.sleep(0.05)
    with sync_playwright() as running:
        browser = running.chromium.launch(executable_path="/usr/bin/chromium", args=FLAGS)
        address = f"http://127.0.0.1:{bound.getsockname()[1]}"
        page = browser.new_page(viewport={"width": 1100, "height": 800}, base_url=address)
        for name, (place, height) in SHOTS.items():
            page.set_viewport_size({"width": 1100, "height": height})
            page.goto(place)
            page.screenshot(path=DOCS / f"explorer-{name}.png", scale="css")
        browser.close()


if __name__ == "__main__":
    main()

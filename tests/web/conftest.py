"""A family with few rules, served to a client in this process, and to a real browser over a socket."""

import shutil
import threading
import time
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient
from web_samples import QUOTES, RTL, SCRIPT, page_addresses

from neurallp import KnowledgeBase, Plan, Rule, RuleProgram, WeightingConfig, learn
from neurallp.web.app import ServerSettings, make_app
from neurallp.web.explorer import Explorer
from neurallp.web.security import Access
from neurallp.web.word_reader import WordReader

HERE = "http://127.0.0.1"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def program(make_once, split):
    """A program that knows few rules of the family."""
    return make_once(
        lambda: learn(split, Plan(None, None, WeightingConfig(num_candidates=30, max_rules=12))),
        "web program",
    )


@pytest.fixture(scope="session")
def given_rules():
    """Rules as a person wrote them, without weights and probabilities."""
    return RuleProgram(
        [
            Rule("uncle", ("father", "brother"), 0.9, distinct_ends=True),
            Rule("uncle", ("mother", "brother"), 0.8, distinct_ends=True),
            Rule("aunt", ("father", "sister"), 0.7),
        ]
    )


@pytest.fixture(scope="session")
def explorer(program, split, given_rules):
    metrics = {"test": program.evaluate(split).as_dict()}
    other = Explorer(given_rules, split, name="written by hand")
    return Explorer(program, split, metrics, "the family", other)


@pytest.fixture(scope="session")
def client(explorer):
    with TestClient(make_app(explorer, ServerSettings()), base_url=HERE) as client:
        yield client


@pytest.fixture(scope="session")
def pages(explorer):
    return page_addresses(explorer)


@pytest.fixture(scope="session")
def fact(explorer):
    """A fact about an uncle."""
    return next(fact for fact in explorer.kb.named_facts() if fact[1] == "uncle")


@pytest.fixture
def look(client):
    """Ask for a page as a browser does; give its text."""

    def look(path, status=200, **parameters):
        answer = client.get(path, params=parameters, headers={"Accept": "text/html"})
        assert answer.status_code == status, answer.text[:500]
        assert answer.headers["content-type"].startswith("text/html")
        return answer.text

    return look


@pytest.fixture
def read(client):
    """Ask for a page as a program does; give what its JSON says."""

    def read(path, status=200, **parameters):
        answer = client.get(path, params=parameters)
        assert answer.status_code == status, answer.text[:500]
        return answer.json()

    return read


@pytest.fixture(scope="session")
def hostile():
    """A client of a graph whose names are dangerous."""
    triples = [(SCRIPT, QUOTES, RTL), (RTL, "knows", SCRIPT), (SCRIPT, "knows", "x"), ("x", QUOTES, RTL)]
    kb = KnowledgeBase.from_triples(triples)
    rules = RuleProgram([Rule("knows", (f"~{QUOTES}",), 0.5), Rule(QUOTES, ("knows", QUOTES), 0.5)])
    with TestClient(make_app(Explorer(rules, kb, name=SCRIPT), ServerSettings()), base_url=HERE) as client:
        yield client


@pytest.fixture(scope="session")
def films():
    """A few films, questions of one step about them, and a program that learned from these."""
    from neurallp import learn_questions
    from neurallp.datasets.movies import movie_questions, movies_knowledge_base

    kb = movies_knowledge_base(num_films=20)
    questions = [each for each in movie_questions(kb, 900) if " " not in each.kind]
    sizes = {"num_steps": 1, "embedding_size": 16, "hidden_size": 16}
    program = learn_questions(kb, questions, num_epochs=12, learning_rate=0.02, **sizes)
    return SimpleNamespace(kb=kb, questions=questions, program=program)


@pytest.fixture(scope="session")
def film_client(films):
    """A client of a question model that is served without rules."""
    explorer = Explorer(RuleProgram([]), films.kb, reader=WordReader(lambda: films.program, films.kb))
    with TestClient(make_app(explorer, ServerSettings()), base_url=HERE) as client:
        yield client


@pytest.fixture
def ask_films(film_client):
    """Ask a question about films in words; give what the JSON says."""

    def ask_films(text):
        return film_client.get("/question", params={"text": text}).raise_for_status().json()

    return ask_films


@pytest.fixture(scope="session")
def address(explorer):
    """The address of a server in a thread of this process."""
    import uvicorn

    from neurallp.web.launch import bind

    app = make_app(explorer, ServerSettings(Access()))
    bound = bind("127.0.0.1", 0)
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning"))
    thread = threading.Thread(target=server.run, args=([bound],), daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    server.should_exit = True
    thread.join()
    bound.close()


@pytest.fixture(scope="module")
def browser():
    """A headless Chromium; tests are skipped where there is none.

    For one module: while it runs, this thread has an event loop, and other tests run loops of their own.
    """
    playwright = pytest.importorskip("playwright.sync_api")
    if CHROMIUM is None:
        pytest.skip("Chromium is not there (apt-get install chromium)")
    with playwright.sync_playwright() as running:
        browser = running.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()

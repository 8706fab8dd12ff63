import os
import pickle
import re
import sys
import warnings
from types import SimpleNamespace

import pytest
import torch
from filelock import FileLock

# The tensors here are tiny: two threads that wait for each other take several times as long as one.
torch.set_num_threads(1)


@pytest.fixture(scope="session")
def make_once(tmp_path_factory):
    """Return what a function returns; of all processes that run tests the first calls it."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent

    def make_once(make, name=None):
        path = folder / f"{name or make.__module__ + make.__qualname__}.pickle"
        with FileLock(f"{path}.lock"):
            if not path.exists():
                path.write_bytes(pickle.dumps(make()))
        return pickle.loads(path.read_bytes())

    return make_once


def learn_cinema():
    from neurallp import learn_questions
    from neurallp.datasets.movies import movie_questions, movies_knowledge_base

    kb = movies_knowledge_base(num_films=60)
    train, test = movie_questions(kb, 2000), movie_questions(kb, 150, seed=1)
    sizes = {"embedding_size": 64, "hidden_size": 64}
    program = learn_questions(kb, train, num_epochs=10, learning_rate=0.004, patience=10, **sizes)
    return SimpleNamespace(kb=kb, train=train, test=test, program=program)


@pytest.fixture(scope="session")
def cinema(make_once):
    """A small world of films, questions about it, and a program that learned from them."""
    return make_once(learn_cinema)


@pytest.fixture(scope="session")
def split():
    """The facts of a family, split into parts."""
    from neurallp.datasets.family import family_knowledge_base
    from neurallp.graph.knowledge_base import split_triples

    return split_triples(family_knowledge_base(num_people=60, num_generations=3))


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the command in this process; give its exit code, output and errors."""
    from neurallp.cli import main
    from neurallp.cli import output as printing

    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.setattr(printing.console, "width", 80)
    monkeypatch.setattr(printing.log, "width", 80)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["neurallp", *map(str, arguments)])
        with pytest.raises(SystemExit) as done:
            main()
        return done.value.code, *capsys.readouterr()

    return run


@pytest.fixture
def refuse(run):
    """Run a command that must fail with 2 and one message, and return the message."""

    def refuse(*arguments):
        code, out, err = run(*arguments)
        assert (code, out) == (2, "")
        assert "Traceback" not in err
        logged = re.compile(r"(\d\d:){2}\d\d .*\n|Note: .*too few to learn.*\n")  # what was done before
        return logged.sub("", err).removeprefix("Error: ").removesuffix("\n")

    return refuse

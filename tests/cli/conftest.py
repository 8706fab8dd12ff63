import io
import shutil
from contextlib import redirect_stdout

import pytest
from typer.main import get_command

from neurallp.datasets.family import family_triples
from neurallp.io.triples import write_triples

FEW = ("--epochs", 2, "--learning-rate", 0.01, "--no-weigh")


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "family.tsv"
    write_triples(path, family_triples(num_people=40, num_generations=3))
    return path


@pytest.fixture(scope="session")
def learned(data, tmp_path_factory):
    """A model folder that the command made."""
    folder = tmp_path_factory.mktemp("learned") / "model"
    from neurallp.cli import app

    arguments = ["learn", data, "--out", folder, "--json", *FEW]
    with redirect_stdout(io.StringIO()):
        get_command(app).main(list(map(str, arguments)), standalone_mode=False)
    return folder


@pytest.fixture
def model(learned, tmp_path):
    return shutil.copytree(learned, tmp_path / "model")


@pytest.fixture
def uncles(tmp_path):
    """A file of rules as AnyBURL writes it, and a family without uncles."""
    rules, facts = tmp_path / "rules.txt", tmp_path / "small.tsv"
    rules.write_text("4\t2\t0.9\tuncle(X,Y) <= father(X,A), brother(A,Y)\n")
    facts.write_text("zoe\tfather\tyan\nyan\tbrother\txan\nzoe\tfather\tvic\n")
    return rules, facts

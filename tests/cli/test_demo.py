import io
import json
from contextlib import redirect_stderr, redirect_stdout

import pytest
from typer.main import get_command

from neurallp.cli import app
from neurallp.datasets.family import is_true_by_definition


@pytest.fixture(scope="session")
def demonstration():
    """What `demo --json` prints for a smaller family."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        get_command(app).main(["demo", "--people", "80", "--json"], standalone_mode=False)
    assert err.getvalue() == ""
    return json.loads(out.getvalue())


def test_demo_proves_what_it_was_not_told(demonstration):
    proof = demonstration["proof"]
    assert not proof["is_known"]
    assert proof["rank"] == 1
    assert proof["parts"]
    amounts = [part["amount"] for part in proof["parts"]]
    assert sum(amounts) + proof["remainder"] == pytest.approx(proof["score"])
    assert demonstration["test"]["mrr"] > 0.8


def test_every_rule_that_demo_calls_true_is_true_by_definition(demonstration):
    true = [rule for rule in demonstration["rules"] if rule["is_true"]]
    assert true
    assert all(is_true_by_definition(rule["target"], rule["body"]) for rule in true)


def test_demo_reads_like_a_story(run):
    code, out, _ = run("demo", "--people", 80)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    history_of = [
        "A made-up family: 80 people",
        "Rules it found",
        "true",
        "Who is ",
        " because ",
        "How often",
    ]
    places = [out.index(words) for words in history_of]
    assert places == sorted(places)


# ask, explain

import io
import json
import re
from contextlib import redirect_stderr, redirect_stdout

import pytest
from typer.main import get_command

from neurallp.cli import app
from neurallp.datasets.family import is_true_by_definition


def demonstrate():
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        get_command(app).main(["demo", "--people", "80", "--json"], standalone_mode=False)
    assert err.getvalue() == ""
    return json.loads(out.getvalue())


@pytest.fixture(scope="session")
def demonstration(make_once):
    """What `demo --json` prints for a smaller family."""
    return make_once(demonstrate)


def test_demo_explains_a_held_out_fact(demonstration):
    proof = demonstration["proof"]
    assert not proof["is_known"]
    assert proof["rank"] == 1
    assert proof["terms"]
    contributions = [term["contribution"] for term in proof["terms"]]
    assert sum(contributions) + proof["remainder"] == pytest.approx(proof["score"])
    assert demonstration["test"]["mrr"] > 0.8


def test_every_rule_that_demo_marks_as_true_is_true_by_definition(demonstration):
    true = [rule for rule in demonstration["rules"] if rule["is_true"]]
    assert true
    assert all(is_true_by_definition(rule["target"], rule["body"]) for rule in true)


def test_demo_prints_rules_an_explained_answer_and_measures_in_order(run):
    code, out, _ = run("demo", "--people", 50)
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert len(re.findall(r" (?:true|guess) +\w+\(", out)) == 15
    assert out.count("X != Y") == 1  # said once, as it holds for all of them
    headings = [
        "A generated family: 50 people",
        "Rules learned",
        "true",
        "Who is ",
        " because ",
        "Ranks",
    ]
    places = [out.index(words) for words in headings]
    assert places == sorted(places)


# ask, explain


def test_demo_learns_weighted_rules_as_learn_does_by_default(demonstration):
    assert all(rule["weight"] is not None for rule in demonstration["rules"])

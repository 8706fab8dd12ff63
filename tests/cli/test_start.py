"""A light start: help and wrong paths are answered before heavy modules are imported."""

import json
import subprocess
import sys

import pytest

import neurallp
from neurallp.io.triples import write_triples

SCRIPT = """
import json, resource, sys
from neurallp.cli import main
try:
    main()
finally:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps([sorted(sys.modules), usage.ru_utime + usage.ru_stime]), file=sys.stderr)
"""
HEAVY = {"torch", "numba", "numpy", "rich.table", "safetensors"}


def start(*arguments):
    """Run the command in a new process; return its exit code, output, modules and seconds of CPU."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    *errors, usage = done.stderr.splitlines()
    modules, seconds = json.loads(usage)
    return done.returncode, done.stdout + "\n".join(errors), set(modules), seconds


@pytest.mark.parametrize("arguments", [["--help"], ["learn", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(arguments):
    code, _, modules, _ = start(*arguments)
    assert code == 0
    assert not HEAVY & modules


@pytest.mark.parametrize(
    "arguments",
    [
        ["learn", "nowhere.tsv"],
        ["evaluate", "no-model", "nowhere.tsv"],
        ["ask", "no-model", "nowhere.tsv", "--relation", "uncle"],
        ["rules", "no-model"],
        ["weigh", "no-rules", "nowhere.tsv"],
        ["export", "no-model", "--format", "tsv", "--out", "out.tsv"],
        ["import", "nowhere.txt", "--format", "amie"],
        ["convert", "nowhere.tsv", "out.csv"],
        ["calibrate", "no-model", "nowhere.tsv"],
    ],
)
def test_a_wrong_path_is_an_error_before_anything_heavy_is_imported(tmp_path, arguments):
    code, message, modules, _ = start(*(tmp_path / each if "no" in each else each for each in arguments))
    assert code == 2
    assert "There is no" in message
    assert not HEAVY & modules


def test_a_wrong_setting_is_an_error_before_the_data_is_read(tmp_path):
    data = tmp_path / "data.tsv"
    data.write_text("this is not a triple\n")
    code, message, modules, _ = start("learn", data, "--steps", "0")
    assert (code, "num_steps must be at least 1" in message) == (2, True)
    assert not HEAVY & modules


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A knowledge base, a model with weighted rules, and a file of rules."""
    folder = tmp_path_factory.mktemp("models")
    triples = [(f"a{i}", relation, f"a{(i + 1) % 9}") for i in range(9) for relation in ("r", "s")]
    write_triples(folder / "data.tsv", triples)
    program = neurallp.learn(neurallp.load(folder / "data.tsv"), num_epochs=1, num_candidates=5)
    program.save(folder / "model")
    (folder / "rules.txt").write_text("4\t2\t0.9\tr(X,Y) <= s(X,A), r(A,Y)\n")
    return folder


@pytest.mark.parametrize("source", ["model", "rules.txt"])
def test_ask_imports_no_torch_where_rules_answer(models, source):
    asked = "--relation", "r", "--head", "a1", "--json"
    code, output, modules, _ = start("ask", models / source, models / "data.tsv", *asked)
    assert (code, json.loads(output) != []) == (0, True)
    assert "torch" not in modules


def test_rules_of_a_weighted_model_are_listed_without_torch(models):
    code, output, modules, _ = start("rules", models / "model")
    assert (code, "r(X, Y): X is given" in output) == (0, True)
    assert "torch" not in modules

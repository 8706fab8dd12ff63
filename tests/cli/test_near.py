"""Commands on a model with a rule of nearness, which has no body and predicts nothing alone."""

import json

import pytest
from weighted_samples import hub_kb, near_rules

from neurallp import Plan, WeightingConfig
from neurallp.io.triples import write_triples
from neurallp.pipeline.program import LearnedProgram


@pytest.fixture
def model(tmp_path):
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=near_rules(hub_kb(3)))
    program.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def facts(tmp_path):
    write_triples(tmp_path / "facts.tsv", hub_kb(3).named_facts())
    return tmp_path / "facts.tsv"


def test_rules_say_what_nearness_does(run, model, facts):
    for given in ([model], [model, facts]):
        told = " ".join(run("rules", *given, "--relation", "s")[1].split())
        assert "the nearer an answer is, along facts of any relation, the better" in told


def test_tables_and_json_keep_nearness_and_read_it_back(run, model, tmp_path):
    for form in ("tsv", "json"):
        assert run("export", model, "--format", form, "--out", tmp_path / form)[0] == 0
        assert run("import", tmp_path / form, "--format", form, "--out", tmp_path / "back.tsv")[0] == 0
        assert "s(X, Y) <= near(X, Y)" in (tmp_path / "back.tsv").read_text()


@pytest.mark.parametrize("form", ["problog", "prolog", "souffle", "sparql", "sql"])
def test_programs_that_deduce_get_no_nearness_and_that_is_said(run, model, tmp_path, form):
    told = run("export", model, "--format", form, "--out", tmp_path / "out")[1]
    assert "1 left out" in " ".join(told.split())
    assert "near" not in (tmp_path / "out").read_text()


def test_nearness_is_not_drawn_as_a_chain(run, model, tmp_path):
    assert run("plot", "rules", model, "--relation", "s", "--out", tmp_path / "rules.svg")[0] == 0
    assert "X = Y" not in (tmp_path / "rules.svg").read_text()


def test_what_is_only_near_is_explained_but_neither_predicted_nor_true(run, model, facts, tmp_path):
    fact = ("leaf1_0", "s", "leaf2_1")
    assert "near, as r(hub1, leaf1_0)" in run("explain", model, facts, *fact)[1]
    assert "does not follow" in run("why-not", model, facts, *fact)[1]
    assert "Unknown" in run("verify", model, facts, *fact)[1]
    run("predict", model, facts, "--out", tmp_path / "new.tsv")
    rows = [line.split("\t")[:3] for line in (tmp_path / "new.tsv").read_text().splitlines()[1:]]
    assert rows
    assert list(fact) not in rows


def test_json_of_a_proof_names_kind_rule_and_example(run, model, facts):
    found = json.loads(run("explain", model, facts, "hub1", "s", "leaf1_0", "--json")[1])
    told = [(each["kind"], each["rule"], each["because"]) for each in found["reasons"]]
    assert told[1] == ("near", "s(X, Y) <= near(X, Y)", "near, as r(hub1, leaf1_0)")

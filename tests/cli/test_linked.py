"""Commands on a model with a rule about links, which has no body and predicts nothing alone."""

import json

import pytest
from weighted_samples import hub_kb, linked_rules

from neurallp import Plan, WeightingConfig, load_model
from neurallp.io.triples import write_triples
from neurallp.pipeline.program import LearnedProgram

RULE = "not s(X, Y) <= linked(X, Y)"


@pytest.fixture
def model(tmp_path):
    program = LearnedProgram(Plan(None, None, WeightingConfig()), weighted_rules=linked_rules(hub_kb(3)))
    program.save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def facts(tmp_path):
    write_triples(tmp_path / "facts.tsv", hub_kb(3).named_facts())
    return tmp_path / "facts.tsv"


def test_rules_say_what_links_do(run, model, facts):
    for given in ([model], [model, facts]):
        told = " ".join(run("rules", *given, "--relation", "s")[1].split())
        assert "against -0.50" in told
        assert "an answer that another fact links to X is worse" in told


def test_tables_and_json_keep_the_rule_and_read_it_back(run, model, tmp_path):
    for form in ("tsv", "json"):
        assert run("export", model, "--format", form, "--out", tmp_path / form)[0] == 0
        assert run("import", tmp_path / form, "--format", form, "--out", tmp_path / "back.tsv")[0] == 0
        assert RULE in (tmp_path / "back.tsv").read_text()


@pytest.mark.parametrize("form", ["problog", "prolog", "souffle", "sparql", "sql"])
def test_programs_that_deduce_get_no_rule_about_links_and_that_is_said(run, model, tmp_path, form):
    told = run("export", model, "--format", form, "--out", tmp_path / "out")[1]
    assert "1 left out" in " ".join(told.split())
    assert "linked" not in (tmp_path / "out").read_text()


def test_what_is_only_linked_is_explained_but_neither_predicted_nor_true(run, model, facts, tmp_path):
    fact = ("hub1", "s", "hub0")
    assert "although   -0.500 ██████████ linked, as s(hub0, hub1)" in run("explain", model, facts, *fact)[1]
    told = run("why-not", model, facts, *fact)[1]
    assert "does not follow" in told
    assert "linked, as s(hub0, hub1)" in told
    assert "Unknown" in run("verify", model, facts, *fact)[1]
    run("predict", model, facts, "--out", tmp_path / "new.tsv")
    rows = [line.split("\t")[:3] for line in (tmp_path / "new.tsv").read_text().splitlines()[1:]]
    assert rows
    assert list(fact) not in rows


def test_json_of_a_proof_names_kind_rule_and_link(run, model, facts):
    found = json.loads(run("explain", model, facts, "hub1", "s", "leaf1_0", "--json")[1])
    (told,) = found["against"]
    assert (told["kind"], told["rule"]) == ("linked", RULE)
    assert told["because"] == "linked, as r(hub1, leaf1_0)"
    assert told["path"] == ["hub1", "leaf1_0"]


def test_rules_that_are_weighted_again_keep_the_kind(run, model, facts, tmp_path):
    assert run("weigh", model, facts, "--out", tmp_path / "again", "--linked", "include")[0] == 0
    assert set(load_model(tmp_path / "again").plan.weighting.kinds) == {"chain", "linked"}

"""Commands on a model with rules that name their one source: what its answers have in common."""

import json

import pytest
from sourced_samples import FILMS, film_program

from neurallp import load_model
from neurallp.io.triples import write_triples


@pytest.fixture
def model(tmp_path):
    film_program().save(tmp_path / "model")
    return tmp_path / "model"


@pytest.fixture
def facts(tmp_path):
    write_triples(tmp_path / "facts.tsv", FILMS)
    return tmp_path / "facts.tsv"


def test_rules_name_the_source_in_front_of_the_body_with_counts_and_an_example(run, model, facts):
    code, out, _ = run("rules", model, facts, "--relation", "~genre")
    assert (code, out.splitlines()[0]) == (0, "genre(Y, X): X is given, Y is sought (inverse)")
    lines = [" ".join(line.split()) for line in out.splitlines()]
    place = lines.index("2.00 0.50 0.50 2 X = noir: director(Y, Wilder)")
    assert lines[place + 1] == "genre(wilder0, noir)"
    assert lines[place + 2] == "as director(wilder0, Wilder)"
    assert lines.index("-0.50 0.25 0.25 1 X = comedy: director(Y, Wilder)") > lines.index("against")


def test_rules_without_data_name_it_too(run, model):
    out = run("rules", model, "--relation", "~genre")[1]
    assert "2.00  X = noir: director(Y, Wilder)" in out


def test_the_films_of_a_genre_are_asked_for_by_the_tail(run, model, facts):
    options = "--tail", "noir", "--relation", "genre", "--json"
    answers = json.loads(run("ask", model, facts, *options)[1])
    best = {answer["entity"]: answer["score"] for answer in answers if answer["score"] > 1}
    assert best.keys() == {f"wilder{i}" for i in range(4)}
    assert max(best, key=best.get) == "wilder3"  # Holden is in it, too


def test_explain_and_why_not_name_one_fact(run, model, facts):
    out = run("explain", model, facts, "noir", "~genre", "wilder3")[1]
    assert out.startswith("genre(wilder3, noir)\n")
    assert "+2.00 ██████████ director(wilder3, Wilder)\n" in out
    assert "+1.00 █████      cast(wilder3, Holden)\n" in out
    out = run("why-not", model, facts, "noir", "~genre", "lang1")[1]
    assert "director(lang1, Wilder) is missing\n" in out
    assert "cast(lang1, Holden) is missing\n" in out


def test_an_audit_judges_facts_by_them_too(run, model, facts):
    found = json.loads(run("audit", model, facts, "--relation", "genre", "--json")[1])
    reasons = {doubt["fact"]: doubt["proof"]["reasons"] for doubt in found["doubts"]}
    assert reasons["genre(wilder0, noir)"][0]["because"] == "director(wilder0, Wilder)"


def test_the_kind_is_stored_with_the_model(model):
    assert load_model(model).weighted_rules.num_of_kinds == {"prior": 1, "sourced": 3}
    rules = load_model(model).rules("~genre", min_share=0)
    assert {(rule.source, rule.body_start) for rule in rules if rule.kind == "sourced"} == {
        ("noir", "Wilder"),
        ("noir", "Holden"),
        ("comedy", "Wilder"),
    }

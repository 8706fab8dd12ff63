"""The JSON of a command says the same as its text, for a model and for a file of rules alike."""

import json

import pytest

from neurallp.cli.output import show_probability
from neurallp.datasets.family import family_triples
from neurallp.io.triples import read_triples, write_triples

FACT = family_triples(num_people=40, num_generations=3)[0]


def lines_of(out):
    """Return the lines of a table below its rule."""
    lines = out.splitlines()
    below = next(number for number, line in enumerate(lines, 1) if "─" in line)
    return [line.rstrip() for line in lines[below:] if line.strip()]


def numbered_lines_of(out):
    """Return the lines that begin with a number: a long rule goes on in the next line."""
    return [line for line in lines_of(out) if line.split()[0].replace(".", "").isdigit()]


@pytest.fixture(params=["model", "rules.tsv"])
def source(request, model):
    """Return a model folder, or the file of rules in it."""
    return model if request.param == "model" else model / "rules.tsv"


def both(run, *arguments):
    """Return the text and the JSON of one command."""
    (code, text, _), (twin_code, twin, _) = run(*arguments), run(*arguments, "--json")
    assert code == twin_code == 0
    return text, json.loads(twin)


def test_ask_prints_every_answer_of_its_twin_in_order(run, source, data):
    head, relation, _ = FACT
    question = ("ask", source, data, "--head", head, "--relation", relation, "-k", 4)
    text, answers = both(run, *question)
    for row, answer in zip(lines_of(text), answers, strict=True):
        if answer["probability"] is not None:
            assert row.endswith(f" {show_probability(answer['probability'])}")
    text, answers = both(run, *question, "--scores")
    rows = lines_of(text)
    assert len(rows) == len(answers) > 0
    for row, answer in zip(rows, answers, strict=True):
        assert row.split()[0] == answer["entity"]
        assert ("known" in row.split()) == answer["is_known"]
        assert f"{answer['score']:.4g}" in row.split()
        assert f"{answer['rank']:g}" in row.split()


def test_a_question_for_the_head_is_answered_like_the_inverse_relation_for_the_tail(run, source, data):
    _, relation, tail = FACT
    _, answers = both(run, "ask", source, data, "--tail", tail, "--relation", relation)
    _, inverse = both(run, "ask", source, data, "--head", tail, "--relation", f"~{relation}")
    names = [answer["entity"] for answer in answers]
    assert names == [answer["entity"] for answer in inverse]
    assert names


def test_explain_prints_the_rank_and_score_of_its_twin(run, source, data):
    text, proof = both(run, "explain", source, data, *FACT)
    chance = "" if proof["probability"] is None else f"probability {show_probability(proof['probability'])}, "
    assert f"A known fact. Without it: {chance}score {proof['score']:.4g}, rank {proof['rank']:g} of" in text
    assert proof["is_known"]
    shown = sum(term["contribution"] for term in proof["terms"])
    assert shown + proof["remainder"] == pytest.approx(proof["score"])
    grouped = [*proof["reasons"], *proof["against"]]
    rest = proof["more_reasons"]["contribution"] + proof["more_against"]["contribution"]
    assert sum(reason["contribution"] for reason in grouped) + rest == pytest.approx(proof["score"])
    for reason in grouped:
        assert reason["because"] in text


def test_explain_prints_the_rank_and_score_of_ask(run, source, data):
    _, answers = both(run, "ask", source, data, "--head", FACT[0], "--relation", FACT[1], "-k", 100)
    asked = next(answer for answer in answers if not answer["is_known"])
    text, proof = both(run, "explain", source, data, *FACT[:2], asked["entity"])
    assert f"core {proof['score']:.4g}, rank {asked['rank']:g} of" in text
    assert "known fact" not in text
    assert proof["score"] == pytest.approx(asked["score"])


def test_rules_are_those_of_the_twin(run, model):
    text, (listing,) = both(run, "rules", model, "--relation", "father", "--limit", 5)
    rows, rules = numbered_lines_of(text), [*listing["reasons"], *listing["against"]]
    assert len(rows) == len(rules) > 0
    for row, rule in zip(rows, rules, strict=True):
        confidence, body = row.split(maxsplit=1)
        assert rule["rule"].split(" <= ")[1].startswith(body)
        assert confidence == f"{rule['confidence']:.3f}"


def test_counted_rules_are_those_of_the_twin(run, model, data):
    text, (listing,) = both(run, "rules", model, data, "--relation", "father", "--limit", 5)
    rules = [*listing["reasons"], *listing["against"]]
    for row, rule in zip(numbered_lines_of(text), rules, strict=True):
        shares = [f"{rule[name]:.2f}" for name in ("confidence", "pca_confidence")]
        assert row.split()[:3] == [*shares, f"{rule['support']:,}"]
        if rule["example"]:
            assert rule["example"].split(" as ")[0] in text


def test_evaluate_prints_the_measures_of_its_twin(run, source, data):
    text, found = both(run, "evaluate", source, data)
    first, optimistic, pessimistic = lines_of(text)
    names = ("mrr", "hits@1", "hits@3", "hits@10")
    assert first.split()[:6] == ["test", "realistic", *(f"{found[name]:.3f}" for name in names)]
    assert first.split()[-1] == f"{found['queries']:,}"
    for row, kind in ((optimistic, "optimistic"), (pessimistic, "pessimistic")):
        assert row.split()[:5] == [kind, *(f"{found[kind][name]:.3f}" for name in names)]
    assert found["pessimistic"]["mrr"] <= found["mrr"] <= found["optimistic"]["mrr"]


def test_evaluate_ranks_the_part_that_is_named(run, source, data):
    text, valid = both(run, "evaluate", source, data, "--split", "valid")
    assert lines_of(text)[0].startswith("valid")
    _, test = both(run, "evaluate", source, data)
    assert valid["queries"] == test["queries"]
    assert valid != test


def test_predict_counts_the_lines_it_writes(run, source, data, tmp_path):
    out = tmp_path / "answers.tsv"
    text, twin = both(run, "predict", source, data, "--relation", "father", "--out", out, "-k", 3)
    assert text == f"{twin['answers']:,} answers to {twin['questions']:,} questions in {out}.\n"
    rows = out.read_text(encoding="utf-8").splitlines()[1:]
    assert len(rows) == twin["answers"]
    assert twin["questions"] == 40


def test_predict_with_known_answers_holds_the_facts_too(run, model, data, tmp_path):
    files = [tmp_path / "new.tsv", tmp_path / "all.tsv"]
    for out, more in zip(files, ([], ["--known"]), strict=True):
        assert run("predict", model, data, "--relation", "father", "--out", out, "-k", 40, *more)[0] == 0
    new, every = (
        {tuple(line.split("\t")[:3]) for line in out.read_text(encoding="utf-8").splitlines()[1:]}
        for out in files
    )
    facts = {fact for fact in read_triples(data) if fact[1] == "father"}
    assert new.isdisjoint(facts)
    assert every - new <= facts
    assert every > new


def test_export_counts_the_rules_it_writes(run, source, tmp_path):
    out = tmp_path / "exported.tsv"
    text, twin = both(run, "export", source, "--format", "tsv", "--out", out)
    assert text.startswith(f"{twin['rules']:,} rules in {out}, for {twin['queries']:,} queries")
    assert len(out.read_text(encoding="utf-8").splitlines()) == twin["rules"] + 1


def test_rules_that_were_exported_answer_like_those_of_the_model(run, model, data, tmp_path):
    out = tmp_path / "exported.tsv"
    assert run("export", model, "--format", "tsv", "--out", out)[0] == 0
    question = ("--head", FACT[0], "--relation", FACT[1])
    _, saved = both(run, "ask", model / "rules.tsv", data, *question)
    _, exported = both(run, "ask", out, data, *question)
    assert [answer["entity"] for answer in exported] == [answer["entity"] for answer in saved]


def test_why_not_prints_what_its_twin_misses(run, uncles):
    text, twin = both(run, "why-not", *uncles, "zoe", "uncle", "vic")
    for each in twin["missing_facts"]:
        assert each["missing"] in text


def test_convert_counts_what_it_writes(run, data, tmp_path):
    text, twin = both(run, "convert", data, tmp_path / "other.csv")
    triples = read_triples(tmp_path / "other.csv")
    assert twin["triples"] == len(triples)
    assert twin["relations"] == len({relation for _, relation, _ in triples})
    assert f"{twin['triples']:,}" in text


def test_no_answer_is_an_empty_list_and_a_sentence(run, uncles):
    text, answers = both(run, "ask", *uncles, "--head", "xan", "--relation", "uncle")
    assert (text, answers) == ("No rule leads to an answer.\n", [])


@pytest.mark.filterwarnings("ignore:Nothing follows")
def test_an_answer_is_of_the_facts_that_are_given_and_not_of_those_learned_from(run, model, tmp_path):
    write_triples(tmp_path / "other.tsv", [("zoe", "father", "yan"), ("yan", "wife", "una")])
    _, answers = both(run, "ask", model, tmp_path / "other.tsv", "--head", "zoe", "--relation", "father")
    assert {answer["entity"] for answer in answers} <= {"yan", "una"}
